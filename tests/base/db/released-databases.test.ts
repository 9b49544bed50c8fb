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

/** Makes the schema as that version had it, and its rows as they were: no trigger runs. */
async function load(sql: postgres.Sql, { last, rows }: Released): Promise<void> {
  const migrations = await readMigrations()
  await createMigrationsTable(sql)
  for (const { statements, hash, when } of migrations.slice(0, migrations.findIndex(({ name }) => name === last) + 1)) {
    await sql.begin(async (inner) => {
      for (const statement of statements) await inner.unsafe(statement)
      await inner`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${when})`
    })
  }
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
