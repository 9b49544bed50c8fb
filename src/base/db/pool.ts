/**
 * Holds the connections to PostgreSQL. Entrances and authentication take the pool from here and put it into scopes;
 * everything else gets its connection in an argument.
 */
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import { LRUCache } from 'lru-cache'
import { forgetDatabase } from './closing'
import { requireMachine } from './cluster/away'
import type { ConnectionOptions } from './connection-url'
import { type Client, NO_LIMITS, openClient, openOrm } from './driver-client'
import { type PlaceLimits, placed, type Share, sharesOf } from './places'
import { isPooled, setOwnLimits, type TimeLimits } from './pooler'
import type { Connection } from './transact'

/**
 * Limits of requests and the outbox. Without them ten endless statements, or ten that wait for one lock, would hold all
 * connections. Transactions of the outbox wait for locks as long as they need.
 */
const REQUEST_LIMITS: TimeLimits = { statement_ms: 30_000, idle_in_transaction_ms: 30_000, lock_ms: 3000 }

/** How long requests wait for their places, and read. A client that waits longer has given up, or will. */
const PLACE_LIMITS: PlaceLimits = { wait_ms: 10_000, most_ms: 10_000 }

/** Deeds go on after their request: nobody waits for their place. */
const DEED_WAIT_MS = 3_600_000

/** Organizations and accounts whose connections are kept. */
const KEPT_MOST = 1000

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
let places = PLACE_LIMITS
const kept = new LRUCache<string, Connection>({ max: KEPT_MOST })

type PoolOptions = {
  /** Those of requests when left out. */
  limits?: TimeLimits
  places?: Partial<PlaceLimits>
  /** Where a connection keeps its session, when `target` is a pooler: a URL, or options of postgres.js. */
  direct?: string | ConnectionOptions
  /** The organizations are on several machines. */
  is_cluster?: boolean
  /**
   * The connection of an organization's requests, instead of the pool: tests let the database refuse others there.
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
  if (limits.lock_ms > 0) setOwnLimits(pool, { lock_ms: 0 })
  orm = openOrm(pool)
  short = openClient(target, 1, limits, { synchronous_commit: 'off' })
  jobs = openClient(target, JOB_CONNECTIONS, NO_LIMITS)
  jobs_orm = openOrm(jobs)
  notices = direct === target ? pool : openClient(direct, 1, NO_LIMITS)
  watching = openClient(target, WATCH_CONNECTIONS, limits)
  ofOrganization = options.ofOrganization
  places = { ...PLACE_LIMITS, ...options.places }
  kept.clear()
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
  forgetDatabase()
  kept.clear()
  pool = orm = short = jobs = jobs_orm = notices = watching = undefined
}

/** The pool, for what the service does by itself: the outbox, mail over SMTP, the start. No route gets it. */
export function connection(): Connection {
  return { db: orm!, sql: driverPool() }
}

/**
 * The pool, to learn who asks before it is known whose places a request takes: one statement at a time that finds a row
 * by its key, locks nothing, and shares a connection with others.
 */
export function lookUps(organization_id?: string): Connection {
  return organization_id === undefined ? connection() : organizationPool(organization_id)
}

/**
 * The connection for requests in an organization: the pool, of which they hold a share (`places.ts`).
 * @throws MachineAwayError, as the others of an organization: nothing is sent to a machine that does not answer
 */
export function connectionOf(organization_id: string): Connection {
  requireMachine(organization_id)
  return inPlaces(`writes ${organization_id}`, organizationPool(organization_id), (shares) => [
    { name: `writes ${organization_id}`, most: shares.writes, organization_id },
    { name: organization_id, most: shares.all },
  ])
}

/** The connection for requests of an organization that only read: a smaller share, and less time. */
export function readingOf(organization_id: string): Connection {
  requireMachine(organization_id)
  return inPlaces(`reads ${organization_id}`, organizationPool(organization_id), (shares) => [
    { name: `reads ${organization_id}`, most: shares.reads, organization_id, only_reads: true },
    { name: organization_id, most: shares.all },
  ])
}

/**
 * The connection for mail that a request brings: the share of the organization. What arrives for one mailbox by other
 * ways is written with it, so that no organization has the connection to itself.
 */
export function arrivingOf(organization_id: string): Connection {
  requireMachine(organization_id)
  return inPlaces(`arriving ${organization_id}`, connection(), (shares) => [
    { name: `writes ${organization_id}`, most: shares.writes, organization_id },
    { name: organization_id, most: shares.all },
  ])
}

/**
 * The connection for the deeds of an organization that go on after their request: one at a time, of its share. It waits
 * for locks as long as it needs.
 */
export function deedsOf(organization_id: string): Connection {
  const ofShares = (shares: Shares) => [
    { name: `deeds ${organization_id}`, most: 1 },
    { name: organization_id, most: shares.all },
  ]
  return inPlaces(`deeds ${organization_id}`, organizationPool(organization_id), ofShares, {
    limits: { lock_ms: 0 },
    wait_ms: DEED_WAIT_MS,
  })
}

/**
 * The connection for requests in no organization: those who sign in, and see to their account.
 * @param asker who asks, or from where: holds one connection at a time
 */
export function accountsOf(asker: string): Connection {
  return inPlaces(`accounts ${asker}`, connection(), (shares) => [
    { name: `accounts ${asker}`, most: 1 },
    { name: 'accounts', most: shares.accounts },
  ])
}

function organizationPool(organization_id: string): Connection {
  return ofOrganization?.(organization_id) ?? connection()
}

type Shares = NonNullable<ReturnType<typeof sharesOf>>

/** Makes a connection that takes places of shares, or finds the one that was made under the name. */
function inPlaces(
  name: string,
  whole: Connection,
  wanted: (shares: Shares) => Share[],
  { limits = {}, wait_ms = places.wait_ms }: { limits?: Partial<TimeLimits>; wait_ms?: number } = {},
): Connection {
  const found = kept.get(name)
  if (found) return found
  const client = whole.sql as Client
  const shares = sharesOf(driverPool().options.max)
  const chosen = shares ? wanted(shares) : []
  // Without shares it is the pool by another name, under which transactions have the limits of requests.
  const sql = shares ? placed(client, chosen, { ...places, wait_ms }) : new Proxy(client, {})
  setOwnLimits(sql, chosen.some(({ only_reads }) => only_reads) ? { statement_ms: places.most_ms } : limits)
  const made = { db: openOrm(sql), sql }
  kept.set(name, made)
  return made
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

/** The members that the patch of the driver adds. */
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
