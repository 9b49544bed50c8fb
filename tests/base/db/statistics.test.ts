/** A database that is filled at once: its plans must not be those of an empty one. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connection, jobConnection } from '../../../src/base/db/pool'
import { analyzeGrownTables } from '../../../src/base/db/statistics'
import { type Connection, transact } from '../../../src/base/db/transact'
import { startJobs } from '../../../src/operate/start/jobs'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { until } from '../../support/service'

beforeAll(() => startApi())
afterAll(stopApi)

test('tables that were filled get statistics, once, and foreign keys are checked by the primary key', async () => {
  const { sql } = connection()
  const { id } = await createOrganization()
  await sql`
    insert into contacts (organization_id, id, name, email, email_key, search)
    select ${id}, gen_random_uuid(), 'C', n || '@customer.example', n || '@customer.example', '' from generate_series(1, 500) n`
  await sql`
    insert into tickets (organization_id, id, number, code, subject, contact_id)
    select organization_id, gen_random_uuid(), row_number() over (), 'T-' || row_number() over (), 'A ticket', id
    from contacts where organization_id = ${id}`
  const analyzed = await analyzeGrownTables(connection())
  expect(analyzed).toContain('tickets')
  expect(analyzed).toContain('contacts')
  expect(analyzed).not.toContain('companies')
  expect(await indexOfCheck(id)).toBe('tickets_organization_id_id_pk')
  expect(await analyzeGrownTables(connection())).not.toContain('tickets')
})

test('10,000 rows that arrive while the job runs get statistics of their number, and plans that fit it', async () => {
  const { id } = await createOrganization()
  await emptyStatistics()
  const jobs = startJobs(jobConnection())
  try {
    await transact(connection(), async (inner) => {
      await addTickets(inner, id, 10_000)
      // Longer than the job waits between its runs: one of them meets rows that are not committed.
      await inner.sql`select pg_sleep(2.5)`
    })
    await until('the statistics are those of all rows', async () => (await rowsInStatistics()) > 9000)
    // The number of rows shows a moment before the rest of the statistics.
    await until('the plan fits', async () => (await indexOfCheck(id)) === 'tickets_organization_id_id_pk')
  } finally {
    await jobs.stop()
  }
})

test('a table is not analyzed while all its rows are of a transaction that runs', async () => {
  const { id } = await createOrganization()
  await connection().sql`truncate tickets cascade`
  await transact(connection(), async (inner) => {
    await addTickets(inner, id, 1250)
    expect(await analyzeGrownTables(jobConnection())).not.toContain('tickets')
  })
  await untilAnalyzed()
})

test('a table that has grown tenfold is analyzed again, and once', async () => {
  const { id } = await createOrganization()
  await connection().sql`truncate tickets cascade`
  await addTickets(connection(), id, 500)
  await untilAnalyzed()
  await addTickets(connection(), id, 2500)
  expect(await analyzeGrownTables(connection())).not.toContain('tickets')
  await addTickets(connection(), id, 5000)
  await untilAnalyzed()
  expect(await rowsInStatistics()).toBeGreaterThan(7500)
  expect(await analyzeGrownTables(connection())).not.toContain('tickets')
})

/** Leaves a table that was analyzed while it was empty, and that PostgreSQL's own autovacuum does not touch. */
async function emptyStatistics(): Promise<void> {
  const { sql } = connection()
  await sql`truncate tickets cascade`
  await sql`alter table tickets set (autovacuum_enabled = off)`
  await sql`analyze tickets`
}

async function addTickets({ sql }: Pick<Connection, 'sql'>, organization_id: string, count: number): Promise<void> {
  const [last] = await sql<{ number: number }[]>`
    select coalesce(max(number), 0) as number from tickets where organization_id = ${organization_id}`
  await sql`
    insert into tickets (organization_id, id, number, code, subject)
    select ${organization_id}, gen_random_uuid(), n, 'T-' || n, 'A ticket'
    from generate_series(${last!.number}::int + 1, ${last!.number}::int + ${count}::int) n`
}

/** Sessions hand in their counts of rows when they have rested for a while. */
function untilAnalyzed(): Promise<void> {
  return until('the tickets are analyzed', async () => (await analyzeGrownTables(connection())).includes('tickets'))
}

/** Number of tickets that the planner counts on. */
async function rowsInStatistics(): Promise<number> {
  const [table] = await connection().sql<{ rows: number }[]>`
    select reltuples::int as rows from pg_class where oid = 'tickets'::regclass`
  return table!.rows
}

/** The plan of a lookup by a foreign key to a ticket. */
async function indexOfCheck(organization_id: string): Promise<string | undefined> {
  const { sql } = connection()
  const rows = await sql.unsafe<{ 'QUERY PLAN': string }[]>(
    `explain select 1 from only tickets x
     where organization_id = '${organization_id}' and id = '${organization_id}' for key share of x`,
  )
  return rows.map((row) => /using (\w+)/.exec(row['QUERY PLAN'])?.[1]).find((name) => name !== undefined)
}
