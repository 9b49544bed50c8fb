/** A PostgreSQL for one test, which may crash, run full or refuse. Commits are durable against its crash. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import postgres from 'postgres'
import { startEmbedded } from '../../src/base/db/embedded/supervise'
import { migrateDatabase } from '../../src/base/db/migrate'
import { urlOf } from './database'
import { runOnServer, withDatabase } from './on-server'
import { freePort } from './ports'
import { until } from './service'

export type OwnPostgres = {
  /** URL of a database with the product's schema. */
  url: string
  /** One more such database. */
  createDatabase(): Promise<string>
  /** As `pg_ctl stop -m immediate` does it; its supervisor starts it again. */
  crash(): void
  /** Resolves when it takes connections again after a crash. */
  back(): Promise<void>
  stop(): Promise<void>
}

/** Starts a server below `dir`, with the product's schema. @param settings parameters of postgresql.conf */
export async function startOwnPostgres(dir: string, settings: Record<string, string> = {}): Promise<OwnPostgres> {
  const port = await freePort()
  // Without fsync, written data survives a crash of the server, but not of the machine.
  const common = { listen_addresses: '127.0.0.1', port: String(port), fsync: 'off', autovacuum: 'off' }
  const server = await startEmbedded(dir, { settings: { ...common, ...settings } })
  const url = urlOf(server.connection, port)
  await migrateDatabase(url)
  const createDatabase = async () => {
    const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
    await runOnServer(url, (sql) => sql`create database ${sql(name)}`)
    await migrateDatabase(withDatabase(url, name))
    return withDatabase(url, name)
  }
  const pid_file = path.join(dir, 'postgres/data/postmaster.pid')
  const pid = () => Number(readFileSync(pid_file, 'utf8').split('\n')[0])
  let crashed = 0
  return {
    url,
    createDatabase,
    crash() {
      crashed = pid()
      process.kill(crashed, 'SIGQUIT')
    },
    back: () => until('PostgreSQL is back', async () => !isAlive(crashed) && (await answers(url))),
    stop: server.stop,
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** True when a server takes connections. */
export async function answers(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, fetch_types: false })
  try {
    await sql`select 1`
    return true
  } catch {
    return false
  } finally {
    await sql.end({ timeout: 0 })
  }
}
