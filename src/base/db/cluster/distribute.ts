/** Spreads a database over the machines of its Citus cluster. */
import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'
import { log } from '../../log'
import type { ConnectionOptions } from '../connection-url'
import { type Client, NO_LIMITS, openClient } from '../driver-client'
import { MigrationError } from '../migration-faults'
import { findBlockers } from './blockers'
import { findUnplaced, placeTables, type Unplaced } from './place-tables'
import { routeSearches } from './route-searches'

/** The work that would be done with a table, and how much it holds. */
type PlannedTable = Unplaced & {
  /** As PostgreSQL estimates them. */
  rows: number
  bytes: number
}

export type DistributionPlan = {
  /** Why nothing can be done; empty when it can. */
  blockers: string[]
  tables: PlannedTable[]
}

export type Distribution = { tables: Unplaced[]; duration_ms: number }

/** The longest that it waits for the tables. Requests wait behind it meanwhile, so it gives way, and tries again. */
const LOCK_MS = 900
const PAUSE_MS = 2000
/** A lock that was not had in time, and a deadlock. */
const GIVES_WAY = ['55P03', '40P01']

/**
 * Lists what `distributeDatabase` would do, and what is in its way. Changes nothing, and takes no lock on a table.
 * @param target a connection URL, or options of postgres.js: the coordinator of the cluster
 */
export function planDistribution(target: string | ConnectionOptions): Promise<DistributionPlan> {
  return withClient(target, async (client) => {
    const blockers = await findBlockers(client)
    if (blockers.length > 0) return { blockers, tables: [] }
    const tables = await findUnplaced(client)
    const sizes = await client<Omit<PlannedTable, 'kind'>[]>`
      select relname as name, greatest(reltuples, 0)::float8 as rows, pg_total_relation_size(oid)::float8 as bytes
      from pg_class where relnamespace = 'public'::regnamespace and relname = any(${tables.map(({ name }) => name)}::text[])`
    return {
      blockers,
      tables: tables.map((table) => ({ ...table, ...sizes.find(({ name }) => name === table.name)! })),
    }
  })
}

/**
 * Distributes the tables that are not distributed yet, with their rows, in one transaction: when it is broken off, the
 * database is as it was, on every machine. Other sessions wait for the tables until it ends.
 * @param target a connection URL, or options of postgres.js: the coordinator of the cluster, without a pooler
 * @returns the tables that it has placed: none when all were
 * @throws MigrationError with what is in the way
 */
export function distributeDatabase(target: string | ConnectionOptions): Promise<Distribution> {
  return withClient(target, async (client) => {
    const [blocker] = await findBlockers(client)
    if (blocker) throw new MigrationError(blocker)
    const began_ms = performance.now()
    const tables = await placeWhenFree(client)
    // Plans made for empty tables read all rows of an organization. Citus analyzes on every machine.
    if (tables.length > 0) await client`analyze ${client(tables.map(({ name }) => name))}`
    return { tables, duration_ms: Math.round(performance.now() - began_ms) }
  })
}

async function placeWhenFree(client: Client): Promise<Unplaced[]> {
  for (;;) {
    try {
      return await client.begin(placeAll)
    } catch (error) {
      if (!GIVES_WAY.includes(String((error as { code?: unknown }).code))) throw error
      log.warn('waits for others that use the tables')
      await sleep(PAUSE_MS)
    }
  }
}

async function placeAll(sql: postgres.TransactionSql): Promise<Unplaced[]> {
  const tables = await findUnplaced(sql)
  if (tables.length === 0) return []
  await sql.unsafe(`set local lock_timeout = ${LOCK_MS}`)
  await sql`lock table ${sql(tables.map(({ name }) => name))} in access exclusive mode`
  await sql.unsafe('set local lock_timeout = 0')
  await placeTables(sql, tables)
  await routeSearches(sql)
  return tables
}

async function withClient<T>(target: string | ConnectionOptions, work: (client: Client) => Promise<T>): Promise<T> {
  const client = openClient(target, 1, NO_LIMITS)
  try {
    return await work(client)
  } finally {
    await client.end({ timeout: 5 })
  }
}
