/** The rows that searches read of an organization alone, beside a large one, and of the large one. */
import { expect } from 'bun:test'
import { newId } from '../../src/base/db/columns'
import type { Sql } from '../../src/base/db/transact'
import { type Scope, SYSTEM } from '../../src/base/scope'
import { useSecrets } from '../../src/base/secrets'
import { listContacts } from '../../src/desk/contacts/queries'
import { listTickets } from '../../src/desk/tickets/list'
import { listTimeEntries } from '../../src/desk/time-entries/queries'
import { createDatabase } from './database'
import { type Explaining, openExplaining, pagesOf, scansOf } from './explaining'

const SMALL = 2000
/**
 * The cost of another organization: its indexes are a level higher, which each of 20 rows and their counters are read
 * through.
 */
const MOST_BESIDE = 1.4
const MORE_PAGES = 80
/** Pages of a search that matches far more than is counted: those of the matches that are counted, and of the index. */
const MOST_OF_COMMON = 3000
/** Documents and tickets are found by indexes; a table that is as good as one organization may be read as a whole. */
const WHOLE = /^Seq Scan (tickets|ticket_search|time_entries)$/

/**
 * Measures searches. Fails when a small organization pays for one of `count` tickets, or that one for what is not
 * counted.
 */
export async function checkSearchesBeside(count: number) {
  // Pages carry signed cursors.
  useSecrets('a secret key that only tests use')
  const database = await createDatabase()
  const explaining = await openExplaining(database.url)
  const { sql } = explaining
  try {
    const small = await fillOrganization(sql, SMALL)
    await explaining.settle()
    await explaining.start()
    const alone = await measureAll(explaining, small)
    const compare = async (large: Scope, state: string) => {
      const [beside, own] = [await measureAll(explaining, small), await measureAll(explaining, large)]
      return beside.map(({ search, pages }, n) => ({
        search: `${search}, ${state}`,
        alone: alone[n]!.pages,
        beside: pages,
        large: own[n]!.pages,
        whole: own[n]!.scans.filter((scan) => WHOLE.test(scan)),
      }))
    }
    const large = await explaining.settleBesideBackup(() => fillOrganization(sql, count))
    const filled = await compare(large, 'just filled')
    await explaining.settle()
    const found = [...filled, ...(await compare(large, 'settled'))]
    expect(found.filter(({ alone, beside }) => beside > alone * MOST_BESIDE + MORE_PAGES)).toEqual([])
    expect(found.filter(({ large, whole }) => large > MOST_OF_COMMON || whole.length > 0)).toEqual([])
    return found.map(({ whole: _, ...pages }) => pages)
  } finally {
    await explaining.close()
    await database.drop()
  }
}

async function measureAll({ sql, plansOf }: Explaining, scope: Scope) {
  const measured = []
  for (const mode of ['custom', 'generic']) {
    await sql`select set_config('plan_cache_mode', ${`force_${mode}_plan`}, false)`
    for (const [name, list] of Object.entries(searchesOf(scope))) {
      const plans = await plansOf(async () => void (await list()))
      const pages = plans.reduce((sum, plan) => sum + pagesOf(plan), 0)
      measured.push({ search: `${name}, ${mode} plan`, pages, scans: [...new Set(plans.flatMap(scansOf))] })
    }
  }
  return measured
}

function searchesOf(scope: Scope): Record<string, () => Promise<unknown>> {
  const filters: Record<string, Parameters<typeof listTickets>[1]> = {
    'a word of every ticket': { search: 'common' },
    'a beginning': { search: 'c' },
    'a rare word': { search: 'rare' },
    'two words': { search: 'common medium' },
    'a word and a status': { search: 'medium', status: ['open'] },
    'a word by change': { search: 'common', sort: '-updated_at' },
    'a code': { search: 'TKT-77' },
  }
  const tickets = Object.entries(filters).map(([name, filter]) => [name, () => listTickets(scope, filter)] as const)
  return {
    ...Object.fromEntries(tickets),
    'contacts, two letters': () => listContacts(scope, { search: 'la' }),
    'contacts, a name': () => listContacts(scope, { search: 'carla1' }),
    'time entries': () => listTimeEntries(scope, {}),
  }
}

/** Every ticket has the word `common`, every tenth `medium`, every thousandth `rare`; one in 20 is open. */
async function fillOrganization(sql: Sql, tickets: number): Promise<Scope> {
  const organization_id = newId()
  const user_id = newId()
  const [row] = await sql<{ number: number }[]>`
    insert into organizations (id, name) values (${organization_id}, 'Acme') returning number`
  await sql`
    insert into users (id, email, email_key, name, password_hash) values (${user_id}, ${user_id}, ${user_id}, 'Ada', '')`
  await sql`insert into memberships (organization_id, user_id) values (${organization_id}, ${user_id})`
  await sql`
    insert into contacts (organization_id, id, name, email, email_key, search)
    select ${organization_id}, ('0190' || lpad(to_hex(n), 8, '0') || '70008000000000000000')::uuid,
      'Carla ' || md5(n::text), 'carla' || n, 'carla' || n, 'carla carla' || n
    from generate_series(1, ${tickets / 10}::integer) as n`
  await sql`
    with t as (
      insert into tickets (organization_id, id, number, code, subject, status)
      select ${organization_id}, ('0190' || lpad(to_hex(n), 8, '0') || '70008000000000000000')::uuid,
        n, 'TKT-' || n, 'Ticket ' || n, case when n % 20 = 0 then 'open' else 'closed' end
      from generate_series(1, ${tickets}::integer) as n
      returning *
    )
    insert into ticket_search (organization_id, ticket_id, document, size)
    select organization_id, id, array_to_tsvector(array[p || 'common', p || '#tkt-' || number, p || '@' || status, p || '@normal']
      || case when number % 10 = 0 then array[p || 'medium'] else '{}' end
      || case when number % 1000 = 0 then array[p || 'rare'] else '{}' end), 100
    from t cross join lateral (select ${`${row!.number}.`} || (number >> 14) || ':') as prefix (p)`
  await sql`
    insert into time_entries (organization_id, id, ticket_id, user_id, duration_minutes, currency, date)
    select organization_id, gen_random_uuid(), id, ${user_id}, 5, 'USD', '2026-01-01'::date + number % 100
    from tickets where organization_id = ${organization_id}`
  return { sql, db: undefined as never, organization_id, actor: SYSTEM }
}
