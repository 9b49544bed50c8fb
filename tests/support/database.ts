/** Databases for tests: a copy of the migrated template for each file that asks for one. */
import postgres from 'postgres'

export type TestDatabase = {
  /** The argument of `connectDatabase`: a URL. */
  target: string
  /** The same, for child processes (`DATABASE_URL`). */
  url: string
  /** Closes what is still connected and removes the database. */
  drop(): Promise<void>
}

/** Where the template is: set by the test runner. */
export const TEMPLATE_URL = 'DESKWIRE_TEST_TEMPLATE_URL'

/** A new database with the current schema and no rows. */
export async function createDatabase(): Promise<TestDatabase> {
  const template = templateUrl()
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await runOnServer(template, async (server) => {
    // Copying files is several times faster than the log, and nobody needs these databases after a crash.
    await server`create database ${server(name)} template ${server(databaseOf(template))} strategy file_copy`
  })
  const url = withDatabase(template, name)
  return {
    target: url,
    url,
    drop: () =>
      runOnServer(template, async (server) => {
        await server`drop database if exists ${server(name)} with (force)`
      }),
  }
}

/** The URL of an embedded PostgreSQL that listens on a port of 127.0.0.1. */
export function urlOf(role: { username: string; password: string }, port: number, database = 'deskwire'): string {
  return `postgres://${role.username}:${role.password}@127.0.0.1:${port}/${database}`
}

/** The same URL with another database. */
export function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

/** Runs statements on a short connection to the server's database `postgres`. */
export async function runOnServer<T>(url: string, work: (server: postgres.Sql) => Promise<T>): Promise<T> {
  const server = postgres(withDatabase(url, 'postgres'), { max: 1, onnotice: () => {} })
  try {
    return await work(server)
  } finally {
    await server.end()
  }
}

function templateUrl(): string {
  const url = process.env[TEMPLATE_URL]
  if (!url) throw new Error('There is no test database: run `bun run test [file]`')
  return url
}

function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1)
}
