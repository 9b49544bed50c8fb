/** A migration that has to wait: for another process, and for a transaction that reads its table for long. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { createDatabase, type TestDatabase } from '../support/database'
import { runOnServer, withDatabase } from '../support/on-server'
import { until } from '../support/service'

const LOCK = 5_710_313

let server: TestDatabase
let url: string
let folder: string
let sql: postgres.Sql

beforeAll(async () => {
  server = await createDatabase()
  const name = `wait_${crypto.randomUUID().replaceAll('-', '')}`
  await runOnServer(server.url, (on) => on`create database ${on(name)}`)
  url = withDatabase(server.url, name)
  sql = postgres(url, { max: 4, onnotice: () => {} })
  await sql`create table steps (n int)`
  await sql`create table owners (n int)`
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations-'))
  fs.mkdirSync(path.join(folder, 'meta'))
  writeMigrations('alter table steps add column m int')
})
afterAll(async () => {
  await sql.end()
  await runOnServer(server.url, (on) => on`drop database ${on(new URL(url).pathname.slice(1))} with (force)`)
  await server.drop()
  fs.rmSync(folder, { recursive: true })
})

/** Puts migrations into the folder, each with its statements. */
function writeMigrations(...texts: string[]) {
  const entries = texts.map((text, idx) => {
    fs.writeFileSync(path.join(folder, `${idx}_step.sql`), text)
    return { idx, version: '7', when: 1_700_000_000_000 + idx, tag: `${idx}_step`, breakpoints: true }
  })
  const journal = { version: '7', dialect: 'postgresql', entries }
  fs.writeFileSync(path.join(folder, 'meta/_journal.json'), JSON.stringify(journal))
}

/** A process that migrates, with what it logs. */
function startMigrating() {
  const script = `import { migrateDatabase } from '${path.join(import.meta.dirname, '../../src/base/db/migrate.ts')}'
    await migrateDatabase('${url}', '${folder}')`
  const env = { ...process.env, LOG_LEVEL: 'warn', LOG_FORMAT: 'json' }
  const child = spawn(process.execPath, ['--no-orphans', '-e', script], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = new Promise((resolve) => child.once('exit', resolve))
  return { output: () => output, ended }
}

test('a migration waits for another process by name, and for readers without holding requests up', async () => {
  const holder = await sql.reserve()
  const [{ pid }] = (await holder`select pg_backend_pid() as pid`) as unknown as [{ pid: number }]
  await holder`select pg_advisory_lock(${LOCK})`
  const migrating = startMigrating()
  const said = () => migrating.output()
  await until('it says for whom it waits', () =>
    said().includes(`waits for another process that migrates (pid ${pid})`),
  )
  expect(said()).toContain(`select pg_terminate_backend(${pid})`)

  // Now it gets its lock, and a transaction has read the table.
  await holder`begin`
  await holder`select from steps`
  await holder`select pg_advisory_unlock(${LOCK})`
  const waits_ms: number[] = []
  while (!said().includes('migration 0_step waits for a lock')) {
    const began_ms = performance.now()
    await sql`select from steps`
    waits_ms.push(performance.now() - began_ms)
    await Bun.sleep(20)
  }
  expect(said()).toContain(`waits for a lock that pid ${pid} holds on steps`)
  const most_ms = Math.max(...waits_ms)
  console.log(`${waits_ms.length} reads waited at most ${Math.round(most_ms)} ms behind the migration`)
  // Some waited behind it. Without giving way all of them would wait until the transaction ends.
  expect(most_ms).toBeGreaterThan(100)
  expect(waits_ms.length).toBeGreaterThan(20)

  await holder`commit`
  holder.release()
  expect(await migrating.ended).toBe(0)
  expect([...(await sql`select m from steps`)]).toEqual([])
})

test('a migration gets its tables from transactions that lock them in another order', async () => {
  writeMigrations(
    'alter table steps add column m int',
    'alter table steps add column o int; --> statement-breakpoint\nalter table owners add column o int',
  )
  let is_over = false
  // At each moment one of them holds the owners and wants the steps.
  const requests = Array.from({ length: 3 }, async (_, index) => {
    await Bun.sleep(index * 100)
    while (!is_over) {
      await sql.begin(async (transaction) => {
        await transaction`select from owners`
        await transaction`select pg_sleep(0.2)`
        await transaction`select from steps`
        await transaction`select pg_sleep(0.1)`
      })
    }
  })
  expect(await startMigrating().ended).toBe(0)
  is_over = true
  await Promise.all(requests)
  expect([...(await sql`select steps.o, owners.o from steps, owners`)]).toEqual([])
}, 60_000)
