/**
 * Databases as released versions left them get the schema of this one, and keep their rows. With
 * `RELEASE=0.3.0 npm test -- tests/base/db/released-databases.test.ts` a release writes its own, which is never edited.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import postgres from 'postgres'
import { version } from '../../../package.json'
import { createMigrationsTable, migrateDatabase } from '../../../src/base/db/migrate'
import { readMigrations } from '../../../src/base/db/migration-files'
import { planMigrations } from '../../../src/base/db/migration-plan'
import { createOrganization, startApi, stopApi } from '../../support/api'
import type { TestDatabase } from '../../support/database'
import { runOnServer, withDatabase } from '../../support/on-server'
import { readSchema } from '../../support/read-schema'
import { createWorld } from '../../support/world'

const FOLDER = path.join(import.meta.dir, 'released')
const { RELEASE } = process.env
const MOST_BYTES = 100_000
/** Tables whose rows no migration adds or removes. */
const KEPT = [
  ...['users', 'contacts', 'companies', 'tickets', 'messages', 'attachments', 'time_entries', 'webhooks', 'activities'],
]

/** As release 0.2.0 notes its last migrations; the first one of this release has their schema. */
const NOTES_OF_BASE = [
  { created_at: 1_795_812_680_299, hash: 'of another migration' },
  { created_at: 1_795_812_680_300, hash: 'ff2f7590971668788f4844158f671678517772b1f4e3d2da0975536c446c38fe' },
]

/** The schema is that of the migrations up to the last one, which are never edited. */
type Released = { last: string; rows: Record<string, string> }

let server: TestDatabase

beforeAll(async () => {
  server = await startApi()
})
afterAll(() => stopApi())

if (RELEASE) {
  test('the database of this release is written', async () => {
    await createWorld(await createOrganization())
    const rows: Released['rows'] = {}
    await on(server.url, async (sql) => {
      for (const table of await tablesOf(sql)) {
        const [found] = await sql<[{ text: string | null }]>`select json_agg(t)::text as text from ${sql(table)} t`
        if (found.text !== null) rows[table] = found.text
      }
    })
    const made: Released = { last: (await readMigrations()).at(-1)!.name, rows }
    fs.mkdirSync(FOLDER, { recursive: true })
    fs.writeFileSync(path.join(FOLDER, `${RELEASE}.json.gz`), gzipSync(JSON.stringify(made), { level: 9 }))
  })
}

const released = fs.existsSync(FOLDER) ? fs.readdirSync(FOLDER).map((name) => name.replace('.json.gz', '')) : []

test('every version that was released has a database here', () => {
  const page = fs.readFileSync(path.join(import.meta.dir, '../../../src/guide/changes.md'), 'utf8')
  const versions = [...page.matchAll(/^## (\d\S+)/gm)].map(([, one]) => one!)
  expect(versions).toContain(version)
  expect(versions.filter((one) => one !== version && !released.includes(one))).toEqual([])
  expect(released).toContain('0.2.0')
})

test.each(released)('a database of version %s gets the schema of this one, and keeps its rows', async (version) => {
  const packed = fs.readFileSync(path.join(FOLDER, `${version}.json.gz`))
  expect(packed.length).toBeLessThan(MOST_BYTES)
  const name = `released_${crypto.randomUUID().replaceAll('-', '')}`
  await runOnServer(server.url, (sql) => sql`create database ${sql(name)}`)
  const url = withDatabase(server.url, name)
  await on(url, async (sql) => {
    await load(sql, JSON.parse(gunzipSync(packed).toString()))
    const before = await countsOf(sql)
    expect(Object.values(before)).not.toContain(0)
    const { steps, obstacles } = await planMigrations(url)
    expect(obstacles).toEqual([])
    expect(await migrateDatabase(url)).toHaveLength(steps.length)
    expect(await countsOf(sql)).toEqual(before)
    const present = await on(server.url, readSchema)
    const upgraded = await readSchema(sql)
    for (const [kind, rows] of Object.entries(present)) expect([kind, upgraded[kind]]).toEqual([kind, rows])
  })
  await runOnServer(server.url, (sql) => sql`drop database ${sql(name)} with (force)`)
})

test('a database of before 0.2.0 is left alone, and the line says which release to use first', async () => {
  const name = `released_${crypto.randomUUID().replaceAll('-', '')}`
  await runOnServer(server.url, (sql) => sql`create database ${sql(name)}`)
  const url = withDatabase(server.url, name)
  await on(url, async (sql) => {
    await createMigrationsTable(sql)
    await sql`insert into drizzle.__drizzle_migrations ${sql(NOTES_OF_BASE[0]!)}`
  })
  const message = /^the database is older than release 0\.2\.0 \(commit \w+\): use that one first/
  await expect(migrateDatabase(url)).rejects.toThrow(message)
  await expect(planMigrations(url)).rejects.toThrow(message)
  expect(await on(url, tablesOf)).toEqual([])
  await runOnServer(server.url, (sql) => sql`drop database ${sql(name)} with (force)`)
})

test('a database whose rows an older release has not finished is left alone', async () => {
  const name = `released_${crypto.randomUUID().replaceAll('-', '')}`
  await runOnServer(server.url, (sql) => sql`create database ${sql(name)}`)
  const url = withDatabase(server.url, name)
  const id = crypto.randomUUID()
  await on(url, async (sql) => {
    await load(sql, { last: '0082_base', rows: {} })
    await sql`insert into organizations (id, name) values (${id}, 'Old')`
    await sql`insert into fills (organization_id, kind) values (${id}, 'ticket_search.document')`
    await expect(migrateDatabase(url)).rejects.toThrow('rows of older releases are still being filled')
    await sql`delete from fills`
    await migrateDatabase(url)
  })
  await runOnServer(server.url, (sql) => sql`drop database ${sql(name)} with (force)`)
})

/** Makes the schema as that version had it, and its rows as they were: no trigger runs. */
async function load(sql: postgres.Sql, { last, rows }: Released): Promise<void> {
  const migrations = await readMigrations()
  await createMigrationsTable(sql)
  const applied = migrations.filter(({ name }, index) => index === 0 || numberOf(name) <= numberOf(last))
  for (const { statements } of applied) {
    await sql.begin(async (inner) => {
      for (const statement of statements) await inner.unsafe(statement)
    })
  }
  const later = applied.slice(1).map(({ hash, when }) => ({ hash, created_at: when }))
  await sql`insert into drizzle.__drizzle_migrations ${sql([...NOTES_OF_BASE, ...later])}`
  await sql.begin(async (inner) => {
    await inner`set local session_replication_role = replica`
    for (const [table, text] of Object.entries(rows)) {
      const columns = await inner<{ name: string }[]>`
        select quote_ident(column_name) as name from information_schema.columns
        where table_schema = 'public' and table_name = ${table} and is_generated = 'NEVER'`
      const list = columns.map(({ name }) => name).join(', ')
      await inner`delete from ${inner(table)}`
      await inner.unsafe(
        `insert into "${table}" (${list}) overriding system value
        select ${list} from json_populate_recordset(null::"${table}", $1::text::json)`,
        [text],
      )
    }
  })
}

function numberOf(migration: string): string {
  return migration.slice(0, 4)
}

async function tablesOf(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`
  return rows.map(({ name }) => name)
}

async function countsOf(sql: postgres.Sql): Promise<Record<string, number>> {
  const counted = KEPT.map(async (table) => {
    const [row] = await sql<[{ n: number }]>`select count(*)::int as n from ${sql(table)}`
    return [table, row.n] as const
  })
  return Object.fromEntries(await Promise.all(counted))
}

async function on<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}
