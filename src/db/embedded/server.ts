/** One run of PostgreSQL's server on a data directory. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import postgres from 'postgres'
import { lockFile } from './file-lock'
import { EmbeddedError, type Home, isErrno, makePrivate } from './home'

/** Parameters of postgresql.conf. */
export type Settings = Record<string, string>

/** What postgres.js needs to connect. */
export type Connection = { path: string; database: string; username: string }

export type Server = {
  process: ChildProcess
  /** The exit status, once it has ended. */
  ended: Promise<number | null>
  /** Where its part of the log begins, in bytes. */
  log_start: number
}

/** The superuser of the database, and the only one. */
export const OWNER = 'deskwire'

/** Longest wait for a server to start (recovery after a crash included) or to end. */
export const SERVER_WAIT_MS = 60_000

const MAJOR = '18'
const MAX_LOG_BYTES = 10_000_000

/**
 * Starts a server, making its data directory first when there is none, and waits until it answers.
 * @param programs the folder of `postgres` and `initdb`
 * @throws EmbeddedError with one line for the operator
 */
export async function startServer(
  home: Home,
  programs: string,
  settings: Settings,
  connection: Connection,
): Promise<Server> {
  const server_lock = await waitForFormerServer(home)
  try {
    for (const stale of [`${home.data}/postmaster.pid`, connection.path, `${connection.path}.lock`]) {
      fs.rmSync(stale, { force: true })
    }
    createOrCheckData(home, programs, settings)
    fs.chmodSync(home.data, 0o700)
    const server = spawnServer(home, programs, settings, server_lock)
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

function createOrCheckData(home: Home, programs: string, settings: Settings) {
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
  const args = ['-D', unfinished, '-U', OWNER, '-A', 'trust', '-E', 'UTF8', '--no-instructions']
  args.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8')
  if (settings.fsync === 'off') args.push('--no-sync')
  const result = spawnSync(`${programs}/initdb`, args, { ...home.user, cwd: home.dir, encoding: 'utf8' })
  if (result.status !== 0) {
    fs.rmSync(unfinished, { recursive: true, force: true })
    // What fails first is the reason, the rest follows from it.
    throw new EmbeddedError(`the database cannot be created: ${errorsIn(result.stderr).at(0)}`)
  }
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

function spawnServer(home: Home, programs: string, settings: Settings, server_lock: number): Server {
  const log_file = openLog(home)
  const log_start = fs.fstatSync(log_file).size
  const parameters = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = [`${programs}/postgres`, '-D', home.data, ...parameters]
  const child = spawn('/bin/sh', ['-c', TIED_TO_US, 'sh', ...command], {
    ...home.user,
    cwd: home.data,
    // In another process group: Ctrl-C in the terminal is for us, and we need the server until we are done.
    detached: true,
    stdio: ['pipe', log_file, log_file, server_lock],
  })
  fs.closeSync(log_file)
  child.unref()
  const ended = new Promise<number | null>((resolve) => {
    child.on('exit', resolve)
    child.on('error', () => resolve(null))
  })
  return { process: child, ended, log_start }
}

function openLog(home: Home): number {
  const file = logFile(home)
  if (fs.existsSync(file) && fs.statSync(file).size > MAX_LOG_BYTES) fs.renameSync(file, `${file}.1`)
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = fs.constants
  return fs.openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
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
    if (ended) {
      const output = fs.readFileSync(logFile(home)).subarray(server.log_start).toString()
      throw new EmbeddedError(`PostgreSQL does not start: ${errorsIn(output).at(-1)}`)
    }
    if (Date.now() > end) {
      server.process.stdin?.end()
      throw new EmbeddedError(`PostgreSQL does not answer, see ${logFile(home)}`)
    }
    await Bun.sleep(10)
  }
}

/** Tells if the server takes connections to our database; makes the database when it is missing. */
export async function answers(connection: Connection): Promise<boolean> {
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

/** The lines that PostgreSQL marks as errors; when there is none, the last one. */
function errorsIn(output: string): string[] {
  const lines = output.trim().split('\n')
  const errors = lines.filter((line) => /(FATAL|PANIC|error):/.test(line))
  return (errors.length > 0 ? errors : lines.slice(-1)).map((line) => line.replace(/^.*?(FATAL|PANIC|error):\s*/, ''))
}
