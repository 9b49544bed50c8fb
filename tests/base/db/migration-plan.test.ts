/** The plan of a migration: what it says it locks is what PostgreSQL locks. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { migrateDatabase } from '../../../src/base/db/migrate'
import { readMigrations } from '../../../src/base/db/migration-files'
import { locksOf } from '../../../src/base/db/migration-locks'
import { planMigrations } from '../../../src/base/db/migration-plan'
import { createDatabase, type TestDatabase } from '../../support/database'
import { runOnServer, withDatabase } from '../../support/on-server'

let server: TestDatabase
let url: string
let sql: postgres.Sql

beforeAll(async () => {
  server = await createDatabase()
  const name = `plan_${crypto.randomUUID().replaceAll('-', '')}`
  await runOnServer(server.url, (on) => on`create database ${on(name)}`)
  url = withDatabase(server.url, name)
  sql = postgres(url, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await sql.end()
  await runOnServer(server.url, (on) => on`drop database ${on(new URL(url).pathname.slice(1))} with (force)`)
  await server.drop()
})

/** Modes that stop somebody, as `pg_locks` names them. */
const HARD = ['ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'AccessExclusiveLock']

test('each migration locks the tables that its plan names, as hard as it says', async () => {
  for (const { name, statements } of await readMigrations()) {
    await sql.begin(async (transaction) => {
      const before = await transaction<{ name: string }[]>`
        select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`
      const planned = [...(await locksOf(transaction, statements))]
        .map(([table, mode]) => [
          table,
          `${mode.toLowerCase().replaceAll(/(^| )(\w)/g, (_, _space, letter) => letter.toUpperCase())}Lock`,
        ])
        .filter(([, mode]) => HARD.includes(mode!))
      for (const statement of statements) await transaction.unsafe(statement)
      const taken = await transaction<{ table: string; mode: string }[]>`
        select c.relname as table, l.mode from pg_locks l join pg_class c on c.oid = l.relation
        where l.pid = pg_backend_pid() and l.granted and c.relname = any(${before.map((table) => table.name)}::text[])`
      const hardest = new Map<string, string>()
      for (const { table, mode } of taken) {
        if (HARD.indexOf(mode) > HARD.indexOf(hardest.get(table) ?? '')) hardest.set(table, mode)
      }
      expect([name, planned.sort()]).toEqual([name, [...hardest].sort()])
    })
  }
})

test('the plan names what is missing, with sizes and what is filled, and changes nothing', async () => {
  const name = `plan_${crypto.randomUUID().replaceAll('-', '')}`
  await runOnServer(server.url, (on) => on`create database ${on(name)}`)
  const own = withDatabase(server.url, name)
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations-'))
  const first = 'create table steps as select generate_series(1, 1000) as n;--> statement-breakpoint\nanalyze steps'
  const second =
    "alter table steps add column m int;--> statement-breakpoint\ninsert into fills select 'ticket_search.document'"
  write(folder, [first])
  await migrateDatabase(own, folder)
  expect(await planMigrations(own, folder)).toEqual([])
  write(folder, [first, second])
  const lock = {
    table: 'steps',
    mode: 'ACCESS EXCLUSIVE',
    waits: 'reads and writes',
    rows: 1000,
    bytes: expect.any(Number),
  }
  const planned = { migration: '1_step', statements: 2, locks: [lock], fills: ['ticket_search.document'] }
  expect(await planMigrations(own, folder)).toMatchObject([planned])
  // Still missing: nothing was applied.
  expect(await planMigrations(own, folder)).toHaveLength(1)
  fs.rmSync(folder, { recursive: true })
  await runOnServer(server.url, (on) => on`drop database ${on(name)} with (force)`)
})

/** A folder as drizzle-kit makes it, one migration for each text. */
function write(folder: string, texts: string[]) {
  fs.mkdirSync(path.join(folder, 'meta'), { recursive: true })
  const entries = texts.map((text, idx) => {
    const tag = `${idx}_step`
    fs.writeFileSync(path.join(folder, `${tag}.sql`), text)
    return { idx, version: '7', when: 1_700_000_000_000 + idx, tag, breakpoints: true }
  })
  fs.writeFileSync(
    path.join(folder, 'meta/_journal.json'),
    JSON.stringify({ version: '7', dialect: 'postgresql', entries }),
  )
}
