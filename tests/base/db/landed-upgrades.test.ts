/**
 * Databases of every landed commit, with rows, get the schema of this one. What no landed commit has made is left
 * alone.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import postgres from 'postgres'
import { createMigrationsTable, migrateDatabase } from '../../../src/base/db/migrate'
import { findMissing, type Migration, readMigrations } from '../../../src/base/db/migration-files'
import { planMigrations } from '../../../src/base/db/migration-plan'
import { EmptyDatabases } from '../../support/backups'
import { createDatabase, type TestDatabase } from '../../support/database'
import { readSchema } from '../../support/read-schema'

/** The texts that four migrations had when they landed, until commits 5c10de3 and 6987a78 changed them. */
const EARLIER = path.join(import.meta.dir, 'earlier-migrations')
const UNTIL_5C10DE3 = ['0022_all_tickets']
const UNTIL_6987A78 = ['0018_reply_to', '0019_time_totals', '0021_contact_sorts']

const [ORGANIZATION, USER, COMPANY, CONTACT, TICKET, LABEL] = [1, 2, 3, 4, 5, 6].map(
  (n) => `01a1fc97-2943-7736-a4b5-d2e8563c833${n}`,
)

let server: TestDatabase
let empty: EmptyDatabases
let migrations: Migration[]
let present: Record<string, unknown[]>

beforeAll(async () => {
  server = await createDatabase()
  empty = new EmptyDatabases(server.url)
  migrations = await readMigrations()
  present = await on(server.url, readSchema)
})
afterAll(async () => {
  await empty.drop()
  await server.drop()
})

test.each([
  ['0fa3ec0', '0004_uuid_time', []],
  ['d88c2c2', '0016_timers', []],
  ['eb0a06e', '0018_reply_to', [...UNTIL_6987A78, ...UNTIL_5C10DE3]],
  ['eb0a06e, where an upgrade has ended in between', '0026_beside_older_processes', ['0018_reply_to']],
  ['453bf2f', '0020_api_keys', [...UNTIL_6987A78, ...UNTIL_5C10DE3]],
  ['bd04ec3', '0021_contact_sorts', [...UNTIL_6987A78, ...UNTIL_5C10DE3]],
  ['c91a6b9', '0024_search_storage', [...UNTIL_6987A78, ...UNTIL_5C10DE3]],
  [
    'c91a6b9, where an upgrade has ended in between',
    '0026_beside_older_processes',
    [...UNTIL_6987A78, ...UNTIL_5C10DE3],
  ],
  ['5c10de3', '0026_beside_older_processes', UNTIL_6987A78],
  ['9587c95', '0030_stats', []],
])(
  'a database made at commit %s has the schema of this one after the upgrade, and its rows',
  async (_, last, earlier) => {
    const url = await empty.create()
    await on(url, (sql) => makeOld(sql, last, earlier))
    const { steps: plan, obstacles } = await planMigrations(url)
    expect(obstacles).toEqual([])
    const applied = await migrateDatabase(url)
    expect(applied.map(({ migration }) => migration)).toEqual(plan.map(({ migration }) => migration))
    expect(await migrateDatabase(url)).toEqual([])
    await on(url, async (sql) => {
      const schema = await readSchema(sql)
      for (const [kind, rows] of Object.entries(present)) expect([kind, schema[kind]]).toEqual([kind, rows])
      expect(await readRows(sql)).toEqual({
        ticket: { subject: 'An old ticket', contact: 'Carla', company: 'Old company', labels: 1, minutes: 30 },
        tallies: { tickets: 1, tickets_of_label: 1, contacts_of_company: 1 },
        time: 30,
      })
    })
  },
)

test('a restored database, whose notes are older than its schema, loses nothing', async () => {
  const url = await empty.create()
  await on(url, async (sql) => {
    await makeOld(sql, migrations.at(-1)!.name, [])
    // A restore makes the schema by the present migrations, and copies the notes of the database that was backed up.
    for (const name of [...UNTIL_6987A78, ...UNTIL_5C10DE3]) {
      const { when } = migrations.find((migration) => migration.name === name)!
      await sql`update drizzle.__drizzle_migrations set hash = ${earlierOf(name).hash} where created_at = ${when}`
    }
  })
  expect(await migrateDatabase(url)).toEqual([])
  expect(await on(url, readSchema)).toEqual(present)
})

test('a migration in a form that no release has is refused before anything is changed, by the plan too', async () => {
  const url = await empty.create()
  await on(url, async (sql) => {
    await makeOld(sql, '0016_timers', [])
    const { when } = migrations.find(({ name }) => name === '0007_audit_log')!
    await sql`update drizzle.__drizzle_migrations set hash = 'edited' where created_at = ${when}`
  })
  await refused(url, /^the database has another form of migration 0007_audit_log than any release: .* Restore a backup/)
})

test('a migration that is missing below later ones is refused before anything is changed', async () => {
  const url = await empty.create()
  await on(url, async (sql) => {
    await makeOld(sql, '0016_timers', [])
    const { when } = migrations.find(({ name }) => name === '0007_audit_log')!
    await sql`delete from drizzle.__drizzle_migrations where created_at = ${when}`
  })
  await refused(url, /^the database lacks migration 0007_audit_log and has later ones: .* Restore a backup/)
})

async function refused(url: string, message: RegExp): Promise<void> {
  const before = await on(url, readSchema)
  await expect(planMigrations(url)).rejects.toThrow(message)
  await expect(migrateDatabase(url)).rejects.toThrow(message)
  await expect(on(url, (sql) => findMissing(sql, migrations))).rejects.toThrow(message)
  expect(await on(url, readSchema)).toEqual(before)
}

/**
 * Applies the migrations up to the last one, those of `earlier` as they once were, and adds rows as soon as there are
 * tables.
 */
async function makeOld(sql: postgres.Sql, last: string, earlier: string[]): Promise<void> {
  await createMigrationsTable(sql)
  for (const migration of migrations.slice(0, migrations.findIndex(({ name }) => name === last) + 1)) {
    const { statements, hash } = earlier.includes(migration.name) ? earlierOf(migration.name) : migration
    await sql.begin(async (transaction) => {
      for (const statement of statements) await transaction.unsafe(statement)
      await transaction`
        insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${migration.when})`
    })
    if (migration.name === '0004_uuid_time') await addRows(sql)
  }
}

function earlierOf(name: string): { statements: string[]; hash: string } {
  const text = readFileSync(path.join(EARLIER, `${name}.sql`), 'utf8')
  return { statements: text.split('--> statement-breakpoint'), hash: createHash('sha256').update(text).digest('hex') }
}

async function addRows(sql: postgres.Sql): Promise<void> {
  await sql`insert into organizations (id, name) values (${ORGANIZATION!}, 'Old')`
  await sql`insert into users (id, email, name, password_hash) values (${USER!}, 'old@example.com', 'Old', '')`
  await sql`insert into memberships (organization_id, user_id) values (${ORGANIZATION!}, ${USER!})`
  await sql`insert into companies (organization_id, id, name) values (${ORGANIZATION!}, ${COMPANY!}, 'Old company')`
  await sql`
    insert into contacts (organization_id, id, company_id, name, email, search)
    values (${ORGANIZATION!}, ${CONTACT!}, ${COMPANY!}, 'Carla', 'carla@example.com', ${'ﷺ'.repeat(2000)})`
  await sql`
    insert into tickets (organization_id, id, number, code, subject, contact_id, company_id)
    values (${ORGANIZATION!}, ${TICKET!}, 1, 'TKT-1', 'An old ticket', ${CONTACT!}, ${COMPANY!})`
  await sql`insert into labels (organization_id, id, name, color) values (${ORGANIZATION!}, ${LABEL!}, 'Old', '#123456')`
  await sql`
    insert into ticket_labels (organization_id, ticket_id, label_id) values (${ORGANIZATION!}, ${TICKET!}, ${LABEL!})`
  await sql`
    insert into time_entries (organization_id, id, ticket_id, user_id, duration_minutes, rate, currency, date)
    values (${ORGANIZATION!}, ${TICKET!}, ${TICKET!}, ${USER!}, 30, 90, 'USD', '2026-01-02')`
}

async function readRows(sql: postgres.Sql) {
  const [ticket] = await sql`
    select t.subject, c.name as contact, o.name as company, count(l.*)::int as labels, sum(e.duration_minutes)::int as minutes
    from tickets t join contacts c on c.id = t.contact_id join companies o on o.id = t.company_id
      join ticket_labels l on l.ticket_id = t.id join time_entries e on e.ticket_id = t.id
    group by 1, 2, 3`
  const tallies = await sql<{ kind: string; n: number }[]>`
    select kind, sum(n)::int as n from (select kind, n from tallies union all select kind, n from tally_changes) as counted
    where kind in ('tickets', 'tickets_of_label', 'contacts_of_company') group by 1`
  const [time] = await sql<{ minutes: number }[]>`
    select sum(minutes)::int as minutes
    from (select minutes from time_totals union all select minutes from time_total_changes) as counted`
  return {
    ticket: { ...ticket },
    tallies: Object.fromEntries(tallies.map(({ kind, n }) => [kind, n])),
    time: time!.minutes,
  }
}

async function on<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}
