/** Spreads a database over the machines of its Citus cluster. */
import type { ConnectionOptions } from '../connection-url'
import { NO_LIMITS, openClient } from '../driver-client'
import { findUnplaced, placeTables, type Unplaced } from './place-tables'

/**
 * Distributes the tables that are not distributed yet, with their rows, in one transaction: when it is broken off, the
 * database is as it was.
 * @param target a connection URL, or options of postgres.js: the coordinator of the cluster, without a pooler
 * @returns the tables that it has placed
 */
export async function distributeDatabase(target: string | ConnectionOptions): Promise<Unplaced[]> {
  const client = openClient(target, 1, NO_LIMITS)
  try {
    return await client.begin(async (sql) => {
      const tables = await findUnplaced(sql)
      await placeTables(sql, tables)
      return tables
    })
  } finally {
    await client.end({ timeout: 5 })
  }
}
