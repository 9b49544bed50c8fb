/** Databases for tests: a copy of the migrated template for each file that asks for one. */
import { copyDatabase, dropDatabase, nodeUrls } from './cluster'
import { runOnServer, withDatabase } from './on-server'

/**
 * Longer than the 10 s of the service: a machine that is busy with other files may take so long to open connections.
 */
const CONNECT_TIMEOUT_S = 300

export type TestDatabase = {
  /** The argument of `connectDatabase`: a URL, by the server's socket where it has one. */
  target: string
  /** The same by TCP, for other programs (`DATABASE_URL`). */
  url: string
  /** Closes what is still connected and removes the database. */
  drop(): Promise<void>
}

/** Where the template is: set by the test runner. */
export const TEMPLATE_URL = 'DESKWIRE_TEST_TEMPLATE_URL'

/** The folder of the server's socket, by which a statement takes a third less of the processor: set by the runner. */
export const SOCKET_FOLDER = 'DESKWIRE_TEST_SOCKET_FOLDER'

/** A new database with the current schema and no rows; on a cluster when the runner was given one. */
export async function createDatabase(): Promise<TestDatabase> {
  const template = templateUrl()
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  const nodes = nodeUrls()
  if (nodes) {
    const url = patient(await copyDatabase(nodes, template, name))
    return { target: url, url, drop: () => dropDatabase(nodes, name) }
  }
  await runOnServer(template, async (server) => {
    // Copying files is several times faster than the log, and nobody needs these databases after a crash.
    await server`create database ${server(name)} template ${server(databaseOf(template))} strategy file_copy`
  })
  const url = patient(withDatabase(template, name))
  return {
    target: bySocket(url),
    url,
    drop: () =>
      runOnServer(template, async (server) => {
        await server`drop database if exists ${server(name)} with (force)`
      }),
  }
}

/** The same URL, by which a client waits long for a connection. */
function patient(url: string): string {
  const changed = new URL(url)
  changed.searchParams.set('connect_timeout', String(CONNECT_TIMEOUT_S))
  return changed.href
}

/** The same database by the socket of the server. */
function bySocket(url: string): string {
  const host = process.env[SOCKET_FOLDER]
  if (!host) return url
  const { username, password, port, pathname, searchParams } = new URL(url)
  const user = decodeURIComponent(username)
  const given = { host, port, user, password: decodeURIComponent(password) }
  return `postgres://${pathname}?${new URLSearchParams([...searchParams, ...Object.entries(given)])}`
}

/** The URL of an embedded PostgreSQL that listens on a port of 127.0.0.1. */
export function urlOf(role: { username: string; password: string }, port: number, database = 'deskwire'): string {
  return `postgres://${role.username}:${role.password}@127.0.0.1:${port}/${database}`
}

/** The URL of the template. */
export function templateUrl(): string {
  const url = process.env[TEMPLATE_URL]
  if (!url) throw new Error('There is no test database: run `bun run test [file]`')
  return url
}

function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1)
}
