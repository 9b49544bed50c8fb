/** A cluster for one test, whose workers may stop or hang: a coordinator and two workers on loopback. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { distributeDatabase } from '../../src/base/db/cluster/distribute'
import { migrateDatabase } from '../../src/base/db/migrate'
import { createClusterDatabase } from './cluster'
import { answers } from './own-postgres'
import { freePort } from './ports'
import { until } from './service'

const VERSIONS = '/usr/lib/postgresql'

/** The folder of a PostgreSQL with Citus, where Debian's packages have it. */
const HOME = (existsSync(VERSIONS) ? readdirSync(VERSIONS) : [])
  .map((version) => path.join(VERSIONS, version))
  .find((home) => existsSync(path.join(home, 'bin/initdb')) && existsSync(path.join(home, 'lib/citus.so')))

/** Why there can be none here; undefined when there can. */
export const WHY_NO_MACHINES = HOME ? undefined : `no PostgreSQL below ${VERSIONS} has Citus`

export type Machine = {
  /** As `pg_dist_node` knows it: host and port. */
  name: string
  url: string
  /** As `pg_ctl stop -m immediate` does it. */
  crash(): Promise<void>
  /** Nothing, when it runs. */
  start(): Promise<void>
  /** Stops every process, so that connections are accepted and nothing is answered. */
  freeze(): void
  thaw(): void
}

export type Machines = {
  /** URL of a distributed database with the product's schema. */
  url: string
  workers: Machine[]
  stop(): Promise<void>
}

/** Starts the cluster, and makes a database on it. */
export async function startMachines(): Promise<Machines> {
  // PostgreSQL's own programs want an account, and every Linux has this one.
  const user = process.getuid?.() === 0 ? { uid: 1, gid: 1 } : undefined
  const folder = mkdtempSync(path.join(tmpdir(), 'machines-'))
  if (user) chownSync(folder, user.uid, user.gid)
  const machines: (Machine & { end(): Promise<void> })[] = []
  for (const name of ['coordinator', 'worker1', 'worker2']) {
    machines.push(createMachine(path.join(folder, name), await freePort(), user))
  }
  const stop = async () => {
    await Promise.all(machines.map((machine) => machine.end()))
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await Promise.all(machines.map((machine) => machine.start()))
    const urls = machines.map((machine) => machine.url)
    const url = await createClusterDatabase(urls, urls[0]!, 'deskwire')
    await migrateDatabase(url)
    await distributeDatabase(url)
    return { url, workers: machines.slice(1), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Commits are durable against the crash of a server, which needs no fsync, but not of the computer. */
function configOf(port: number): string {
  return `
    port = ${port}
    listen_addresses = '127.0.0.1'
    unix_socket_directories = ''
    shared_preload_libraries = 'citus'
    max_prepared_transactions = 200
    max_connections = 200
    max_worker_processes = 32
    shared_buffers = 64MB
    wal_level = logical
    fsync = off
    citus.shard_count = 8
    citus.node_conninfo = 'sslmode=prefer'
    citus.node_connection_timeout = '5s'\n`
}

function createMachine(data: string, port: number, user: { uid: number; gid: number } | undefined) {
  const run = { ...user, cwd: '/', env: { PATH: process.env.PATH, LANG: 'C.UTF-8' } }
  const program = (name: string) => path.join(HOME!, 'bin', name)
  const made = spawnSync(program('initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '-N'], run)
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr ?? made.error}`)
  appendFileSync(path.join(data, 'postgresql.conf'), configOf(port))
  const log = openSync(`${data}.log`, 'a')
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let server: ChildProcess | undefined
  let ended: Promise<unknown> = Promise.resolve()

  const crash = async () => {
    server?.kill('SIGQUIT')
    await ended
  }
  const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
    for (const pid of processesOf(server)) {
      try {
        process.kill(pid, name)
      } catch {
        // It has ended.
      }
    }
  }
  const thaw = () => signal('SIGCONT')
  return {
    name: `127.0.0.1:${port}`,
    url,
    crash,
    async start() {
      if (server?.exitCode === null) return
      const child = spawn(program('postgres'), ['-D', data], { ...run, stdio: ['ignore', log, log] })
      server = child
      ended = new Promise((resolve) => child.once('exit', resolve))
      await until('the machine answers', () => {
        if (child.exitCode !== null) throw new Error(`the server ended: ${readFileSync(`${data}.log`, 'utf8')}`)
        return answers(url)
      })
    },
    freeze: () => signal('SIGSTOP'),
    thaw,
    async end() {
      if (server?.exitCode === null) thaw()
      await crash()
    },
  }
}

/** The postmaster, which starts no more processes once it is stopped, and then its children. */
function processesOf(server: ChildProcess | undefined): number[] {
  const parent = server?.pid
  if (parent === undefined || server?.exitCode !== null) return []
  const children = spawnSync('ps', ['-o', 'pid=', '--ppid', String(parent)], { encoding: 'utf8' }).stdout
  return [parent, ...children.trim().split(/\s+/).filter(Boolean).map(Number)]
}
