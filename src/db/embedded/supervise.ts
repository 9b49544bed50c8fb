/** The embedded PostgreSQL: one server for each DATA_DIR, whose life is tied to the process that starts it. */
import fs from 'node:fs'
import path from 'node:path'
import { log } from '../../log'
import { lockFile, lockHolder } from './file-lock'
import { EmbeddedError, type Home, nativeFolder, prepareHome, preparePrograms } from './home'
import { answers, type Connection, OWNER, SERVER_WAIT_MS, type Settings, startServer } from './server'

export { EmbeddedError }

export type EmbeddedOptions = {
  /** Parameters of postgresql.conf beside or instead of our own. */
  settings?: Record<string, string>
  /** Join a server that another process runs on this DATA_DIR instead of refusing; for short commands. */
  shared?: boolean
}

export type EmbeddedPostgres = {
  /** What postgres.js needs to connect. */
  connection: Connection
  /** Another process runs the server: it stays when we stop. */
  adopted: boolean
  stop(): Promise<void>
}

/** A killed predecessor needs a moment until it is gone; a living one stays. */
const OWNER_WAIT_MS = 3_000
const RESTART_DELAY_MS = 1_000

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
  const settings: Settings = { ...SETTINGS, ...options.settings }
  try {
    const home = prepareHome(path.resolve(data_dir), Number(settings.port))
    settings.unix_socket_directories = home.socket_dir
    const connection = { path: `${home.socket_dir}/.s.PGSQL.${settings.port}`, database: 'deskwire', username: OWNER }
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
  const programs = preparePrograms(home, await nativeFolder())
  let stopping = false
  let server = await startServer(home, programs, settings, connection)

  const supervise = async () => {
    for (;;) {
      const status = await server.ended
      if (stopping) return
      log.error({ status }, 'PostgreSQL ended unexpectedly and is started again')
      try {
        server = await startServer(home, programs, settings, connection)
      } catch (error) {
        log.error(asEmbeddedError(error).message)
        await Bun.sleep(RESTART_DELAY_MS)
      }
      if (stopping) server.process.stdin?.end()
    }
  }
  const supervision = supervise()

  const stop = async () => {
    stopping = true
    server.process.ref()
    server.process.stdin?.end()
    await supervision
    fs.closeSync(owner_lock)
  }
  let stopped: Promise<void> | undefined
  return () => {
    stopped ??= stop()
    return stopped
  }
}

function asEmbeddedError(error: unknown): EmbeddedError {
  if (error instanceof EmbeddedError) return error
  const reason = error instanceof Error ? error.message.split('\n')[0] : String(error)
  return new EmbeddedError(`the embedded database cannot start: ${reason}`)
}
