/** Connections and transactions, on which statements run; opens a transaction. */
import { is } from 'drizzle-orm'
import { PgTransaction } from 'drizzle-orm/pg-core'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import type postgres from 'postgres'
import { observeTransaction } from '../metrics/database-transactions'

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

/** Runs `work` in a transaction; within one, in a savepoint. Any error rolls it back and is thrown on. */
export async function transact<T>(outer: Connection, work: (inner: Connection) => Promise<T>): Promise<T> {
  const db = outer.db as PostgresJsDatabase
  const observed = is(db, PgTransaction) ? undefined : observeTransaction()
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
