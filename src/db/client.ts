/** The connections to PostgreSQL. Whoever else needs the database receives it in its scope (house rule: direction). */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import { observeTransaction } from '../metrics/transactions'
import { toInstant } from './columns'

/** Drizzle over a connection or an open transaction. */
export type Db = Pick<PostgresJsDatabase, 'select' | 'selectDistinct' | 'insert' | 'update' | 'delete' | 'execute'>

/** Tagged postgres.js SQL over the same connection or transaction; its statements are named and stay prepared. */
export type Sql = postgres.ISql<Types>

type Types = { bigint: number }
type Pool = postgres.Sql<Types>

export type Connection = { db: Db; sql: Sql }

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

/** Connects once. @throws what the driver says when the database cannot be reached or lets nobody in */
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
 * One connection of its own for short statements that commit at once, while the caller may hold a transaction of the
 * pool (ticket numbers, NOTIFY): a second connection of the pool could wait for itself when all are taken.
 */
export function shortConnection(): Pool {
  if (!short) throw new Error('The database is not connected')
  return short
}

/** The driver's pool, for LISTEN, reserved connections and probes. */
export function driverPool(): Pool {
  if (!pool) throw new Error('The database is not connected')
  return pool
}

/** Runs `work` in a transaction; within one, in a savepoint. Any error rolls it back and is thrown on. */
export async function transact<T>(outer: Connection, work: (inner: Connection) => Promise<T>): Promise<T> {
  const db = outer.db as PostgresJsDatabase
  const observed = db === orm ? observeTransaction() : undefined
  try {
    return await db.transaction((tx) => {
      observed?.began()
      return work({ db: tx, sql: driverOf(tx) })
    })
  } finally {
    observed?.ended()
  }
}

/** Drizzle keeps the driver's transaction in its session, without a public accessor. */
function driverOf(tx: unknown): Sql {
  return (tx as { session: { client: Sql } }).session.client
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
  readAsWire(client as unknown as Pool)
  return client as unknown as Pool
}

/**
 * Seconds until a lost connection is tried again. The driver's own way counts the failures of all connections together
 * and ends at 20 s, so that after a restart of the database requests would wait long for one that is back.
 */
function reconnectDelay_s(failures: number): number {
  return Math.min(0.01 * 2 ** failures, RECONNECT_MOST_S) * (0.5 + Math.random() / 2)
}

/**
 * Values read as the wire shows them: times as `YYYY-MM-DDThh:mm:ssZ`, numerics and counts as numbers. Drizzle resets
 * the parsers of the client that it is given, so this is done after it (stack.md, section 7).
 */
function readAsWire(client: Pool): void {
  const parsers = client.options.parsers as Record<number, (text: string) => unknown>
  parsers[1184] = toInstant
  parsers[1082] = (text) => text
  parsers[1700] = Number
  parsers[20] = Number
}
