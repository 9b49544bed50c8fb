/**
 * Fills a database with organizations of given sizes and tickets with text, the same ones in each run. Rows go in by
 * COPY without checks of foreign keys and without most indexes, which are made at the end. Triggers run, and the
 * product's jobs for its counters, so that counters hold what is there.
 */
import postgres from 'postgres'
import type { Connection } from '../../../src/base/db/transact'
import { startProgress } from '../../../src/base/long-work'
import { foldTallies } from '../../../src/desk/tallies/tallies'
import { foldTicketCounts } from '../../../src/desk/tickets/counts'
import { foldTimeTotals } from '../../../src/desk/time-entries/totals'
import { createOrganization } from '../../../src/people/organizations/commands'
import { addConversation, noRows, type Rows, TABLES } from './conversations'
import { copyRows } from './copy-rows'
import { startRandom } from './random'
import { type Admin, createTenants, type Tenant } from './tenants'

/** Signs in as an admin of every organization. */
export const ADMIN = { email: 'admin@seed.example', password: 'correct horse battery' }

/** The jobs that bring counters up to date. */
const FOLDS = [foldTicketCounts, foldTallies, foldTimeTotals]

/** Tickets are written in so many parts, each with some of every organization, because that is how they come. */
const PARTS = 200

/** Reads sizes as BENCH_ORGS has them: `100000x1,2000x50` is one organization of 100,000 tickets and 50 of 2000. */
export function readSizes(text: string): number[] {
  return text.split(',').flatMap((part) => {
    const [, size, count] = /^(\d+)x(\d+)$/.exec(part.trim()) ?? []
    if (!size || !count) throw new Error(`BENCH_ORGS is a list such as 100000x1,2000x50, not ${text}`)
    return Array<number>(Number(count)).fill(Number(size))
  })
}

/**
 * Fills an empty database that has the product's schema.
 * @param url of a superuser
 * @param connection the product's pool on that database
 * @param sizes number of tickets of each organization, by place
 */
export async function fillDatabase(url: string, connection: Connection, sizes: number[]): Promise<void> {
  const started = performance.now()
  const report = (what: string) => console.log(`${Math.round((performance.now() - started) / 1000)} s: ${what}`)
  const sql = postgres(url, {
    max: Object.keys(TABLES).length,
    onnotice: () => {},
    // Checks no foreign key: the rows are right, and the checks would take most of the time.
    connection: { session_replication_role: 'replica', maintenance_work_mem: '512MB' },
  })
  try {
    const admin = await createAdmin(connection, sql)
    const triggers = await readTriggers(sql)
    for (const { table, trigger } of triggers)
      await sql`alter table ${sql(table)} enable always trigger ${sql(trigger)}`
    const indexes = await dropIndexes(sql)
    const tenants = await createTenants(sql, startRandom(), sizes, admin)
    report(`${sizes.length} organizations`)
    await writeTickets(sql, connection, tenants)
    report('tickets')
    for (const { table, trigger } of triggers) await sql`alter table ${sql(table)} enable trigger ${sql(trigger)}`
    for (const { definition } of indexes) await sql.unsafe(definition)
    report(`${indexes.length} indexes`)
    await sql`vacuum (analyze)`
    report('analyzed')
  } finally {
    await sql.end()
  }
}

async function createAdmin(connection: Connection, sql: postgres.Sql): Promise<Admin> {
  await createOrganization(connection, { name: 'Seed', admin: { ...ADMIN, name: 'Seed Admin' } })
  const [admin] = await sql<Admin[]>`select id, password_hash from users where email = ${ADMIN.email}`
  return admin!
}

/** Triggers of the schema that keep counters and the like, without those that check foreign keys. */
function readTriggers(sql: postgres.Sql): Promise<{ table: string; trigger: string }[]> {
  return sql<{ table: string; trigger: string }[]>`
    select relname as table, tgname as trigger from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'public'::regnamespace and not tgisinternal and tgenabled = 'O'`
}

/** Drops the indexes of large tables that are not their keys. */
async function dropIndexes(sql: postgres.Sql): Promise<{ name: string; definition: string }[]> {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace = 'public'::regnamespace and c.relname = any(${[...Object.keys(TABLES), 'contacts']})
      and not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u'))`
  for (const { name } of indexes) await sql`drop index ${sql(name)}`
  return indexes
}

/** Makes the next part while the one before is written. */
async function writeTickets(sql: postgres.Sql, connection: Connection, tenants: Tenant[]): Promise<void> {
  const random = startRandom()
  const total = tenants.reduce((sum, { size }) => sum + size, 0)
  using progress = startProgress('data set', { total, unit: 'tickets', say: console.error })
  let writing = Promise.resolve()
  for (let part = 1; part <= PARTS; part++) {
    const rows = noRows()
    for (const tenant of tenants) {
      const [from, to] = [part - 1, part].map((parts) => Math.round((tenant.size * parts) / PARTS))
      for (let number = from! + 1; number <= to!; number++) await addConversation(rows, random, tenant, number)
    }
    await writing
    const { length } = rows.tickets
    writing = writeRows(sql, connection, rows).then(() => progress.add(length))
  }
  await writing
}

/** Tickets first: triggers of the other tables may look them up. */
async function writeRows(sql: postgres.Sql, connection: Connection, { tickets, ...others }: Rows): Promise<void> {
  await copyRows(sql, TABLES.tickets, tickets)
  await Promise.all([
    copyRows(sql, TABLES.ticket_labels, others.ticket_labels),
    copyRows(sql, TABLES.messages, others.messages),
    copyRows(sql, TABLES.time_entries, others.time_entries),
    copyRows(sql, TABLES.ticket_search, others.ticket_search),
    copyRows(sql, TABLES.activities, others.activities),
    copyRows(sql, TABLES.email_anchors, others.email_anchors),
  ])
  for (const fold of FOLDS) await fold(connection)
}
