/** The embedded PostgreSQL: no end of a process, and nothing that it left behind, harms the server or its data. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import postgres from 'postgres'
import { errorsIn } from '../../../src/base/db/embedded/data-directory'
import { EmbeddedError } from '../../../src/base/db/embedded/faults'
import { lockHolder } from '../../../src/base/db/embedded/file-lock'
import { prepareHome } from '../../../src/base/db/embedded/home'
import { nativeFolder, preparePrograms } from '../../../src/base/db/embedded/programs'
import { startEmbedded } from '../../../src/base/db/embedded/supervise'

const is_root = process.getuid?.() === 0
const on_linux = process.platform === 'linux'

/** Quick to make; a killed process loses nothing that the kernel has. */
const options = { settings: { fsync: 'off' } }

let base: string
let prototype: string
let dirs = 0
const children: ChildProcess[] = []

beforeAll(async () => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'embedded-'))
  // As root the server runs as another user, who has to get in.
  fs.chmodSync(base, 0o711)
  prototype = freshDir()
  await (await startEmbedded(prototype, options)).stop()
})

afterAll(async () => {
  for (const child of children) if (child.exitCode === null && child.signalCode === null) await kill(child, 'SIGTERM')
  fs.rmSync(base, { recursive: true, force: true })
})

test('why the server ended is not what it answered to those who asked before', () => {
  const output = [
    '2026-01-01 [12] FATAL:  the database system is not accepting connections',
    '2026-01-01 [10] FATAL:  recovery ended before configured recovery target was reached',
    '2026-01-01 [13] FATAL:  the database system is not accepting connections',
    '2026-01-01 [13] DETAIL:  Hot standby mode is disabled.',
  ]
  expect(errorsIn(output.join('\n'))).toEqual(['recovery ended before configured recovery target was reached'])
})

test('a restart keeps the data, which is reachable through a private socket only, whatever its path is called', async () => {
  const data_dir = `${freshDir()} , "x"`
  const first = await startEmbedded(data_dir, options)
  await withSql(first.connection, async (sql) => {
    await sql`create table kept (n int)`
    await sql`insert into kept values (7)`
    const [listen] = await sql`show listen_addresses`
    expect(listen?.listen_addresses).toBe('')
  })
  expect(fs.statSync(path.dirname(first.connection.path)).mode & 0o777).toBe(0o700)
  await first.stop()
  expect(fs.existsSync(first.connection.path)).toBe(false)

  const second = await startEmbedded(data_dir, options)
  expect(await withSql(second.connection, (sql) => sql`select n from kept`)).toMatchObject([{ n: 7 }])
  await second.stop()
})

test('a commit is on the disk before it is acknowledged', async () => {
  const server = await startEmbedded(usedDir())
  await withSql(server.connection, async (sql) => {
    const settings = await sql`
      select name, setting from pg_settings
      where name in ('fsync', 'full_page_writes', 'synchronous_commit') order by name`
    expect(settings.map((row) => row.setting)).toEqual(['on', 'on', 'on'])
  })
  await server.stop()
})

test('when the service is killed its server ends, and the next start has every commit', async () => {
  const data_dir = usedDir()
  const service = await startService(data_dir)
  const committed = await writeUntil(service.connection, 20)
  const server = postmaster(service.connection)
  await kill(service.process, 'SIGKILL')
  await until(() => !isAlive(server))

  const next = await startEmbedded(data_dir, options)
  expect(await countRows(next.connection)).toBeGreaterThanOrEqual(committed)
  await next.stop()
})

test('when the server is killed the service starts it again', async () => {
  const data_dir = usedDir()
  const service = await startService(data_dir)
  const committed = await writeUntil(service.connection, 20)
  const killed = postmaster(service.connection)
  process.kill(killed, 'SIGKILL')
  await until(() =>
    countRows(service.connection)
      .catch(() => -1)
      .then((rows) => rows >= committed),
  )
  expect(postmaster(service.connection)).not.toBe(killed)
  expect(await kill(service.process, 'SIGTERM')).toBe(0)
})

test('when both are killed the next start takes over what they left', async () => {
  const data_dir = usedDir()
  const service = await startService(data_dir)
  const committed = await writeUntil(service.connection, 20)
  const server = postmaster(service.connection)
  process.kill(server, 'SIGKILL')
  await kill(service.process, 'SIGKILL')
  expect(fs.existsSync(service.connection.path)).toBe(true)

  const next = await startEmbedded(data_dir, options)
  expect(await countRows(next.connection)).toBeGreaterThanOrEqual(committed)
  await next.stop()
})

test.skipIf(!on_linux)('a service whose watcher was killed ends its server', async () => {
  const service = await startService(usedDir())
  const server = postmaster(service.connection)
  process.kill(watcherOf(server), 'SIGKILL')
  expect(await kill(service.process, 'SIGTERM')).toBe(0)
  expect(isAlive(server)).toBe(false)
})

test.skipIf(!on_linux)('a server that nothing watches any more is ended by the next start', async () => {
  const data_dir = usedDir()
  const service = await startService(data_dir)
  const orphan = postmaster(service.connection)
  const shells = [watcherOf(orphan), parentOf(orphan)]
  for (const pid of shells) process.kill(pid, 'SIGSTOP')
  await kill(service.process, 'SIGKILL')
  for (const pid of shells) process.kill(pid, 'SIGKILL')
  expect(isAlive(orphan)).toBe(true)

  const next = await startEmbedded(data_dir, options)
  expect(isAlive(orphan)).toBe(false)
  await next.stop()
})

test('a stale pid file that names a stranger hurts neither the stranger nor the start', async () => {
  const data_dir = usedDir()
  const socket = path.join(data_dir, 'postgres/.s.PGSQL.5432')
  const stranger = spawn('sleep', ['60'])
  children.push(stranger)
  fs.writeFileSync(path.join(data_dir, 'postgres/data/postmaster.pid'), `${stranger.pid}\n${data_dir}/postgres/data\n`)
  fs.writeFileSync(`${socket}.lock`, `${stranger.pid}\n`)
  fs.writeFileSync(socket, '')

  const next = await startEmbedded(data_dir, options)
  expect(isAlive(stranger.pid!)).toBe(true)
  await next.stop()
})

test('a second service on the same folder is refused, a command may join', async () => {
  const data_dir = usedDir()
  const service = await startService(data_dir)
  const second = await startProcess(data_dir)
  expect<object>(second.answer).toEqual({
    error: 'EmbeddedError',
    message: `the database in ${data_dir}/postgres is in use by another process (${service.process.pid})`,
  })

  const command = await startEmbedded(data_dir, { ...options, other_service: 'join' })
  expect(command.connection).toMatchObject(service.connection)
  const server = postmaster(service.connection)
  await command.stop()
  expect(postmaster(service.connection)).toBe(server)
  expect(await writeUntil(service.connection, 1)).toBe(1)
  expect(await kill(service.process, 'SIGTERM')).toBe(0)
})

test('services that start at the same time make one database', async () => {
  const data_dir = freshDir()
  const services = await Promise.all([1, 2, 3].map(() => startProcess(data_dir, { ...options, other_service: 'join' })))
  expect(new Set(services.map(({ answer }) => answer.connection.path)).size).toBe(1)
  const owner = lockHolder(path.join(data_dir, 'postgres/service.lock'))
  const [first, ...joined] = services.sort((a) => (a.process.pid === owner ? -1 : 1))
  expect(first!.process.pid).toBe(owner)
  for (const { process } of joined) await kill(process, 'SIGTERM')
  expect(await writeUntil(first!.answer.connection, 1)).toBe(1)
})

test("another major version's data is refused and left alone", async () => {
  const data_dir = usedDir()
  const data = path.join(data_dir, 'postgres/data')
  fs.writeFileSync(path.join(data, 'PG_VERSION'), '17\n')
  const before = fs.readdirSync(data)

  await expectRefusal(data_dir, /was made by PostgreSQL 17 and this is 18/)
  expect(fs.readdirSync(data)).toEqual(before)
})

test('a folder that holds something else is refused and left alone', async () => {
  const data_dir = usedDir()
  fs.rmSync(path.join(data_dir, 'postgres/data/PG_VERSION'))
  await expectRefusal(data_dir, /neither empty nor a PostgreSQL data directory/)
  expect(fs.existsSync(path.join(data_dir, 'postgres/data/base'))).toBe(true)
})

test('an interrupted first start is made up for', async () => {
  const data_dir = freshDir()
  const home = path.join(data_dir, 'postgres')
  fs.mkdirSync(path.join(home, 'data.new/base'), { recursive: true })
  if (is_root) fs.chmodSync(data_dir, 0o711)
  const server = await startEmbedded(data_dir, options)
  expect(fs.existsSync(path.join(home, 'data.new'))).toBe(false)
  await server.stop()
})

test('a folder whose path is too long for a socket works', async () => {
  const data_dir = path.join(freshDir(), 'a-long-name/'.repeat(10))
  const server = await startEmbedded(data_dir, options)
  expect(fs.statSync(path.dirname(server.connection.path)).mode & 0o777).toBe(0o700)
  expect(await writeUntil(server.connection, 1)).toBe(1)
  await server.stop()
  fs.rmSync(path.dirname(server.connection.path), { recursive: true })
})

test('a setting that PostgreSQL refuses is told in one line', async () => {
  const data_dir = usedDir()
  await expectRefusal(data_dir, /^PostgreSQL does not start: .*"shared_buffers"/, { settings: { shared_buffers: 'x' } })
})

test('a folder that cannot be made is told in one line', async () => {
  const file = freshDir()
  fs.writeFileSync(file, '')
  await expectRefusal(path.join(file, 'data'), /^the embedded database cannot start: ENOTDIR/)
})

test.skipIf(!is_root)('as root the data belongs to an unprivileged user, also after root has restored it', async () => {
  const data_dir = usedDir()
  const data = path.join(data_dir, 'postgres/data')
  const owner = fs.statSync(data).uid
  expect(owner).not.toBe(0)

  for (const entry of ['', ...fs.readdirSync(data_dir, { recursive: true, encoding: 'utf8' })]) {
    fs.chownSync(path.join(data_dir, entry), 0, 0)
  }
  fs.chmodSync(data, 0o755)
  await (await startEmbedded(data_dir, options)).stop()
  expect(fs.statSync(data).uid).toBe(owner)
})

test.skipIf(!is_root)('as root a folder under a closed one works, and a link says where the data is', async () => {
  const closed = freshDir()
  fs.mkdirSync(closed, { mode: 0o700 })
  const data_dir = path.join(closed, 'data')
  await (await startEmbedded(data_dir, options)).stop()
  const elsewhere = fs.readlinkSync(path.join(data_dir, 'postgres'))
  expect(fs.statSync(closed).mode & 0o777).toBe(0o700)

  await (await startEmbedded(data_dir, options)).stop()
  expect(fs.readlinkSync(path.join(data_dir, 'postgres'))).toBe(elsewhere)

  fs.rmSync(elsewhere, { recursive: true })
  await expectRefusal(data_dir, /is missing: .* points to/)
})

test.skipIf(!is_root)('as root programs that the server cannot reach are copied to where it can', async () => {
  const closed = freshDir()
  fs.mkdirSync(closed, { mode: 0o700 })
  const native = await nativeFolder()
  spawnSync('cp', ['-a', path.dirname(native), path.join(closed, 'package')])
  const home = prepareHome(freshDir(), 5432)

  const programs = preparePrograms(home, path.join(closed, 'package/native'))
  expect(programs.startsWith(home.dir)).toBe(true)
  fs.rmSync(closed, { recursive: true })
  const version = spawnSync(path.join(programs, 'postgres'), ['-V'], { ...home.user, cwd: '/', encoding: 'utf8' })
  expect(version.stdout).toContain('PostgreSQL')
})

test.skipIf(!is_root)('as root a folder that only root may enter is opened to the server alone', async () => {
  const data_dir = freshDir()
  fs.mkdirSync(data_dir, { mode: 0o700 })
  await (await startEmbedded(data_dir, options)).stop()
  expect(fs.lstatSync(path.join(data_dir, 'postgres')).isDirectory()).toBe(true)
  expect(fs.statSync(data_dir).mode & 0o777).toBe(0o710)
})

type Connection = { path: string; database: string; username: string }
type Answer = { connection: Connection; error?: string; message?: string }

function freshDir() {
  dirs += 1
  return path.join(base, String(dirs))
}

/** A folder that was used before: copied, which is quicker than made. */
function usedDir() {
  const data_dir = freshDir()
  spawnSync('cp', ['-a', prototype, data_dir])
  return data_dir
}

async function startService(data_dir: string) {
  const { process, answer } = await startProcess(data_dir)
  return { process, connection: answer.connection }
}

async function startProcess(data_dir: string, with_options: object = options) {
  const script = path.join(import.meta.dir, '../../support/embedded-process.ts')
  const child = spawn(process.execPath, [script, data_dir, JSON.stringify(with_options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  for await (const line of createInterface({ input: child.stdout })) {
    return { process: child, answer: JSON.parse(line) as Answer }
  }
  throw new Error('the process said nothing')
}

function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  child.kill(signal)
  return ended
}

async function withSql<T>(connection: Connection, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres({ ...connection, max: 1, connect_timeout: 2, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 0 })
  }
}

/** Commits rows one by one and returns how many were acknowledged. */
function writeUntil(connection: Connection, rows: number): Promise<number> {
  return withSql(connection, async (sql) => {
    await sql`create table if not exists written (n int)`
    for (let n = 0; n < rows; n++) await sql`insert into written values (${n})`
    return rows
  })
}

function countRows(connection: Connection): Promise<number> {
  return withSql(connection, async (sql) => (await sql`select count(*)::int as rows from written`)[0]?.rows)
}

async function expectRefusal(data_dir: string, message: RegExp, with_options: object = options) {
  const error = await startEmbedded(data_dir, with_options).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(EmbeddedError)
  expect((error as EmbeddedError).message).toMatch(message)
  expect((error as EmbeddedError).message).not.toContain('\n')
}

function postmaster(connection: Connection): number {
  return Number(fs.readFileSync(`${connection.path}.lock`, 'utf8').split('\n')[0])
}

/** The shell that ends the server with its service. */
function watcherOf(server: number): number {
  const watchers = processes().filter((pid) => parentOf(pid) === parentOf(server) && pid !== server)
  expect(watchers).toHaveLength(1)
  return watchers[0]!
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !(on_linux && /^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8')))
  } catch {
    return false
  }
}

function processes(): number[] {
  return fs.readdirSync('/proc').map(Number).filter(Boolean)
}

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return 0
  }
}

/** Waits for a condition; the test's own timeout ends it. */
async function until(condition: () => boolean | Promise<boolean>) {
  while (!(await condition())) await Bun.sleep(20)
}
