/** Connections and transactions, on which statements run; opens a transaction. */
import { is } from 'drizzle-orm'
import { PgTransaction } from 'drizzle-orm/pg-core'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import type postgres from 'postgres'
import { observeTransaction } from './database-transactions'
import { limitsOfTransaction, stopPreparing } from './pooler'
import { hasLostStatement, isDeadlock } from './violations'

/** Drizzle, for rows that are written as they are. */
export type Db = Pick<PostgresJsDatabase, 'insert' | 'update' | 'delete'>

/** Tagged SQL of postgres.js, for reads and designed statements. Its statements are named and stay prepared. */
export type Sql = postgres.ISql<WireTypes>

/** A part of a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>

/** Values that are not read as the driver does by default: counts are numbers. */
export type WireTypes = { bigint: number }

/** Both of them over the same connection: the pool, or one transaction of it. */
export type Connection = { db: Db; sql: Sql }

/** Runs of a transaction at most, when each loses a prepared statement or ends in a deadlock. */
const RUNS_MOST = 3

/**
 * Runs `work` in a transaction; within one, in a savepoint. Any error rolls it back and is thrown on. When the server
 * does not know a prepared statement any more, because of a pooler or a migration, or ended a deadlock by it, `work`
 * runs again: nothing of it was kept. On a cluster, whose locks of reference tables are of whole tables, deadlocks
 * cannot all be avoided.
 */
export async function transact<T>(outer: Connection, work: (inner: Connection) => Promise<T>): Promise<T> {
  const db = outer.db as PostgresJsDatabase
  if (is(db, PgTransaction)) return db.transaction((tx) => work({ db: tx, sql: driverOf(tx) }))
  for (let run = 1; ; run++) {
    try {
      return await runOnce(outer, work)
    } catch (error) {
      const lost = hasLostStatement(error)
      if (run === RUNS_MOST || !(lost || isDeadlock(error))) throw error
      if (lost === 'pooler') stopPreparing(outer.sql)
    }
  }
}

async function runOnce<T>({ db, sql }: Connection, work: (inner: Connection) => Promise<T>): Promise<T> {
  const observed = observeTransaction()
  try {
    return await (db as PostgresJsDatabase).transaction((tx) => {
      observed.began()
      const inner = driverOf(tx)
      const limits = limitsOfTransaction(sql)
      // Sent together with the first statement. Its failure is that of the transaction.
      if (limits) inner.unsafe(limits).catch(() => {})
      return work({ db: tx, sql: inner })
    })
  } finally {
    observed.ended()
  }
}

/** Drizzle keeps the driver's transaction in its session, without a public accessor. */
function driverOf(tx: unknown): Sql {
  return (tx as { session: { client: Sql } }).session.client
}
