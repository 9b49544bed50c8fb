/** Backups of an external database with the file store: made, checked, restored, compared. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import S3rver from 's3rver'
import { connection } from '../../../src/base/db/pool'
import { openStore, storage } from '../../../src/desk/attachments/storage'
import { backUp } from '../../../src/operate/backup/back-up'
import { enterNewFolder } from '../../../src/operate/backup/operator-folder'
import { checkBackup, restore } from '../../../src/operate/backup/restore'
import { UNFINISHED_RESTORE } from '../../../src/operate/start/data-dir'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { contentsOf, EmptyDatabases, runCli, runHere } from '../../support/backups'
import type { TestDatabase } from '../../support/database'
import { startPgBouncer, WHY_NO_PGBOUNCER } from '../../support/pgbouncer'
import { createWorld } from '../../support/world'

const SECRET_KEY = 'a secret key that only tests use'
const OTHER_KEY = 'another secret key that only tests use'
const PROGRAM = process.cwd()

let source: TestDatabase
let empty: EmptyDatabases
let base: string
let backup: string
let made: Awaited<ReturnType<typeof runCli>>
let restored: ReturnType<typeof settingsOf>
let restoring: typeof made
let folders = 0

beforeAll(async () => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'backup-'))
  fs.chmodSync(base, 0o711)
  source = await startApi()
  empty = new EmptyDatabases(source.url)
  for (const name of ['Acme', 'Umbrella']) await createWorld(await createOrganization(name))
  // Characters that COPY's text format must escape, and times that are no times.
  await connection().sql`update tickets set subject = E'tab\t back\\slash \\N line\n return\r end'`
  await connection().sql`update outbox set run_at = 'infinity'`
  // The user that a command of root becomes has no way to it.
  backup = path.join(freshFolder(), 'copy')
  fs.mkdirSync(path.dirname(backup), { mode: 0o700 })
  made = await runCli(['backup', backup], settingsOf(source.url))
  restored = { ...settingsOf(await empty.create()), DATA_DIR: freshFolder() }
  // Without a gap in the ticket numbers all rows are as they were.
  restoring = await runCli(['restore', backup, '--numbers-from', '0'], restored)
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
  const { DATABASE_URL, DATA_DIR } = restored
  expect(restoring).toMatchObject({ code: 0, stderr: '' })
  expect(await contentsOf(DATABASE_URL)).toEqual(await contentsOf(source.url))
  expect(filesOf(path.join(DATA_DIR, 'attachments'))).toEqual(filesOf(path.join(process.env.DATA_DIR!, 'attachments')))
  expect(fs.readdirSync(DATA_DIR).sort()).toEqual(['attachments', 'outbox-waits'])
})

test('a restore ends the cursors of the feed in each organization', async () => {
  const sql = postgres(restored.DATABASE_URL, { max: 1 })
  const [feeds] = await sql`
    select count(distinct f.epoch)::int as epochs, (select count(*)::int from organizations) as organizations
    from event_feeds f`
  await sql.end()
  expect(feeds!.epochs).toBe(feeds!.organizations)
})

test('numbers of tickets that were made after the backup are not given to others', async () => {
  const numbersAfter = async (...options: string[]) => {
    const settings = { ...settingsOf(await empty.create()), DATA_DIR: freshFolder() }
    expect(await runCli(['restore', backup, ...options], settings)).toMatchObject({ code: 0, stderr: '' })
    const sql = postgres(settings.DATABASE_URL, { max: 1 })
    const counters = await sql<{ number: number; n: number }[]>`
      select o.name, c.next_number as number from organizations o left join ticket_counters c on c.organization_id = o.id
      order by o.name`
    await sql.end()
    return counters.map(({ number }) => number)
  }
  const before = await connection().sql<{ number: number }[]>`
    select c.next_number as number from organizations o left join ticket_counters c on c.organization_id = o.id
    order by o.name`
  const numbers = before.map(({ number }) => number)
  expect(Math.min(...numbers)).toBeGreaterThan(1)
  expect(await numbersAfter()).toEqual(numbers.map((number) => number + 1000))
  expect(await numbersAfter('--numbers-from', '4711')).toEqual(numbers.map(() => 4712))
  const wrong = await runCli(['restore', backup, '--numbers-from', '1e9'], settingsOf(await empty.create()))
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('--numbers-from must be a number')])
})

test('a restore into a place that is not empty is refused', async () => {
  await expect(runHere(restored, () => restore(backup))).rejects.toThrow('is not empty: it holds attachments')
  const elsewhere = { ...restored, DATA_DIR: freshFolder() }
  await expect(runHere(elsewhere, () => restore(backup))).rejects.toThrow('the database is not empty: name an empty')
})

test('a wrong key restores nothing', async () => {
  const settings = { ...settingsOf(await empty.create()), DATA_DIR: freshFolder(), SECRET_KEY: OTHER_KEY }
  await expect(runHere(settings, () => restore(backup))).rejects.toThrow('SECRET_KEY is not that of the backup')
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
    spoil(folder)
    await expect(checkBackup(folder)).rejects.toThrow(fault)
  })
})

test('a folder with something in it is refused and left alone', async () => {
  const folder = freshFolder()
  fs.mkdirSync(folder)
  fs.writeFileSync(path.join(folder, 'kept'), '')
  await expect(runHere(settingsOf(source.url), () => backUp(folder))).rejects.toThrow('is not empty: name a new folder')
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
  await runHere({ ...settingsOf(await empty.create()), DATA_DIR }, () => restore(backup))
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
  const ended = await runHere(settingsOf(source.url), () => backUp(folder)).catch((error) => error)
  expect([ended.exit_code, ended.message]).toEqual([3, expect.stringContaining('1 were missing and 1 were damaged')])
  expect((await checkBackup(folder)).files).toBe(5)
  ;[gone!, spoiled!].forEach(({ storage_key }, index) => void fs.writeFileSync(file(storage_key), kept[index]!))
})

test('the backup of a newer release is refused in one line', async () => {
  const { sql } = connection()
  await sql`insert into drizzle.__drizzle_migrations values (9999, 'later', 9999999999999)`
  const folder = freshFolder()
  await expect(runHere(settingsOf(source.url), () => backUp(folder))).rejects.toThrow('migrated by another release')
  await sql`delete from drizzle.__drizzle_migrations where hash = 'later'`
  expect(fs.existsSync(folder)).toBe(false)
})

test('objects of a bucket come back in another bucket', async () => {
  const directory = freshFolder()
  const configureBuckets = ['desk', 'other'].map((name) => ({ name, configs: [] }))
  const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets })
  const S3_ENDPOINT = `http://127.0.0.1:${(await server.run()).port}`
  const s3 = { S3_ENDPOINT, S3_REGION: 'us-east-1', S3_ACCESS_KEY_ID: 'S3RVER', S3_SECRET_ACCESS_KEY: 'S3RVER' }
  const inBucket = { ...settingsOf(source.url), ...s3, ATTACHMENT_STORE: 's3://desk' }
  const files = filesOf(path.join(backup, 'files'))
  await runHere(inBucket, async () => {
    for (const [key, bytes] of Object.entries(files)) await openStore().put(key, Buffer.from(bytes, 'hex'))
  })
  const folder = freshFolder()
  expect(await runHere(inBucket, () => backUp(folder))).toMatchObject({ files: 6 })
  const other = { ...settingsOf(await empty.create()), ...s3, ATTACHMENT_STORE: 's3://other/a/prefix' }
  // An object that is there already stays.
  const [kept] = Object.entries(files)
  await runHere(other, () => openStore().put(kept![0], Buffer.from(kept![1], 'hex')))
  await runHere(other, () => restore(folder))
  await runHere(other, async () => {
    for (const [key, bytes] of Object.entries(files)) {
      expect(Buffer.from(await openStore().read(key)).toString('hex')).toBe(bytes)
    }
  })
  const nowhere = { ...inBucket, ATTACHMENT_STORE: 's3://nowhere' }
  await expect(runHere(nowhere, () => backUp(freshFolder()))).rejects.toThrow('the backup ended: S3 says NoSuchBucket')
  await server.close()
})

test.skipIf(Boolean(WHY_NO_PGBOUNCER))(`through a pooler (${WHY_NO_PGBOUNCER ?? 'PgBouncer'})`, async () => {
  const target = await empty.create()
  const pooler = await startPgBouncer(target)
  const pooled = { ...settingsOf(pooler.url), DATA_DIR: freshFolder() }
  await runHere(pooled, () => restore(backup, 0))
  expect(await contentsOf(target)).toEqual(await contentsOf(source.url))
  const folder = freshFolder()
  await runHere(pooled, () => backUp(folder))
  await pooler.stop()
  await checkBackup(folder)
  const direct = { ...pooled, DATABASE_DIRECT_URL: target }
  expect(await runHere(direct, () => backUp(freshFolder()))).toMatchObject({ files: 6 })
})

test('a connection that is lost in the middle of a table ends the backup in one line, and nothing stays', async () => {
  const sql = postgres(restored.DATABASE_URL, { max: 1, onnotice: () => {} })
  await sql`alter table tickets enable row level security, force row level security`
  await sql`create policy lost on tickets using (pg_terminate_backend(pg_backend_pid()))`
  const folder = freshFolder()
  const ended = await runHere(restored, () => backUp(folder)).catch((error) => error)
  expect([ended.exit_code, ended.message]).toEqual([
    1,
    expect.stringMatching(/^the backup ended: the (connection to the database was lost|database says: .*57P01)/),
  ])
  expect(fs.existsSync(folder)).toBe(false)
  await sql`drop policy lost on tickets`
  await sql`alter table tickets disable row level security, no force row level security`
  await sql.end()
})

test.skipIf(process.getuid?.() !== 0)('a full disk ends the backup in one line, and nothing stays', async () => {
  const folder = freshFolder()
  fs.mkdirSync(folder)
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder])
  if (status !== 0) return console.warn('a small disk cannot be mounted here')
  try {
    const backingUp = runHere(settingsOf(source.url), () => backUp(folder))
    await expect(backingUp).rejects.toThrow('the backup ended: the disk is full')
    expect(fs.readdirSync(folder)).toEqual([])
  } finally {
    spawnSync('umount', ['-l', folder])
  }
})

function settingsOf(DATABASE_URL: string) {
  return { DATABASE_URL, SECRET_KEY, DATA_DIR: process.env.DATA_DIR! }
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
