/** Migrating at the start: several processes at once, and releases that do not fit the database. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { migrateDatabase } from '../../../src/base/db/migrate'
import { MigrationError } from '../../../src/base/db/migration-faults'
import { createDatabase, type TestDatabase } from '../../support/database'
import { runOnServer, withDatabase, withParameters } from '../../support/on-server'

let server: TestDatabase
let url: string
let folder: string

beforeAll(async () => {
  server = await createDatabase()
})

afterAll(() => server.drop())

beforeEach(async () => {
  const name = `migrate_${crypto.randomUUID().replaceAll('-', '')}`
  await runOnServer(server.url, (sql) => sql`create database ${sql(name)}`)
  url = withDatabase(server.url, name)
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations-'))
})

afterEach(async () => {
  await runOnServer(url, (sql) => sql`drop database ${sql(new URL(url).pathname.slice(1))} with (force)`)
  fs.rmSync(folder, { recursive: true })
})

test('processes that start at the same time apply each migration once', async () => {
  writeMigrations('create table steps (n int)', 'insert into steps values (1)', 'insert into steps values (2)')
  await Promise.all([1, 2, 3, 4].map(() => migrateDatabase(url, folder)))
  expect(await query('select n from steps order by n')).toEqual([{ n: 1 }, { n: 2 }])
})

test('a later release adds what is new', async () => {
  writeMigrations('create table steps (n int)')
  await migrateDatabase(url, folder)
  writeMigrations('create table steps (n int)', 'insert into steps values (2)')
  await migrateDatabase(url, folder)
  await migrateDatabase(url, folder)
  expect(await query('select n from steps')).toEqual([{ n: 2 }])
})

test('a failing migration leaves the database as it was', async () => {
  writeMigrations('create table steps (n int)', 'select * from nowhere')
  await expect(migrateDatabase(url, folder)).rejects.toThrow()
  writeMigrations('create table steps (n int)')
  await migrateDatabase(url, folder)
  expect(await query('select n from steps')).toEqual([])
})

test('the error names the migration and its statement, and shows no row', async () => {
  writeMigrations(
    'create table steps (n int)',
    'alter table steps add column m int;\n-- Why.\nalter table nowhere add m int',
  )
  await expect(migrateDatabase(url, folder)).rejects.toThrow(
    new MigrationError(
      'migration 1_step failed in "alter table steps add column m int; alter table nowhere add m int": relation "nowhere" does not exist (42P01)',
    ),
  )
  writeMigrations('create table steps (n int)', "select 'a secret'::int")
  await expect(migrateDatabase(url, folder)).rejects.toThrow(
    /^migration 1_step failed in .*: the server refused it \(22P02\)$/,
  )
})

test('a role without a right is told which one, and how to grant it', async () => {
  const role = `role_${crypto.randomUUID().slice(0, 8)}`
  const database = new URL(url).pathname.slice(1)
  const as = new URL(url)
  as.username = role
  as.password = 'secret'
  writeMigrations('create table steps (n int)')
  await query(`create role "${role}" login password 'secret'`)
  const fails = async (): Promise<string> =>
    migrateDatabase(as.href, folder).then(
      () => 'nothing',
      (error) => error.message,
    )
  try {
    const refused = 'the migrations could not all be done, and nothing was changed.'
    const no_public = `role ${role} may not create in schema public: GRANT CREATE ON SCHEMA public TO ${role}.`
    expect(await fails()).toBe(
      `${refused} role ${role} may not create in database ${database}: GRANT CREATE ON DATABASE ${database} TO ${role}. ${no_public}`,
    )
    await query(`grant create on database "${database}" to "${role}"`)
    expect(await fails()).toBe(`${refused} ${no_public}`)
    await query(`grant create on schema public to "${role}"`)
    await migrateDatabase(url, folder)
    writeMigrations('create table steps (n int)', 'alter table steps add column m int')
    expect(await fails()).toMatch(/: role \S+ may not create in schema drizzle: GRANT CREATE ON SCHEMA drizzle TO /)
  } finally {
    await query(`drop owned by "${role}"; drop role "${role}"`)
  }
})

test('a server that takes no changes is named as such', async () => {
  writeMigrations('create table steps (n int)')
  await expect(migrateDatabase(withParameters(url, 'default_transaction_read_only=on'), folder)).rejects.toThrow(
    /^the database takes no changes: the server is a standby, or default_transaction_read_only is on\. .*$/,
  )
})

test('a database of a newer release is refused in one line and left alone', async () => {
  writeMigrations('create table steps (n int)', 'insert into steps values (1)')
  await migrateDatabase(url, folder)
  writeMigrations('create table steps (n int)')
  const error = await migrateDatabase(url, folder).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(MigrationError)
  expect((error as MigrationError).message).toMatch(
    /^the database was migrated by a newer release, \d+\.\d+\.\d+ \(commit \w+\) \(1 of its .*: use that release$/,
  )
  expect(await query('select n from steps')).toEqual([{ n: 1 }])
})

/** A folder as drizzle-kit makes it, one migration for each statement. */
function writeMigrations(...statements: string[]) {
  fs.mkdirSync(path.join(folder, 'meta'), { recursive: true })
  const entries = statements.map((statement, idx) => {
    const tag = `${idx}_step`
    fs.writeFileSync(path.join(folder, `${tag}.sql`), statement)
    return { idx, version: '7', when: 1_700_000_000_000 + idx, tag, breakpoints: true }
  })
  const journal = { version: '7', dialect: 'postgresql', entries }
  fs.writeFileSync(path.join(folder, 'meta/_journal.json'), JSON.stringify(journal))
}

async function query(statement: string): Promise<unknown[]> {
  const sql = postgres(url, { max: 1 })
  try {
    return [...(await sql.unsafe(statement))]
  } finally {
    await sql.end()
  }
}
