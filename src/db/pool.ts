/**
 * Holds the connections to PostgreSQL. Entrances and authentication take the pool from here and put it into scopes;
 * everything else gets its connection in an argument.
 */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import { APPLICATION_NAME } from './application-name'
import { toInstant } from './columns'
import type { Connection, WireTypes } from './transact'

type Pool = postgres.Sql<WireTypes>

export type ConnectionOptions = postgres.Options<Record<string, postgres.PostgresType>>

/** Between attempts to connect while the database is away. */
const RECONNECT_MOST_S = 0.5

/** Times after which the server ends a statement, or a transaction that does nothing. 0 sets no limit. */
export type TimeLimits = { statement_ms: number; idle_in_transaction_ms: number }

/** For requests and the outbox: without limits ten statements that do not end are all connections of the service. */
const REQUEST_LIMITS: TimeLimits = { statement_ms: 30_000, idle_in_transaction_ms: 30_000 }
/** For background jobs and the operator's commands, which may take long. */
export const NO_LIMITS: TimeLimits = { statement_ms: 0, idle_in_transaction_ms: 0 }

/** Connections for background jobs beside the pool. They are opened when the first jobs run. */
const JOB_CONNECTIONS = 2

let pool: Pool | undefined
let orm: PostgresJsDatabase | undefined
let short: Pool | undefined
let jobs: Pool | undefined
let jobs_orm: PostgresJsDatabase | undefined

/**
 * Opens the pool.
 * @param target a connection URL, or options of postgres.js (embedded database: `{ path }`)
 */
export function connectDatabase(
  target: string | ConnectionOptions,
  pool_size: number,
  limits: TimeLimits = REQUEST_LIMITS,
): void {
  pool = open(target, pool_size, limits)
  orm = drizzle(pool)
  readAsWire(pool)
  short = open(target, 1, limits)
  jobs = open(target, JOB_CONNECTIONS, NO_LIMITS)
  jobs_orm = drizzle(jobs)
  readAsWire(jobs)
}

/** Connects once. @throws what the driver says when the database cannot be reached or refuses the user */
export async function tryConnection(url: string): Promise<void> {
  const client = open(url, 1, NO_LIMITS)
  try {
    await client`select 1`
  } finally {
    await client.end({ timeout: 0 })
  }
}

/** Closes all connections, after the queries in flight or `timeout_s`. */
export async function closeDatabase(timeout_s = 5): Promise<void> {
  await Promise.all([pool, short, jobs].map((client) => client?.end({ timeout: timeout_s })))
  pool = orm = short = jobs = jobs_orm = undefined
}

/** The pool, for statements outside a transaction. */
export function connection(): Connection {
  if (!pool || !orm) throw new Error('The database is not connected')
  return { db: orm, sql: pool }
}

/** Connections without time limits, for background jobs. They are not those of the pool, so that jobs delay no request. */
export function jobConnection(): Connection {
  if (!jobs || !jobs_orm) throw new Error('The database is not connected')
  return { db: jobs_orm, sql: jobs }
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

function open(target: string | ConnectionOptions, max: number, limits: TimeLimits): Pool {
  const options: ConnectionOptions = {
    max,
    idle_timeout: 0,
    connect_timeout: 10,
    backoff: reconnectDelay_s,
    onnotice: () => {},
    connection: {
      application_name: APPLICATION_NAME,
      TimeZone: 'UTC',
      jit: false,
      statement_timeout: limits.statement_ms,
      idle_in_transaction_session_timeout: limits.idle_in_transaction_ms,
    },
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
