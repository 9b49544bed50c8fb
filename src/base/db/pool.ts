/**
 * Holds the connections to PostgreSQL. Entrances and authentication take the pool from here and put it into scopes;
 * everything else gets its connection in an argument.
 */
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import type { ConnectionOptions } from './connection-url'
import { type Client, NO_LIMITS, openClient, openOrm } from './driver-client'
import { isPooled, type TimeLimits } from './pooler'
import { type ReadLimits, sharedReads, shareOf } from './reads'
import type { Connection } from './transact'

/** Limits of requests and the outbox. Without them ten endless statements would hold all connections. */
const REQUEST_LIMITS: TimeLimits = { statement_ms: 30_000, idle_in_transaction_ms: 30_000 }

/** Limits of the reads of requests. A client that waits longer has given up, or will. */
const READ_LIMITS: ReadLimits = { wait_ms: 10_000, most_ms: 10_000 }

/** The server ends a statement before. */
const OVERDUE_MS = REQUEST_LIMITS.statement_ms + 5000

/** Connections for background jobs beside the pool. They are opened when the first jobs run. */
const JOB_CONNECTIONS = 2
/** Connections that learn how a cluster is, beside all that may wait for a machine of it. */
const WATCH_CONNECTIONS = 2

let pool: Client | undefined
let orm: PostgresJsDatabase | undefined
let short: Client | undefined
let jobs: Client | undefined
let jobs_orm: PostgresJsDatabase | undefined
let notices: Client | undefined
let watching: Client | undefined
let ofOrganization: PoolOptions['ofOrganization']
let reads = READ_LIMITS

type PoolOptions = {
  /** Those of requests when left out. */
  limits?: TimeLimits
  reads?: Partial<ReadLimits>
  /** Where a connection keeps its session, when `target` is a pooler: a URL, or options of postgres.js. */
  direct?: string | ConnectionOptions
  /** The organizations are on several machines. */
  is_cluster?: boolean
  /**
   * What requests of an organization run on, instead of the pool: tests let the database refuse all other rows there.
   */
  ofOrganization?(organization_id: string): Connection
}

/**
 * Opens the pool.
 * @param target a connection URL, or options of postgres.js (embedded database: `{ path }`)
 * @throws ConnectionUrlError
 */
export function connectDatabase(
  target: string | ConnectionOptions,
  pool_size: number,
  { limits = REQUEST_LIMITS, direct = target, ...options }: PoolOptions = {},
): void {
  pool = openClient(target, pool_size, limits)
  orm = openOrm(pool)
  short = openClient(target, 1, limits, { synchronous_commit: 'off' })
  jobs = openClient(target, JOB_CONNECTIONS, NO_LIMITS)
  jobs_orm = openOrm(jobs)
  notices = direct === target ? pool : openClient(direct, 1, NO_LIMITS)
  watching = openClient(target, WATCH_CONNECTIONS, limits)
  ofOrganization = options.ofOrganization
  reads = { ...READ_LIMITS, ...options.reads }
}

/** Connects once. @throws what the driver says when the database cannot be reached or refuses the user */
export async function tryConnection(url: string): Promise<void> {
  const client = openClient(url, 1, NO_LIMITS)
  try {
    await client`select 1`
  } finally {
    await client.end({ timeout: 0 })
  }
}

/** Closes all connections, after the queries in flight or `timeout_s`. */
export async function closeDatabase(timeout_s = 5): Promise<void> {
  await Promise.all([pool, short, jobs, notices, watching].map((client) => client?.end({ timeout: timeout_s })))
  pool = orm = short = jobs = jobs_orm = notices = watching = undefined
}

/** The pool, for statements outside a transaction. */
export function connection(): Connection {
  if (!pool || !orm) throw new Error('The database is not connected')
  return { db: orm, sql: pool }
}

/** The connection for requests in an organization: the pool. */
export function connectionOf(organization_id: string): Connection {
  return ofOrganization?.(organization_id) ?? connection()
}

/**
 * The connection for requests of an organization that only read: the pool, of which they hold a share (`reads.ts`). One
 * or two connections cannot be shared: statements of all organizations are sent one behind the other there.
 */
export function readingOf(organization_id: string): Connection {
  const whole = connectionOf(organization_id)
  const most = shareOf(driverPool().options.max)
  return most === 0 ? whole : { ...whole, sql: sharedReads(whole.sql, organization_id, most, reads) }
}

/**
 * Connections without time limits, for background jobs. They are not those of the pool, so that jobs delay no request.
 */
export function jobConnection(): Connection {
  if (!jobs || !jobs_orm) throw new Error('The database is not connected')
  return { db: jobs_orm, sql: jobs }
}

/**
 * A connection beside the pool for short statements that commit at once, while the caller may hold a transaction of
 * the pool (ticket numbers, NOTIFY). A second connection of the pool could wait for itself when all are taken. Its
 * commits do not wait for the disk: what relies on one is committed later in the same log, and waits.
 */
export function shortConnection(): Client {
  if (!short) throw new Error('The database is not connected')
  return short
}

/** Connections for questions about the machines of a cluster, which no statement of an organization may use. */
export function watchConnection(): Client {
  if (!watching) throw new Error('The database is not connected')
  return watching
}

/** What the patch of the driver adds. */
type Abortable = Client & { endIdle(): void; abortSilent(silent_ms: number): void }

/**
 * Ends connections that may wait for a machine of a cluster which hangs. Their statements fail as if the server were
 * away.
 * @param which `silent`: those on which a statement has waited for its answer for `silent_ms`. `overdue`: those that
 *   have not ended a statement although its time was over. `idle`: each kept connection of the coordinator to the
 *   machine goes with them.
 */
export function endConnections(which: 'silent' | 'overdue' | 'idle', silent_ms = 0): void {
  // Jobs have no time limit.
  for (const client of which === 'overdue' ? [pool, short] : [pool, short, jobs]) {
    if (which === 'idle') (client as Abortable | undefined)?.endIdle()
    else (client as Abortable | undefined)?.abortSilent(which === 'silent' ? silent_ms : OVERDUE_MS)
  }
}

/** The driver's pool, for reserved connections. */
export function driverPool(): Client {
  if (!pool) throw new Error('The database is not connected')
  return pool
}

/** The client for LISTEN. Undefined when there is only a pooler, whose sessions cannot listen. */
export function noticesClient(): Client | undefined {
  if (!notices) throw new Error('The database is not connected')
  return isPooled(notices) ? undefined : notices
}
