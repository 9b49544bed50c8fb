/** Access to the embedded PostgreSQL and its files, also after an upgrade from a release that asked for no password. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { giveTo } from '../../../src/base/db/embedded/ownership'
import { grantToService } from '../../../src/base/db/embedded/service-role'
import { startEmbedded } from '../../../src/base/db/embedded/supervise'
import { migrateDatabase } from '../../../src/base/db/migrate'
import type { Sql } from '../../../src/base/db/transact'
import { serviceUser } from '../../../src/base/process/accounts'

const is_root = process.getuid?.() === 0
const NOBODY = 65534
const options = { settings: { fsync: 'off' } }

type Connection = Awaited<ReturnType<typeof startEmbedded>>['connection']

let base: string
let former: string
let dirs = 0

beforeAll(async () => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'access-'))
  // As root the server runs as another user, who has to get in.
  fs.chmodSync(base, 0o711)
  former = freshDir()
  await makeFormerDatabase(former)
})
afterAll(() => {
  fs.rmSync(base, { recursive: true, force: true })
})

test('both roles need their passwords, and that of the service is no superuser', async () => {
  const server = await startEmbedded(copyOf(former), options)
  for (const role of [server.connection, server.service]) {
    expect(await codeOf(role, (sql) => sql`select 1`)).toBe('')
    for (const password of ['', 'wrong', server.connection.password.slice(1)]) {
      expect(await codeOf({ ...role, password }, (sql) => sql`select 1`)).toBe('28P01')
    }
  }
  expect(server.service.password).not.toBe(server.connection.password)
  const rights = await withSql(
    server.service,
    (sql) => sql`select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls from pg_roles
      where rolname = current_user`,
  )
  expect(Object.values(rights[0]!)).toEqual([false, false, false, false, false])
  await server.stop()
})

test('the role of the service reads and writes rows of every table, also of later ones, and does nothing else', async () => {
  const server = await startEmbedded(freshDir(), options)
  await migrateDatabase(server.connection)
  const grant = () =>
    withSql<unknown>(server.service, (sql) => grantToService(sql as unknown as Sql, server.connection))
  await Promise.all([grant(), grant()])
  await withSql(server.connection, (sql) => sql`create table later (n int)`)
  await grant()
  const tables = await withSql(
    server.service,
    (sql) => sql`
    select relname, has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert')
      and has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete')
      and has_table_privilege(oid, 'maintain') as is_usable
    from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  )
  expect(tables.filter((table) => !table.is_usable)).toEqual([])
  expect(tables.map((table) => table.relname)).toEqual(expect.arrayContaining(['organizations', 'outbox', 'later']))
  const refused = [
    'create table mine (n int)',
    'drop table later',
    'truncate later',
    'alter table later add m int',
    "copy later from program 'id'",
    "copy later to '/tmp/never'",
    "select pg_read_file('PG_VERSION')",
    'create role another superuser',
    'set role deskwire',
    'select rolpassword from pg_authid',
  ]
  for (const statement of refused) {
    expect([statement, await codeOf(server.service, (sql) => sql.unsafe(statement))]).toEqual([statement, '42501'])
  }
  await server.stop()
})

test('a database that asked for no password asks for one after its next start, and keeps its rows', async () => {
  const data_dir = copyOf(former)
  const server = await startEmbedded(data_dir, options)
  await asksForPassword(server.connection)
  expect(await withSql(server.connection, (sql) => sql`select n from kept`)).toMatchObject([{ n: 7 }])
  await server.stop()
})

test('a conversion that is killed at any moment is finished by the next start', async () => {
  const data_dir = copyOf(former)
  const script = path.join(import.meta.dir, '../../support/embedded-process.ts')
  for (let round = 0; round < 6; round++) {
    const child = spawn(process.execPath, [script, data_dir, JSON.stringify(options)], { stdio: 'ignore' })
    const ended = new Promise((resolve) => child.on('exit', resolve))
    await Bun.sleep(60 * round + Math.random() * 60)
    child.kill('SIGKILL')
    await ended
  }
  const server = await startEmbedded(data_dir, options)
  await asksForPassword(server.connection)
  expect(await withSql(server.connection, (sql) => sql`select n from kept`)).toMatchObject([{ n: 7 }])
  await server.stop()
})

test('a lost password file is made up for', async () => {
  const data_dir = copyOf(former)
  await (await startEmbedded(data_dir, options)).stop()
  fs.rmSync(path.join(data_dir, 'postgres/password'))
  const server = await startEmbedded(data_dir, options)
  await asksForPassword(server.connection)
  await server.stop()
})

test('no file of the database is for others, and its processes know nothing of our environment', async () => {
  process.env.PLANTED_SECRET = 'planted-in-the-environment'
  const data_dir = freshDir()
  const server = await startEmbedded(data_dir, options)
  delete process.env.PLANTED_SECRET
  const open = [data_dir, ...fs.readdirSync(data_dir, { recursive: true, encoding: 'utf8' })].filter((file) => {
    const { mode } = fs.lstatSync(path.resolve(data_dir, file))
    return (mode & 0o077) !== 0 && path.resolve(data_dir, file) !== data_dir
  })
  expect(open).toEqual([])
  const processes = processesNaming(data_dir)
  if (process.platform === 'linux') expect(processes.length).toBeGreaterThan(0)
  for (const pid of processes) {
    expect(fs.readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('planted')
    const words = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    expect(words).not.toContain(server.connection.password)
  }
  await server.stop()
})

test.skipIf(!is_root)('a database of nobody changes hands, and nobody gets in no more', async () => {
  const data_dir = copyOf(former)
  const home = path.join(data_dir, 'postgres')
  spawnSync('chown', ['-R', `${NOBODY}:${NOBODY}`, home])
  const server = await startEmbedded(data_dir, options)
  const { uid } = serviceUser()
  const entries = fs.readdirSync(home, { recursive: true, encoding: 'utf8' })
  expect(new Set(['', ...entries].map((file) => fs.lstatSync(path.join(home, file)).uid))).toEqual(new Set([uid]))
  for (const pid of processesNaming(data_dir)) expect(fs.statSync(`/proc/${pid}`).uid).toBe(uid)
  const look = spawnSync('/bin/ls', [home], { uid: NOBODY, gid: NOBODY })
  expect(look.status).not.toBe(0)
  expect(await withSql(server.connection, (sql) => sql`select n from kept`)).toMatchObject([{ n: 7 }])
  await server.stop()
})

test.skipIf(!is_root)('a folder that changes hands takes nothing along that a link leads to', () => {
  const folder = freshDir()
  const outside = freshDir()
  fs.mkdirSync(path.join(folder, 'deep'), { recursive: true })
  fs.mkdirSync(outside)
  fs.writeFileSync(path.join(outside, 'file'), '')
  fs.writeFileSync(path.join(folder, 'deep/own'), '')
  fs.symlinkSync(outside, path.join(folder, 'deep/link'))
  fs.symlinkSync(path.join(outside, 'file'), path.join(folder, 'deep/file-link'))
  fs.linkSync(path.join(outside, 'file'), path.join(folder, 'deep/second-name'))
  spawnSync('mkfifo', [path.join(folder, 'deep/pipe')])
  for (const name of ['', 'deep', 'deep/own']) fs.chownSync(path.join(folder, name), NOBODY, NOBODY)

  giveTo({ uid: 4711, gid: 4711 }, folder)
  expect(['', 'deep', 'deep/own'].map((name) => fs.statSync(path.join(folder, name)).uid)).toEqual([4711, 4711, 4711])
  expect([fs.statSync(outside).uid, fs.statSync(path.join(outside, 'file')).uid]).toEqual([0, 0])
})

test.skipIf(!is_root)('a link to the database that root has not made is refused', async () => {
  const data_dir = freshDir()
  fs.mkdirSync(data_dir)
  fs.symlinkSync('/etc', path.join(data_dir, 'postgres'))
  fs.lchownSync(path.join(data_dir, 'postgres'), NOBODY, NOBODY)
  await expect(startEmbedded(data_dir, options)).rejects.toThrow('is a link that root has not made')
})

function freshDir() {
  dirs += 1
  return path.join(base, String(dirs))
}

function copyOf(data_dir: string) {
  const copy = freshDir()
  spawnSync('cp', ['-a', data_dir, copy])
  return copy
}

/** A database with a row, as earlier releases made it: whoever reaches the socket is in. */
async function makeFormerDatabase(data_dir: string) {
  const server = await startEmbedded(data_dir, options)
  await withSql(server.connection, async (sql) => {
    await sql`create table kept (n int)`
    await sql`insert into kept values (7)`
    await sql`drop role deskwire_service`
    await sql`alter role deskwire password null`
  })
  await server.stop()
  fs.writeFileSync(
    path.join(data_dir, 'postgres/data/pg_hba.conf'),
    'local all all trust\nhost all all 127.0.0.1/32 trust\n',
  )
  fs.rmSync(path.join(data_dir, 'postgres/password'))
}

async function asksForPassword(connection: Connection) {
  expect(await codeOf(connection, (sql) => sql`select 1`)).toBe('')
  // The server reads its new rules a moment after it was asked to.
  for (let code = ''; code !== '28P01'; await Bun.sleep(20)) {
    code = await codeOf({ ...connection, password: 'wrong' }, (sql) => sql`select 1`)
  }
}

function processesNaming(data_dir: string): string[] {
  if (process.platform !== 'linux') return []
  return fs.readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${data_dir}/`)
    } catch {
      return false
    }
  })
}

async function withSql<T>(connection: Connection, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres({ ...connection, max: 1, connect_timeout: 5, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 0 })
  }
}

/** The code of the error; the empty text when there is none. */
async function codeOf(connection: Connection, work: (sql: postgres.Sql) => Promise<unknown>): Promise<string> {
  return withSql(connection, work).then(
    () => '',
    (error: { code?: string }) => error.code ?? 'no code',
  )
}
