/** Reads figures from the database when they are scraped, and shows those of the database itself. */
import { Gauge } from 'prom-client'
import { config } from '../../base/config'
import { knownMachines } from '../../base/db/cluster/away'
import type { Connection } from '../../base/db/transact'
import { within } from '../../base/flow/within'
import { log, safeError } from '../../base/log'
import { type OutboxStats, outboxStats } from '../../delivery/outbox/operate'

/** A database that does not answer within this time counts as down. */
const ANSWER_MOST_MS = 2000

export type DatabaseFigures = {
  is_up: boolean
  duration_s: number
  outbox: OutboxStats[]
  connections: { state: string; count: number }[]
}

/** Makes the function that reads all figures. Gauges that ask at the same time share one reading. */
export function createFiguresReader(connection: Connection): () => Promise<DatabaseFigures> {
  let reading: Promise<DatabaseFigures> | undefined
  return () => {
    reading ??= readFigures(connection).finally(() => {
      reading = undefined
    })
    return reading
  }
}

/** Registers the gauges of the database. */
export function showDatabase(read: () => Promise<DatabaseFigures>): void {
  new Gauge({
    name: 'deskwire_database_up',
    help: 'Whether the database answers',
    async collect() {
      this.set((await read()).is_up ? 1 : 0)
    },
  })
  new Gauge({
    name: 'deskwire_database_machine_up',
    help: 'Whether a machine of the cluster beside the coordinator answers. Without a cluster there is no such figure',
    labelNames: ['machine'],
    collect() {
      this.reset()
      for (const { name, is_up } of knownMachines()) this.set({ machine: name }, is_up ? 1 : 0)
    },
  })
  new Gauge({
    name: 'deskwire_database_answer_seconds',
    help: 'How long the pool took to answer this scrape: the wait for a connection and the statements',
    async collect() {
      this.reset()
      const { is_up, duration_s } = await read()
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
      for (const { state, count } of (await read()).connections) this.set({ state }, count)
    },
  })
}

async function readFigures(connection: Connection): Promise<DatabaseFigures> {
  const started_ms = performance.now()
  try {
    const figures = Promise.all([outboxStats(connection), countConnections(connection)])
    const [outbox, connections] = await within(ANSWER_MOST_MS, figures, 'the database does not answer')
    return { is_up: true, duration_s: (performance.now() - started_ms) / 1000, outbox, connections }
  } catch (error) {
    log.debug({ error: safeError(error) }, 'metrics of the database cannot be read')
    return { is_up: false, duration_s: 0, outbox: [], connections: [] }
  }
}

function countConnections({ sql }: Connection) {
  return sql<{ state: string; count: number }[]>`
    select state, count(*) as count from pg_stat_activity
    where datname = current_database() and application_name = current_setting('application_name')
      and state is not null
    group by state`
}
