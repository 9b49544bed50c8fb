/** The rows that a list of two custom fields by last change reads of organizations of any size. */
import { newId } from '../../src/base/db/columns'
import type { Sql } from '../../src/base/db/transact'
import { type Scope, SYSTEM } from '../../src/base/scope'
import { useSecrets } from '../../src/base/secrets'
import { wordsOfCustom } from '../../src/desk/custom/custom-words'
import { prefixOf } from '../../src/desk/search/blocks'
import { facetWord } from '../../src/desk/search/words'
import { listTickets } from '../../src/desk/tickets/list'
import { createDatabase } from './database'
import { openExplaining } from './explaining'

const BLOCK = 16_384
const CUSTOM = { tier: 'silver', is_renewed: true }

/** The most rows of tickets that a plan of the first page reads, by its way of planning. */
export async function ticketsReadOf(count: number): Promise<number[]> {
  // Pages carry signed cursors.
  useSecrets('a secret key that only tests use')
  const database = await createDatabase()
  const explaining = await openExplaining(database.url)
  const { sql, settle, start, plansOf } = explaining
  try {
    const scope = await fillOrganization(sql, count)
    await settle()
    await start()
    const read: number[] = []
    for (const mode of ['custom', 'generic']) {
      await sql`select set_config('plan_cache_mode', ${`force_${mode}_plan`}, false)`
      const custom = { tier: 'silver', is_renewed: 'true' }
      const plans = await plansOf(async () => {
        const { data } = await listTickets(scope, { custom, sort: '-updated_at' })
        if (data.length !== 20) throw new Error(`The page has ${data.length} tickets`)
      })
      read.push(plans.reduce((sum, plan) => sum + rowsOf(plan), 0))
    }
    return read
  } finally {
    await explaining.close()
    await database.drop()
  }
}

type Plan = Awaited<ReturnType<Awaited<ReturnType<typeof openExplaining>>['plansOf']>>[number]

function rowsOf(plan: Plan): number {
  const own = plan['Relation Name'] === 'tickets' ? plan['Actual Rows'] * plan['Actual Loops'] : 0
  return own + (plan.Plans ?? []).reduce((sum, child) => sum + rowsOf(child), 0)
}

/** One ticket in four is silver, one in three renewed, one in twelve both. */
async function fillOrganization(sql: Sql, tickets: number): Promise<Scope> {
  const organization_id = newId()
  const [row] = await sql<{ number: number }[]>`
    insert into organizations (id, name) values (${organization_id}, 'Acme') returning number`
  const [silver, renewed] = wordsOfCustom(organization_id, CUSTOM)!
  const facets = [silver!, renewed!].map(facetWord)
  // In blocks: each has its own prefix.
  for (let first = 1; first <= tickets; first = (Math.floor(first / BLOCK) + 1) * BLOCK) {
    const last = Math.min((Math.floor(first / BLOCK) + 1) * BLOCK - 1, tickets)
    const prefix = `${prefixOf(row!.number, first)}:`
    await sql`
      with t as (
        insert into tickets (organization_id, id, number, code, subject, custom_words, updated_at)
        select ${organization_id}, ('0190' || lpad(to_hex(n), 8, '0') || '70008000000000000000')::uuid,
          n, 'TKT-' || n, 'Ticket ' || n, nullif(
            case when n % 4 = 1 then array[${silver!}::uuid] else '{}' end
              || case when n % 3 = 0 then array[${renewed!}::uuid] else '{}' end, '{}'),
          timestamptz '2026-01-01 00:00Z' + make_interval(secs => n::bigint * 7919 % 1000003)
        from generate_series(${first}::integer, ${last}::integer) as n
        returning *
      )
      insert into ticket_search (organization_id, ticket_id, document, size)
      select organization_id, id, array_to_tsvector(array[${prefix}::text || '@open', ${prefix}::text || '@normal']
        || case when number % 4 = 1 then array[${prefix + facets[0]}::text] else '{}' end
        || case when number % 3 = 0 then array[${prefix + facets[1]}::text] else '{}' end), 100
      from t`
  }
  return { sql, db: undefined as never, organization_id, actor: SYSTEM }
}
