/**
 * The rig of the measurements: the service as an operator starts it, on a copy of a data set, and servers of bare
 * limits.
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import postgres from 'postgres'
import { startEmbedded } from '../../src/base/db/embedded/supervise'
import { type Service, startService, until } from '../support/service'
import { type Cpu, cpuOf, type Memory, memoryOf, treeOf } from './processes'
import { ADMIN } from './volume/fill'

export type Rig = {
  dir: string
  /** Size of each organization, by place. */
  sizes: number[]
  service: Service
  /** The superuser's connection. */
  sql: postgres.Sql
  bare: { origin: string; smtp_port: number }
  /** For requests as the admin in this organization, at any time of a long run. */
  headers(organization_id: string): Promise<Record<string, string>>
  cpu(side: Side): Cpu
  memory(): Memory
  /** Ends the bare servers, of which no limit can be measured any more. */
  stopBare(): Promise<void>
  stop(): Promise<void>
}

/** The server whose processor time counts beside that of the database. */
export type Side = 'service' | 'bare HTTP' | 'bare SMTP'

const TOKEN_MS = 10 * 60_000

/**
 * Starts all of it. The data set stays as it is, because the copy takes what is written.
 * @param dir an empty folder for the copy
 */
export async function startRig(dir: string, data_set: string, sizes: number[]): Promise<Rig> {
  const data_dir = path.join(dir, 'data')
  // Owners stay too: the database is its OS user's.
  const copied = spawnSync('cp', ['-a', data_set, data_dir], { encoding: 'utf8' })
  if (copied.status !== 0) throw new Error(`${data_set} cannot be copied: ${copied.stderr}`)
  const service = await startAsOperator(data_dir)
  const { connection } = await startEmbedded(data_dir, { other_service: 'join' })
  const sql = postgres({ ...connection, max: 1, onnotice: () => {} })
  await sql`create table bench_commits (id uuid primary key, text text not null)`
  const http = await startBare('bare-http.ts', { BENCH_DATABASE: JSON.stringify(connection) })
  const smtp = await startBare('bare-smtp.ts', {})
  const pids = { service: service.process.pid!, 'bare HTTP': http.pid, 'bare SMTP': smtp.pid }
  const token = tokenOf(service)
  const stopBare = async () => {
    for (const { child } of [http, smtp]) child.kill()
    await until('the connections of the bare server are gone', async () => {
      const found = await sql`
        select from pg_stat_activity
        where usename = ${connection.username} and backend_type = 'client backend' and pid <> pg_backend_pid()`
      return found.length === 0
    })
  }
  return {
    dir,
    sizes,
    service,
    sql,
    bare: { origin: `http://127.0.0.1:${http.port}`, smtp_port: smtp.port },
    headers: async (organization_id) => ({
      authorization: `Bearer ${await token()}`,
      'x-organization-id': organization_id,
      'content-type': 'application/json',
    }),
    cpu(side) {
      const owner = treeOf(pids.service)
      return cpuOf(side === 'service' ? owner : treeOf(pids[side]), owner)
    },
    memory: () => memoryOf(treeOf(pids.service)),
    stopBare,
    async stop() {
      await stopBare()
      await sql.end()
      await service.stop()
      fs.rmSync(data_dir, { recursive: true, force: true })
    },
  }
}

/** Starts the service with what the launcher sets for it, such as the limit after which garbage is collected. */
export async function startAsOperator(data_dir: string): Promise<Service> {
  const launched = Object.entries(process.env).filter(([name]) => /^(BUN|UV)_/.test(name))
  const service = await startService({
    ...(Object.fromEntries(launched) as Record<string, string>),
    DATA_DIR: data_dir,
  })
  // A service that has given up the rights of root does not end by itself with this process.
  process.once('exit', () => service.process.kill('SIGTERM'))
  return service
}

type Bare = { child: ChildProcess; pid: number; port: number }

async function startBare(file: string, env: Record<string, string>): Promise<Bare> {
  const child = fork(path.join(import.meta.dirname, file), {
    env: { ...process.env, ...env },
    execArgv: ['--no-orphans'],
  })
  const { port } = await new Promise<{ port: number }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { port: number }))
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)))
  })
  return { child, pid: child.pid!, port }
}

/** Signs in again before the access token runs out. */
function tokenOf(service: Service): () => Promise<string> {
  let token = ''
  let since_ms = 0
  return async () => {
    if (token && performance.now() - since_ms < TOKEN_MS) return token
    const response = await fetch(`${service.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ADMIN),
    })
    const body = (await response.json()) as { access_token: string }
    since_ms = performance.now()
    token = body.access_token
    return token
  }
}
