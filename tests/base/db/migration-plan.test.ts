/** The plan of a migration: what it says it locks is what PostgreSQL locks. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { migrateDatabase } from '../../../src/base/db/migrate'
import { MigrationError } from '../../../src/base/db/migration-faults'
import { findMissing, readMigrations } from '../../../src/base/db/migration-files'
import { locksOf } from '../../../src/base/db/migration-locks'
import { findObstacles } from '../../../src/base/db/migration-obstacles'
import { planMigrations } from '../../../src/base/db/migration-plan'
import { workOf } from '../../../src/base/db/migration-work'
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

/** The last migration that took several busy tables, before a test forbade it. */
const SEVERAL = '0133_letters-to-members'
/** Tables that nearly each request writes. */
const BUSY = ['tickets', 'ticket_labels', 'messages', 'events', 'activities', 'outbox', 'inbound_messages']

test('each migration locks the tables that its plan names, as hard as it says, and one busy table at most', async () => {
  const several: unknown[] = []
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
      const stopped = planned.filter(
        ([table, mode]) =>
          mode === 'AccessExclusiveLock' || (mode === 'ShareRowExclusiveLock' && BUSY.includes(table!)),
      )
      if (name > SEVERAL && stopped.length > 1) several.push([name, ...stopped])
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
  // For several it would wait until no request uses any of them, which on a busy service may be never.
  expect(several).toEqual([])
})

test('the plan names what is missing, with sizes, and changes nothing', async () => {
  const name = `plan_${crypto.randomUUID().replaceAll('-', '')}`
  await runOnServer(server.url, (on) => on`create database ${on(name)}`)
  const own = withDatabase(server.url, name)
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations-'))
  const first = 'create table steps as select generate_series(1, 1000) as n;--> statement-breakpoint\nanalyze steps'
  const second = 'alter table steps add column m int'
  write(folder, [first])
  await migrateDatabase(own, folder)
  expect(await planMigrations(own, folder)).toEqual({ steps: [], obstacles: [] })
  write(folder, [first, second])
  const lock = {
    table: 'steps',
    mode: 'ACCESS EXCLUSIVE',
    waits: 'reads and writes',
    rows: 1000,
    bytes: expect.any(Number),
  }
  const planned = { migration: '1_step', statements: 1, locks: [lock] }
  expect((await planMigrations(own, folder)).steps).toMatchObject([
    { ...planned, reads: [], about_s: 0, disk_bytes: 0 },
  ])
  // A million rows take some seconds.
  write(folder, [first, 'create index "steps_n" on "steps" using btree ("n")'])
  await onServer(own, (on) => on`update pg_class set reltuples = 1000000, relpages = 1000 where relname = 'steps'`)
  expect((await planMigrations(own, folder)).steps).toMatchObject([{ about_s: 4 }])
  // Still missing: nothing was applied.
  expect((await planMigrations(own, folder)).steps).toHaveLength(1)
  fs.rmSync(folder, { recursive: true })
  await runOnServer(server.url, (on) => on`drop database ${on(name)} with (force)`)
})

/** Statements, and what they read of a table of 1,000 rows, by a name that PostgreSQL counts scans of. */
const WORK: [statement: string, scans: number, writes: 'nothing' | 'less' | 'more'][] = [
  ['alter table steps add column m int', 0, 'nothing'],
  ["alter table steps add column m int not null default 5, add column k text default 'x'", 0, 'nothing'],
  ['alter table steps add column m uuid default gen_random_uuid()', 1, 'more'],
  ['alter table steps alter column n type bigint', 1, 'more'],
  ['alter table steps alter column n set not null', 1, 'nothing'],
  ['alter table steps add constraint c check (n > 0)', 1, 'nothing'],
  ['alter table steps add constraint c check (n > 0) not valid', 0, 'nothing'],
  ['create index "steps_n" on "steps" using btree ("n")', 1, 'less'],
  ['alter table steps add constraint u unique (n)', 1, 'less'],
  ['update steps set n = n + 1', 1, 'more'],
  ['insert into others select n from steps', 1, 'nothing'],
  ['create table more as select n from steps', 1, 'nothing'],
  ['drop table steps', 0, 'nothing'],
]

test.each(WORK)('%s reads whole tables %i times, and writes %s than the table', async (statement, scans, writes) => {
  await sql
    .begin(async (transaction) => {
      await transaction`create table steps as select generate_series(1, 1000) as n`
      await transaction`create table others (n int)`
      await transaction`analyze steps`
      const [size] = await transaction<[{ bytes: number }]>`select pg_relation_size('steps')::float8 as bytes`
      const work = (await workOf(transaction, [statement])).find(({ table }) => table === 'steps')
      expect(work?.rows ?? 0).toBe(scans * 1000)
      const disk_bytes = work?.disk_bytes ?? 0
      if (writes === 'nothing') expect(disk_bytes).toBe(0)
      if (writes === 'less') expect(disk_bytes).toBe(size.bytes)
      if (writes === 'more') expect(disk_bytes).toBeGreaterThan(size.bytes)
      const seen = () => transaction<[{ n: number }]>`
        select (seq_scan + coalesce(seq_tup_read, 0) / 1000)::float8 as n
        from pg_stat_xact_user_tables where relname = 'steps'`
      const [before] = await seen()
      await transaction.unsafe(statement)
      const [after] = await seen()
      // An ALTER that rewrites counts as no scan; all that counts as one is foretold.
      if (after && after.n > before.n) expect(scans).toBe(1)
      throw new RolledBack()
    })
    .catch((error) => {
      if (!(error instanceof RolledBack)) throw error
    })
})

class RolledBack extends Error {}

describe('obstacles', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'obstacles-'))
  const first = 'create table steps as select generate_series(1, 1000) as n'
  let own: string
  let name: string

  beforeEach(async () => {
    name = `plan_${crypto.randomUUID().replaceAll('-', '')}`
    await runOnServer(server.url, (on) => on`create database ${on(name)}`)
    own = withDatabase(server.url, name)
    write(folder, [first])
    await migrateDatabase(own, folder)
  })
  afterEach(() => runOnServer(server.url, (on) => on`drop database ${on(name)} with (force)`))
  afterAll(() => fs.rmSync(folder, { recursive: true }))

  /** The line that a start prints, after which the database is as it was. */
  async function refusal(target: string, free_bytes?: number): Promise<string> {
    const made = () =>
      onServer(own, (on) => on`select relname from pg_class where relnamespace = 'public'::regnamespace order by 1`)
    const before = await made()
    const error = await migrateDatabase(target, folder, free_bytes).catch((error) => error)
    expect(error).toBeInstanceOf(MigrationError)
    expect([...(await made())]).toEqual([...before])
    return error.message
  }

  test('a role without rights is told all that it lacks, before the first migration changes anything', async () => {
    const role = `poor_${crypto.randomUUID().replaceAll('-', '')}`
    write(folder, [first, 'create table early (n int)', 'alter table steps add column m int'])
    await onServer(own, async (on) => {
      await on.unsafe(`create role ${role} login password 'x'; grant usage on schema public to ${role}`)
      await on.unsafe(
        `grant usage on schema drizzle to ${role}; grant select on all tables in schema drizzle to ${role}`,
      )
      await on.unsafe('revoke create on schema public from public')
    })
    const poor = new URL(own)
    poor.username = role
    poor.password = 'x'
    const { obstacles } = await planMigrations(poor.href, folder)
    expect(obstacles.map(({ obstacle, stops }) => [obstacle, stops])).toEqual([
      [`role ${role} may not create in database ${name}`, true],
      [`role ${role} may not create in schema public`, true],
      [`role ${role} may not create in schema drizzle`, true],
      [
        expect.stringMatching(
          new RegExp(`^role ${role} does not own drizzle.__drizzle_migrations, steps, role .* does$`),
        ),
        true,
      ],
    ])
    const said = await refusal(poor.href)
    expect(said).toStartWith('the migrations could not all be done, and nothing was changed. ')
    for (const { obstacle, action } of obstacles) expect(said).toContain(`${obstacle}: ${action}`)
    // Its advice is the cure.
    const grants = obstacles.slice(0, 3).map(({ action }) => action.replace(/\.$/, ''))
    await onServer(own, async (on) => {
      for (const grant of grants) await on.unsafe(grant)
      await on.unsafe(`alter table steps owner to ${role}; alter table drizzle.__drizzle_migrations owner to ${role}`)
    })
    expect(await migrateDatabase(poor.href, folder)).toHaveLength(2)
    await onServer(own, (on) => on.unsafe(`drop owned by ${role} cascade`))
    await runOnServer(server.url, (on) => on.unsafe(`drop role ${role}`))
  })

  test('a disk that is too small stops the start', async () => {
    write(folder, [first, 'create table early (n int)', 'update steps set n = n + 1'])
    await onServer(own, (on) => on`analyze steps`)
    const { steps, obstacles } = await planMigrations(own, folder, 1000)
    const needed = steps[1]!.disk_bytes
    expect(needed).toBeGreaterThan(1000)
    expect(obstacles).toMatchObject([{ obstacle: expect.stringContaining('MiB on the disk of DATA_DIR'), stops: true }])
    expect(await refusal(own, needed - 1)).toContain('Free space there')
    expect(await migrateDatabase(own, folder, needed)).toHaveLength(2)
  })

  test('an extension that the server lacks stops the start', async () => {
    write(folder, [first, 'create table early (n int)', 'create extension if not exists "no_such_thing"'])
    expect(await refusal(own)).toContain('the server lacks the extension no_such_thing')
  })

  test('a long transaction that holds a table is named, and the migration waits for it', async () => {
    write(folder, [first, 'alter table steps add column m int'])
    const other = postgres(own, { max: 1, onnotice: () => {} })
    const held = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const report = other.begin(async (transaction) => {
      await transaction`select count(*) from steps`
      held.resolve()
      await ended.promise
    })
    await held.promise
    expect((await planMigrations(own, folder)).obstacles).toEqual([])
    const { obstacles } = await onServer(own, async (on) => {
      const missing = await findMissing(on, await readMigrations(folder))
      return { obstacles: await findObstacles(on, missing, undefined, 0) }
    })
    expect(obstacles).toEqual([
      {
        obstacle: expect.stringMatching(
          /^a transaction of pid \d+ \(.*\) has held steps for \d s: the migration waits$/,
        ),
        action: expect.stringMatching(/^Wait for it, or select pg_terminate_backend\(\d+\)\.$/),
        stops: false,
      },
    ])
    ended.resolve()
    await report
    await other.end()
    expect(await migrateDatabase(own, folder)).toHaveLength(1)
  })

  test('a database that takes no changes is an obstacle of the plan', async () => {
    write(folder, [first, 'create table early (n int)'])
    await runOnServer(server.url, (on) => on.unsafe(`alter database ${name} set default_transaction_read_only = on`))
    expect((await planMigrations(own, folder)).obstacles).toMatchObject([
      { obstacle: expect.stringContaining('the database takes no changes'), stops: true },
    ])
  })
})

async function onServer<T>(url: string, work: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}

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
