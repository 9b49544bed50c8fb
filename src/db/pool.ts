/**
 * Holds the connections to PostgreSQL. Entrances and authentication take the pool from here and put it into scopes;
 * everything else gets its connection in an argument.
 */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import { toInstant } from './columns'
import type { Connection, WireTypes } from './transact'

type Pool = postgres.Sql<WireTypes>

export type ConnectionOptions = postgres.Options<Record<string, postgres.PostgresType>>

/** Between attempts to connect while the database is away. */
const RECONNECT_MOST_S = 0.5

let pool: Pool | undefined
let orm: PostgresJsDatabase | undefined
let short: Pool | undefined

/**
 * Opens the pool.
 * @param target a connection URL, or options of postgres.js (embedded database: `{ path }`)
 */
export function connectDatabase(target: string | ConnectionOptions, pool_size: number): void {
  pool = open(target, pool_size)
  orm = drizzle(pool)
  readAsWire(pool)
  short = open(target, 1)
}

/** Connects once. @throws what the driver says when the database cannot be reached or refuses the user */
export async function tryConnection(url: string): Promise<void> {
  const client = open(url, 1)
  try {
    await client`select 1`
  } finally {
    await client.end({ timeout: 0 })
  }
}

/** Closes all connections, after the queries in flight or `timeout_s`. */
export async function closeDatabase(timeout_s = 5): Promise<void> {
  await Promise.all([pool?.end({ timeout: timeout_s }), short?.end({ timeout: timeout_s })])
  pool = orm = short = undefined
}

/** The pool, for statements outside a transaction. */
export function connection(): Connection {
  if (!pool || !orm) throw new Error('The database is not connected')
  return { db: orm, sql: pool }
}

/**
 * A connection beside the pool for short statements that commit at once, while the caller may hold a transaction of
 * the pool (ticket numbers, NOTIFY). A second connection of the pool could wait for itself when all are taken.
 */
export function shortConnection(): Pool {
  if (!short) throw new Error('The database is not connected')
  return short
}

/** The driver's pool, for LISTEN and reserved connections. */
export function driverPool(): Pool {
  if (!pool) throw new Error('The database is not connected')
  return pool
}

function open(target: string | ConnectionOptions, max: number): Pool {
  const options: ConnectionOptions = {
    max,
    idle_timeout: 0,
    connect_timeout: 10,
    backoff: reconnectDelay_s,
    onnotice: () => {},
    connection: { application_name: 'deskwire', TimeZone: 'UTC', jit: false },
  }
  const client = typeof target === 'string' ? postgres(target, options) : postgres({ ...target, ...options })
  // `readAsWire` makes the driver return what `WireTypes` promises; the driver's types cannot know that.
  const wired = client as unknown as Pool
  readAsWire(wired)
  return wired
}

/**
 * Seconds until a lost connection is tried again. The driver's own way counts the failures of all connections together
 * and ends at 20 s, so that after a restart of the database requests would wait long for one that is back.
 */
function reconnectDelay_s(failures: number): number {
  return Math.min(0.01 * 2 ** failures, RECONNECT_MOST_S) * (0.5 + Math.random() / 2)
}

/**
 * Makes values read as the API shows them: times as `YYYY-MM-DDThh:mm:ssZ`, numerics and counts as numbers. Drizzle
 * resets the parsers of the client that it is given (to strings), so this is done again after it.
 */
function readAsWire(client: Pool): void {
  const parsers = client.options.parsers as Record<number, (text: string) => unknown>
  parsers[1184] = toInstant
  parsers[1082] = (text) => text
  parsers[1700] = Number
  parsers[20] = Number
}
