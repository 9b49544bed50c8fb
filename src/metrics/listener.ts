/** Figures for Prometheus, on a listener of their own (METRICS_PORT); sections add theirs to the same registry. */
import { collectDefaultMetrics, Gauge, Histogram, register } from 'prom-client'
import { config } from '../config'
import { connection } from '../db/pool'
import type { Connection } from '../db/transact'
import { ensureUrl } from '../http/url'
import { log, safeError } from '../log'
import { type OutboxStats, outboxStats } from '../outbox/operate'

/** A database that does not answer in this time is down to whoever scrapes. */
const DATABASE_TIMEOUT_MS = 2000
const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS']

const requests = new Histogram({
  name: 'deskwire_http_request_duration_seconds',
  help: 'Duration of HTTP requests',
  labelNames: ['method', 'route', 'status'],
  buckets: BUCKETS,
})

const transactions = new Histogram({
  name: 'deskwire_smtp_transaction_duration_seconds',
  help: 'Duration of inbound SMTP transactions, by the class of the last reply',
  labelNames: ['reply'],
  buckets: BUCKETS,
})

new Gauge({
  name: 'deskwire_database_up',
  help: 'Whether the database answers',
  async collect() {
    this.set((await readDatabase()).is_up ? 1 : 0)
  },
})

new Gauge({
  name: 'deskwire_database_answer_seconds',
  help: 'How long the pool took to answer this scrape: the wait for a connection and the statements',
  async collect() {
    this.reset()
    const { is_up, duration_s } = await readDatabase()
    if (is_up) this.set(duration_s)
  },
})

new Gauge({
  name: 'deskwire_database_pool_size',
  help: 'Connections that this process may open (DATABASE_POOL)',
  collect() {
    this.set(config.DATABASE_POOL)
  },
})

new Gauge({
  name: 'deskwire_database_connections',
  help: 'Connections of all processes of the service, by what they do',
  labelNames: ['state'],
  async collect() {
    this.reset()
    for (const { state, count } of (await readDatabase()).connections) this.set({ state }, count)
  },
})

new Gauge({
  name: 'deskwire_outbox_rows',
  help: 'Work that is left in the outbox',
  labelNames: ['kind', 'state'],
  async collect() {
    this.reset()
    for (const { kind, due, leased, scheduled, parked } of (await readDatabase()).outbox) {
      for (const [state, count] of Object.entries({ due, leased, scheduled, parked })) this.set({ kind, state }, count)
    }
  },
})

new Gauge({
  name: 'deskwire_outbox_oldest_due_seconds',
  help: 'Age of the oldest due work in the outbox; 0 when nothing is due',
  labelNames: ['kind'],
  async collect() {
    this.reset()
    for (const { kind, oldest_due_s } of (await readDatabase()).outbox) this.set({ kind }, oldest_due_s ?? 0)
  },
})

/** @param route the pattern of the path, never the path itself */
export function observeRequest(method: string, route: string, status: number, duration_ms: number): void {
  if (config.METRICS_PORT === undefined) return
  const known = METHODS.includes(method) ? method : 'other'
  requests.observe({ method: known, route, status }, duration_ms / 1000)
}

/** @param reply_code of the last reply of a transaction, such as 250 */
export function observeSmtp(reply_code: number, duration_ms: number): void {
  const known = reply_code >= 200 && reply_code < 600 ? `${Math.floor(reply_code / 100)}xx` : 'other'
  transactions.observe({ reply: known }, duration_ms / 1000)
}

/** Starts the listener when METRICS_PORT is set. */
export async function startMetrics() {
  if (config.METRICS_PORT === undefined) return undefined
  collectDefaultMetrics()
  return Bun.serve({
    port: config.METRICS_PORT,
    hostname: config.HOST,
    async fetch(request) {
      ensureUrl(request)
      if (new URL(request.url).pathname !== '/metrics') return new Response('Not found', { status: 404 })
      return new Response(await register.metrics(), { headers: { 'content-type': register.contentType } })
    },
  })
}

type DatabaseFigures = {
  is_up: boolean
  duration_s: number
  outbox: OutboxStats[]
  connections: { state: string; count: number }[]
}

let reading: Promise<DatabaseFigures> | undefined

/** Asked once for all figures of a scrape, and for all scrapes at the same time. */
function readDatabase(): Promise<DatabaseFigures> {
  reading ??= ask(connection()).finally(() => {
    reading = undefined
  })
  return reading
}

async function ask(connection: Connection): Promise<DatabaseFigures> {
  const started_ms = performance.now()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('the database does not answer')), DATABASE_TIMEOUT_MS)
  try {
    const figures = Promise.all([outboxStats(connection), connectionStates(connection)])
    const [outbox, connections] = await Promise.race([figures, late.promise])
    return { is_up: true, duration_s: (performance.now() - started_ms) / 1000, outbox, connections }
  } catch (error) {
    log.debug({ error: safeError(error) }, 'metrics of the database cannot be had')
    return { is_up: false, duration_s: 0, outbox: [], connections: [] }
  } finally {
    clearTimeout(timer)
  }
}

function connectionStates({ sql }: Connection) {
  return sql<{ state: string; count: number }[]>`
    select state, count(*) as count from pg_stat_activity
    where datname = current_database() and application_name = current_setting('application_name')
      and state is not null
    group by state`
}
