/** The embedded PostgreSQL: one server for each DATA_DIR, whose life is tied to the process that starts it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import postgres from 'postgres'
import { log } from '../log'
import { EmbeddedError, type Home, isErrno, makePrivate, prepareHome } from './embedded-home'
import { lockFile, lockHolder } from './file-lock'

export { EmbeddedError }

export type EmbeddedOptions = {
  /** Parameters of postgresql.conf beside or instead of our own. */
  settings?: Record<string, string>
  /** Join a server that another process runs on this DATA_DIR instead of refusing; for short commands. */
  shared?: boolean
}

export type EmbeddedPostgres = {
  /** What postgres.js needs to connect. */
  connection: { path: string; database: string; username: string }
  /** Another process runs the server: it stays when we stop. */
  adopted: boolean
  stop(): Promise<void>
}

const NAME = 'deskwire'
const MAJOR = '18'

/** A killed predecessor needs a moment until it is gone; a living one stays. */
const OWNER_WAIT_MS = 5_000
/** Longest wait for a server to start (recovery after a crash included) or to end. */
const SERVER_WAIT_MS = 60_000
const MAX_LOG_BYTES = 10_000_000

/** For small machines: little idle memory, few processes, nothing that needs a large /dev/shm. */
const SETTINGS = {
  listen_addresses: '',
  port: '5432',
  unix_socket_permissions: '0700',
  max_connections: '100',
  shared_buffers: '128MB',
  max_parallel_workers_per_gather: '0',
  io_method: 'sync',
  jit: 'off',
  random_page_cost: '1.1',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Failed statements are the service's to log: here they would show the data in them.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
}

/**
 * Starts PostgreSQL on `<data_dir>/postgres`, reachable through a Unix socket only, and makes the database on the
 * first start. The server ends with this process, also when this process is killed; when the server itself is killed
 * it is started again.
 * @throws EmbeddedError with one line for the operator
 */
export async function startEmbedded(data_dir: string, options: EmbeddedOptions = {}): Promise<EmbeddedPostgres> {
  const settings: Record<string, string> = { ...SETTINGS, ...options.settings }
  try {
    const home = await prepareHome(path.resolve(data_dir), Number(settings.port))
    settings.unix_socket_directories = home.socket_dir
    const connection = { path: `${home.socket_dir}/.s.PGSQL.${settings.port}`, database: NAME, username: NAME }
    const owner_lock = await becomeOwner(home, options.shared ? connection : undefined)
    if (owner_lock === undefined) return { connection, adopted: true, stop: async () => {} }
    try {
      return { connection, adopted: false, stop: await superviseServer(home, settings, connection, owner_lock) }
    } catch (error) {
      fs.closeSync(owner_lock)
      throw error
    }
  } catch (error) {
    throw asEmbeddedError(error)
  }
}

/**
 * Takes the lock that the one process running the server holds.
 * @returns `undefined` when another process runs it and answers at `join`
 */
async function becomeOwner(home: Home, join: Connection | undefined): Promise<number | undefined> {
  const file = path.join(home.dir, 'service.lock')
  const end = Date.now() + (join ? SERVER_WAIT_MS : OWNER_WAIT_MS)
  do {
    const lock = lockFile(file)
    if (lock !== undefined) return lock
    if (join && (await answers(join))) return undefined
    await Bun.sleep(20)
  } while (Date.now() < end)
  throw new EmbeddedError(`the database in ${home.dir} is in use by another process (${lockHolder(file)})`)
}

/** Keeps the server running until the function it returns is called. */
async function superviseServer(home: Home, settings: Settings, connection: Connection, owner_lock: number) {
  let stopping = false
  let server = await startServer(home, settings, connection)

  const restartWhenEnded = async () => {
    while (!stopping) {
      const status = await server.ended
      if (stopping) return
      log.error({ status }, 'PostgreSQL ended unexpectedly and is started again')
      server = await startServer(home, settings, connection).catch(async (error: unknown) => {
        log.error(asEmbeddedError(error).message)
        await Bun.sleep(1_000)
        return server
      })
    }
  }
  restartWhenEnded()

  return async () => {
    if (stopping) return
    stopping = true
    server.process.ref()
    server.process.stdin?.end()
    await server.ended
    fs.closeSync(owner_lock)
  }
}

type Settings = Record<string, string>
type Connection = EmbeddedPostgres['connection']
type Server = { process: ChildProcess; ended: Promise<number | null> }

async function startServer(home: Home, settings: Settings, connection: Connection): Promise<Server> {
  const server_lock = await waitForFormerServer(home)
  try {
    for (const stale of [`${home.data}/postmaster.pid`, connection.path, `${connection.path}.lock`]) {
      fs.rmSync(stale, { force: true })
    }
    createOrCheckData(home, settings)
    const server = spawnServer(home, settings, server_lock)
    await untilReady(home, server, connection)
    return server
  } finally {
    fs.closeSync(server_lock)
  }
}

/**
 * Takes the lock that a server's processes share. Once we have it none of them is left, in no container either, so
 * whatever files they left behind are stale.
 */
async function waitForFormerServer(home: Home): Promise<number> {
  const file = path.join(home.dir, 'server.lock')
  const end = Date.now() + SERVER_WAIT_MS
  let lock = lockFile(file)
  if (lock === undefined) signalServer(home, 'SIGINT')
  while (lock === undefined && Date.now() < end) {
    await Bun.sleep(20)
    lock = lockFile(file)
  }
  if (lock === undefined) throw new EmbeddedError(`a PostgreSQL that does not end still uses ${home.data}`)
  return lock
}

/** Asks an orphaned server to end, if the process that its pid file names is one: process ids are used again. */
function signalServer(home: Home, signal: NodeJS.Signals) {
  try {
    const pid = Number(fs.readFileSync(path.join(home.data, 'postmaster.pid'), 'utf8').split('\n')[0])
    const command =
      process.platform === 'linux'
        ? fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        : spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout
    if (command.includes(` -D ${home.data} `)) process.kill(pid, signal)
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM')) throw error
  }
}

function createOrCheckData(home: Home, settings: Settings) {
  const version_file = path.join(home.data, 'PG_VERSION')
  if (fs.existsSync(version_file)) {
    const version = fs.readFileSync(version_file, 'utf8').trim()
    if (version === MAJOR) return
    throw new EmbeddedError(
      `${home.data} was made by PostgreSQL ${version} and this is ${MAJOR}: move the data with pg_dump, or set DATABASE_URL`,
    )
  }
  if (fs.existsSync(home.data) && fs.readdirSync(home.data).length > 0) {
    throw new EmbeddedError(`${home.data} is neither empty nor a PostgreSQL data directory`)
  }
  // Only a finished data directory gets the name, so that an interrupted first start leaves none that looks like one.
  const unfinished = `${home.data}.new`
  fs.rmSync(unfinished, { recursive: true, force: true })
  makePrivate(unfinished, home.user)
  const args = ['-D', unfinished, '-U', NAME, '-A', 'trust', '-E', 'UTF8', '--no-instructions']
  args.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8')
  if (settings.fsync === 'off') args.push('--no-sync')
  const result = spawnSync(`${home.bin}/initdb`, args, { ...home.user, cwd: home.dir, encoding: 'utf8' })
  if (result.status !== 0) throw new EmbeddedError(`the database cannot be created: ${lastError(result.stderr)}`)
  fs.rmSync(home.data, { recursive: true, force: true })
  fs.renameSync(unfinished, home.data)
}

/**
 * Runs "$@" with the server's lock on descriptor 3, and shuts it down fast when our end of the pipe on descriptor 0
 * closes, which the kernel does for us however we end. The watcher goes with the server, so it can't hit a later
 * process with the same id.
 */
const TIED_TO_US = `
exec 4<&0
"$@" </dev/null 4<&- & server=$!
(read -r _ <&4; kill -INT $server) 3<&- & watcher=$!
exec 3<&- 4<&-
trap 'kill -INT $server' INT TERM
wait $server; status=$?
while kill -0 $server 2>/dev/null; do wait $server; status=$?; done
kill $watcher 2>/dev/null
exit $status`

function spawnServer(home: Home, settings: Settings, server_lock: number): Server {
  const log_file = openLog(home)
  const parameters = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = [`${home.bin}/postgres`, '-D', home.data, ...parameters]
  const child = spawn('/bin/sh', ['-c', TIED_TO_US, 'sh', ...command], {
    ...home.user,
    cwd: home.data,
    // A group of its own: Ctrl-C in the terminal is for us, we need the server until we are done.
    detached: true,
    stdio: ['pipe', log_file, log_file, server_lock],
  })
  fs.closeSync(log_file)
  child.unref()
  const ended = new Promise<number | null>((resolve) => {
    child.on('exit', resolve)
    child.on('error', () => resolve(null))
  })
  return { process: child, ended }
}

function openLog(home: Home): number {
  const file = logFile(home)
  if (fs.existsSync(file) && fs.statSync(file).size > MAX_LOG_BYTES) fs.renameSync(file, `${file}.1`)
  return fs.openSync(file, 'a', 0o600)
}

function logFile(home: Home) {
  return path.join(home.dir, 'postgres.log')
}

async function untilReady(home: Home, server: Server, connection: Connection) {
  let ended = false
  server.ended.then(() => {
    ended = true
  })
  const end = Date.now() + SERVER_WAIT_MS
  while (!(fs.existsSync(connection.path) && (await answers(connection)))) {
    if (ended)
      throw new EmbeddedError(`PostgreSQL does not start: ${lastError(fs.readFileSync(logFile(home), 'utf8'))}`)
    if (Date.now() > end) {
      server.process.stdin?.end()
      throw new EmbeddedError(`PostgreSQL does not answer, see ${logFile(home)}`)
    }
    await Bun.sleep(10)
  }
}

/** Whether the server takes connections to our database, which is made when it is missing. */
async function answers(connection: Connection): Promise<boolean> {
  const sql = postgres({ ...connection, database: 'postgres', max: 1, fetch_types: false, connect_timeout: 5 })
  try {
    const [found] = await sql`select 1 from pg_database where datname = ${connection.database}`
    if (!found) await sql`create database ${sql(connection.database)}`
    return true
  } catch {
    return false
  } finally {
    await sql.end({ timeout: 0 })
  }
}

/** The line that says why: the last one that PostgreSQL marks as an error, else the last one. */
function lastError(output: string): string {
  const lines = output.trim().split('\n')
  const line = lines.findLast((candidate) => /(FATAL|PANIC|error):/.test(candidate)) ?? lines.at(-1) ?? ''
  return line.replace(/^.*?(FATAL|PANIC|error):\s*/, '')
}

function asEmbeddedError(error: unknown): EmbeddedError {
  if (error instanceof EmbeddedError) return error
  const reason = error instanceof Error ? error.message.split('\n')[0] : String(error)
  return new EmbeddedError(`the embedded database cannot start: ${reason}`)
}
