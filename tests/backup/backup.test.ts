/** Backups of an external database with the file store: made, checked, restored, compared. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { storage } from '../../src/attachments/storage'
import { enterNewFolder } from '../../src/backup/operator-folder'
import { checkBackup } from '../../src/backup/restore'
import { createMigrationsTable, migrateDatabase } from '../../src/db/migrate'
import { readMigrations } from '../../src/db/migration-files'
import { connection } from '../../src/db/pool'
import { UNFINISHED_RESTORE } from '../../src/start/data-dir'
import { createOrganization, startApi, stopApi } from '../support/api'
import { contentsOf, EmptyDatabases, runCli } from '../support/backups'
import type { TestDatabase } from '../support/database'
import { createWorld } from '../support/world'

const SECRET_KEY = 'a secret key that only tests use'
const OTHER_KEY = 'another secret key that only tests use'
const PROGRAM = process.cwd()

let source: TestDatabase
let empty: EmptyDatabases
let base: string
let backup: string
let made: Awaited<ReturnType<typeof runCli>>
let folders = 0

beforeAll(async () => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'backup-'))
  fs.chmodSync(base, 0o711)
  source = await startApi()
  empty = new EmptyDatabases(source.url)
  for (const name of ['Acme', 'Umbrella']) await createWorld(await createOrganization(name))
  // What COPY's text format must escape, and times that are no times.
  await connection().sql`update tickets set subject = E'tab\t back\\slash \\N line\n return\r end'`
  await connection().sql`update outbox set run_at = 'infinity'`
  backup = freshFolder()
  made = await runCli(['backup', backup], { ...settingsOf(source.url), DATA_DIR: process.env.DATA_DIR! })
})

afterAll(async () => {
  process.chdir(PROGRAM)
  await stopApi()
  await empty.drop()
  fs.rmSync(base, { recursive: true, force: true })
})

test('a backup says what is in it, and only its owner may read it', () => {
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(made.stdout)).toMatchObject({ folder: backup, files: 6 })
  const all = ['', ...fs.readdirSync(backup, { recursive: true, encoding: 'utf8' })]
  expect(all.filter((file) => fs.statSync(path.join(backup, file)).mode & 0o077)).toEqual([])
  expect(fs.readdirSync(backup).sort()).toEqual(['database', 'files', 'files.jsonl', 'manifest.json', 'secret-key'])
})

test('a restore gives the same rows, schema, sequences and files to a role that is no superuser', async () => {
  const [url, DATA_DIR] = [await empty.create(), freshFolder()]
  const settings = { ...settingsOf(url), DATA_DIR }
  const restored = await runCli(['restore', backup], settings)
  expect(restored).toMatchObject({ code: 0, stderr: '' })
  expect(await contentsOf(url)).toEqual(await contentsOf(source.url))
  expect(filesOf(path.join(DATA_DIR, 'attachments'))).toEqual(filesOf(path.join(process.env.DATA_DIR!, 'attachments')))
  expect(fs.readdirSync(DATA_DIR)).toEqual(['attachments'])

  const again = await runCli(['restore', backup], settings)
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is not empty: it holds attachments') })
  const elsewhere = await runCli(['restore', backup], { ...settings, DATA_DIR: freshFolder() })
  expect(elsewhere).toMatchObject({ code: 1, stderr: 'deskwire: the database is not empty: name an empty one\n' })
})

test('a wrong key restores nothing', async () => {
  const settings = { ...settingsOf(await empty.create()), DATA_DIR: freshFolder(), SECRET_KEY: OTHER_KEY }
  const refused = await runCli(['restore', backup], settings)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('SECRET_KEY is not that of the backup') })
  expect(fs.existsSync(settings.DATA_DIR)).toBe(false)
  expect((await contentsOf(settings.DATABASE_URL)).schema).toEqual([])
})

describe('a backup is not taken for a whole one', () => {
  test.each<[what: string, spoil: (folder: string) => void, fault: RegExp]>([
    ['that was interrupted', (folder) => fs.rmSync(path.join(folder, 'manifest.json')), /holds no whole backup/],
    ['with a changed manifest', (folder) => change(path.join(folder, 'manifest.json')), /manifest.json .* is damaged/],
    ['with a cut table', (folder) => cut(path.join(folder, 'database/tickets.copy.zst')), /tickets.* bytes instead of/],
    ['with a changed table', (folder) => change(path.join(folder, 'database/users.copy.zst')), /checksum of .*users/],
    ['with a changed key', (folder) => change(path.join(folder, 'secret-key')), /checksum of secret-key/],
    ['with a changed list', (folder) => change(path.join(folder, 'files.jsonl')), /checksum of files.jsonl/],
    ['without a file', (folder) => fs.rmSync(oneFile(folder)), /files\/.* is missing/],
    ['with a cut file', (folder) => cut(oneFile(folder)), /files\/.* bytes instead of/],
    ['with a changed file', (folder) => change(oneFile(folder)), /checksum of files/],
  ])('%s', async (_, spoil, fault) => {
    const folder = freshFolder()
    fs.cpSync(backup, folder, { recursive: true })
    expect((await checkBackup(folder)).files).toBe(6)
    spoil(folder)
    await expect(checkBackup(folder)).rejects.toThrow(fault)
  })
})

test('a folder with something in it is refused and left alone', async () => {
  const folder = freshFolder()
  fs.mkdirSync(folder)
  fs.writeFileSync(path.join(folder, 'kept'), '')
  const settings = { ...settingsOf(source.url), DATA_DIR: process.env.DATA_DIR! }
  expect(await runCli(['backup', folder], settings)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('empty'),
  })
  expect(fs.readdirSync(folder)).toEqual(['kept'])
})

test('what is discarded twice takes nothing from the folder above', () => {
  const above = freshFolder()
  fs.mkdirSync(above)
  fs.writeFileSync(path.join(above, 'kept'), '')
  const target = enterNewFolder(path.join(above, 'new'), 'the backup')
  fs.writeFileSync('written', '')
  target.discard()
  target.discard()
  target.keep()
  process.chdir(PROGRAM)
  expect(fs.readdirSync(above)).toEqual(['kept'])
})

const is_root = process.getuid?.() === 0
test.skipIf(!is_root)('a link in what a killed restore left is removed, and not what it leads to', async () => {
  const [foreign, DATA_DIR] = [freshFolder(), freshFolder()]
  for (const folder of [foreign, DATA_DIR]) fs.mkdirSync(folder)
  fs.writeFileSync(path.join(foreign, 'kept'), '')
  fs.writeFileSync(path.join(DATA_DIR, UNFINISHED_RESTORE), '')
  const link = path.join(DATA_DIR, 'attachments')
  fs.symlinkSync(foreign, link)
  fs.lchownSync(link, 12_345, 12_345)
  const restored = await runCli(['restore', backup], { ...settingsOf(await empty.create()), DATA_DIR })
  expect(restored).toMatchObject({ code: 0, stderr: '' })
  expect(fs.readdirSync(foreign)).toEqual(['kept'])
  expect(fs.lstatSync(link).isDirectory()).toBe(true)
})

test('a missing and a damaged file are in no backup unseen', async () => {
  const [gone, spoiled] = await connection().sql<{ storage_key: string }[]>`
    select storage_key from attachments order by id limit 2`
  const file = (key: string) => path.join(process.env.DATA_DIR!, 'attachments', key)
  const kept = [gone!, spoiled!].map(({ storage_key }) => fs.readFileSync(file(storage_key)))
  await storage().remove(gone!.storage_key)
  change(file(spoiled!.storage_key))
  const folder = freshFolder()
  const { code, stderr } = await runCli(['backup', folder], {
    ...settingsOf(source.url),
    DATA_DIR: process.env.DATA_DIR!,
  })
  expect([code, stderr]).toEqual([3, expect.stringContaining('1 were missing and 1 were damaged')])
  expect((await checkBackup(folder)).files).toBe(5)
  ;[gone!, spoiled!].forEach(({ storage_key }, index) => void fs.writeFileSync(file(storage_key), kept[index]!))
})

test('the backup of an older release is restored, and gets the schema and the figures of this one', async () => {
  const [old, url] = [await empty.create(), await empty.create()]
  await makeOld(old)
  const [folder, DATA_DIR] = [freshFolder(), freshFolder()]
  expect(await runCli(['backup', folder], { ...settingsOf(old), DATA_DIR })).toMatchObject({ code: 0, stderr: '' })
  const restored = await runCli(['restore', folder], { ...settingsOf(url), DATA_DIR })
  expect(restored).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(restored.stdout).migration).toBe('0016_timers')
  await migrateDatabase(old)
  // Their migrations did not run at the same moment.
  expect(await contentsOf(url)).toEqual({ ...(await contentsOf(old)), fills: expect.objectContaining({ n: 1 }) })
})

test('the backup of a newer release is refused in one line', async () => {
  const newer = await empty.create()
  await migrateDatabase(newer)
  const sql = postgres(newer, { max: 1 })
  await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('later', 9999999999999)`
  await sql.end()
  const folder = freshFolder()
  const refused = await runCli(['backup', folder], { ...settingsOf(newer), DATA_DIR: freshFolder() })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('migrated by another release') })
  // A folder of root cannot be removed by the user that root became.
  expect(fs.existsSync(folder) ? fs.readdirSync(folder) : []).toEqual([])
})

function settingsOf(DATABASE_URL: string) {
  return { DATABASE_URL, SECRET_KEY }
}

function freshFolder(): string {
  folders += 1
  return path.join(base, String(folders))
}

function filesOf(folder: string): Record<string, string> {
  const files = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  return Object.fromEntries(
    files
      .filter((file) => fs.statSync(path.join(folder, file)).isFile())
      .map((file) => [file, fs.readFileSync(path.join(folder, file), 'hex')]),
  )
}

function oneFile(folder: string): string {
  const files = path.join(folder, 'files/attachments')
  return path.join(files, fs.readdirSync(files)[0]!)
}

/** Changes the bits of one byte in the middle. */
function change(file: string): void {
  const bytes = fs.readFileSync(file)
  bytes[bytes.length >> 1]! ^= 1
  fs.writeFileSync(file, bytes)
}

function cut(file: string): void {
  fs.truncateSync(file, fs.statSync(file).size - 1)
}

/** A database as release 0016 left it, with rows that later migrations count and fill. */
async function makeOld(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const [organization, user, ticket] = [1, 2, 3].map((n) => `01a1fc97-2943-7736-a4b5-d2e8563c833${n}`)
  const migrations = await readMigrations()
  const count = migrations.findIndex(({ name }) => name === '0016_timers') + 1
  await sql.begin(async (sql) => {
    await createMigrationsTable(sql)
    for (const { statements, when } of migrations.slice(0, count)) {
      for (const statement of statements) await sql.unsafe(statement)
      await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('', ${when})`
    }
    await sql`insert into organizations (id, name) values (${organization!}, 'Old')`
    await sql`
      insert into users (id, email, email_key, name, password_hash)
      values (${user!}, 'old@example.com', 'old@example.com', 'Old', '')`
    await sql`insert into memberships (organization_id, user_id) values (${organization!}, ${user!})`
    await sql`
      insert into tickets (organization_id, id, number, code, subject)
      values (${organization!}, ${ticket!}, 1, 'TKT-1', 'An old ticket')`
    await sql`
      insert into time_entries (organization_id, id, ticket_id, user_id, duration_minutes, rate, currency, date)
      values (${organization!}, ${ticket!}, ${ticket!}, ${user!}, 30, 90, 'USD', '2026-01-02')`
  })
  await sql.end()
}
