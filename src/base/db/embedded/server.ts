/** One run of PostgreSQL's server on a data directory, from its start until it answers. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { bareEnvironment } from '../../process/child'
import { type Connection, closeAccess, connectionTo, prepareAccess } from './access'
import { errorsIn, OWNER, prepareData, type Settings } from './data-directory'
import { EmbeddedError, isErrno } from './faults'
import { lockFile } from './file-lock'
import { asUser } from './file-user'
import type { Home } from './home'

export type Server = {
  /** The shell that runs the server. The server ends when its standard input is closed, or on SIGTERM. */
  process: ChildProcess
  /** The exit status, once the server has ended. */
  ended: Promise<number | null>
  /** Where the part of this run begins in the log, in bytes. */
  log_start: number
}

/** Longest wait for a server to start (recovery after a crash included) or to end. */
export const SERVER_WAIT_MS = 60_000

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
  wait_ms = SERVER_WAIT_MS,
): Promise<Server> {
  const server_lock = await waitForFormerServer(home)
  try {
    const socket = connectionTo(home, OWNER).path
    asUser(home.user, () => {
      for (const stale of [`${home.data}/postmaster.pid`, socket, `${socket}.lock`]) fs.rmSync(stale, { force: true })
    })
    prepareData(home, programs, settings)
    prepareAccess(home)
    const server = spawnServer(home, programs, settings, server_lock)
    await untilReady(home, server, connectionTo(home, OWNER), wait_ms)
    await closeAccess(home)
    return server
  } finally {
    fs.closeSync(server_lock)
  }
}

/**
 * Takes the lock that all processes of a server share. Whoever has it knows that none of them is left, not even in
 * another container, so that all files which they left behind are stale.
 */
export async function waitForFormerServer(home: Home): Promise<number> {
  const file = path.join(home.dir, 'server.lock')
  const end = Date.now() + SERVER_WAIT_MS
  const tryLock = () => asUser(home.user, () => lockFile(file))
  let lock = tryLock()
  if (lock === undefined) endOrphan(home)
  while (lock === undefined && Date.now() < end) {
    await sleep(20)
    lock = tryLock()
  }
  if (lock === undefined) throw new EmbeddedError(`a PostgreSQL that does not end still uses ${home.data}`)
  return lock
}

/**
 * Asks a server that lost its service to shut down. Looks first whether the process in the pid file is one, because the
 * system gives process ids to new processes.
 */
function endOrphan(home: Home) {
  try {
    const pid_file = asUser(home.user, () => fs.readFileSync(path.join(home.data, 'postmaster.pid'), 'utf8'))
    const pid = Number(pid_file.split('\n')[0])
    // The file is the server's user's, who may write the id of another user's process into it.
    if (process.platform === 'linux' && home.user && fs.statSync(`/proc/${pid}`).uid !== home.user.uid) return
    const command =
      process.platform === 'linux'
        ? fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        : spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout
    if (command.includes(` -D ${home.data} `)) process.kill(pid, 'SIGINT')
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM')) throw error
  }
}

/**
 * Shell script: runs "$@" as the server, with the server's lock on descriptor 3. A watcher reads descriptor 0, a pipe
 * from the service, and shuts the server down fast when the service's end closes: the kernel closes it however the
 * service ends. The watcher ends with the server, so that it cannot signal a later process with the same id.
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
  const log_file = asUser(home.user, () => openLog(home))
  const log_start = fs.fstatSync(log_file).size
  const parameters = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = [`${programs}/postgres`, '-D', home.data, ...parameters]
  const child = spawn('/bin/sh', ['-c', TIED_TO_US, 'sh', ...command], {
    ...home.user,
    cwd: home.data,
    env: bareEnvironment(),
    // A separate process group: Ctrl-C in the terminal is for the service, which needs the server until it has stopped.
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

async function untilReady(home: Home, server: Server, connection: Connection, wait_ms: number) {
  let has_ended = false
  server.ended.then(() => {
    has_ended = true
  })
  const end = Date.now() + wait_ms
  while (!(fs.existsSync(connection.path) && (await answers(connection)))) {
    if (has_ended) {
      const output = asUser(home.user, () => fs.readFileSync(logFile(home)))
        .subarray(server.log_start)
        .toString()
      throw new EmbeddedError(`PostgreSQL does not start: ${errorsIn(output).at(-1)}`)
    }
    if (Date.now() > end) {
      server.process.stdin?.end()
      throw new EmbeddedError(`PostgreSQL does not answer, see ${logFile(home)}`)
    }
    await sleep(10)
  }
}

/** True when the server takes connections to our database, which is made when it is missing. */
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
