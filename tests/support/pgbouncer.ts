/** A real PgBouncer in transaction mode, on a port of its own, in front of a test's database. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { answers } from './own-postgres'
import { freePort } from './ports'
import { until } from './service'

const PROGRAM = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((file) => existsSync(file))

/** Why there can be none here; undefined when there can. */
export const WHY_NO_PGBOUNCER = PROGRAM ? undefined : 'there is no pgbouncer: apt-get install pgbouncer'

export type PgBouncer = {
  /** URL of the database behind it. */
  url: string
  port: number
  /** Changes a setting while it runs. */
  set(name: string, value: string): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts a PgBouncer in front of a database.
 * @param options settings of pgbouncer.ini; `port` instead of a free one
 */
export async function startPgBouncer(
  database_url: string,
  { port, ...settings }: Record<string, string> = {},
): Promise<PgBouncer> {
  const server = new URL(database_url)
  const own_port = Number(port ?? (await freePort()))
  const folder = mkdtempSync(path.join(tmpdir(), 'pgbouncer-'))
  const file = path.join(folder, 'pgbouncer.ini')
  const options: Record<string, string> = {
    listen_addr: '127.0.0.1',
    listen_port: String(own_port),
    unix_socket_dir: '',
    auth_type: 'any',
    admin_users: 'anybody',
    pool_mode: 'transaction',
    default_pool_size: '8',
    ...settings,
  }
  const target = `host=${server.hostname} port=${server.port} user=${server.username} password=${server.password}`
  const write = () => {
    const lines = Object.entries(options).map(([name, value]) => `${name} = ${value}`)
    writeFileSync(file, ['[databases]', `* = ${target}`, '[pgbouncer]', ...lines, ''].join('\n'))
  }
  write()
  chmodSync(folder, 0o755)
  const program = spawn(PROGRAM!, [...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), '-q', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  program.stderr!.on('data', (chunk) => (log += chunk))
  const url = `postgres://anybody:nothing@127.0.0.1:${own_port}${server.pathname}`
  await until('PgBouncer answers', async () => {
    if (program.exitCode !== null) throw new Error(`PgBouncer ended: ${log}`)
    return answers(url)
  })
  return {
    url,
    port: own_port,
    async set(name, value) {
      options[name] = value
      write()
      const console = postgres(`${url.slice(0, url.lastIndexOf('/'))}/pgbouncer`, { max: 1, fetch_types: false })
      await console.unsafe('reload')
      await console.end()
    },
    stop: () => end(program, folder),
  }
}

async function end(program: ChildProcess, folder: string): Promise<void> {
  const ended = new Promise((resolve) => program.once('exit', resolve))
  program.kill('SIGKILL')
  if (program.exitCode === null && program.signalCode === null) await ended
  rmSync(folder, { recursive: true, force: true })
}
