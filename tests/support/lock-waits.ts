/** Tells when a statement waits for a lock, on any node of a cluster. */
import { connection } from '../../src/base/db/pool'
import type { Sql } from '../../src/base/db/transact'
import { nodeUrls } from './cluster'

/**
 * True while a statement of this database waits for a lock. It asks outside of transactions, which would see one state.
 */
export async function isSomeoneWaiting(): Promise<boolean> {
  return (await countOfWaiting('pid')) > 0
}

/** Lists the statements that wait for a lock, as this process sent them, on whichever node they wait. */
export async function statementsWaiting(sql: Sql): Promise<string[]> {
  const waiting = nodeUrls()
    ? sql<{ query: string }[]>`select distinct on (waiting_gpid) blocked_statement as query from citus_lock_waits`
    : sql<{ query: string }[]>`
        select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  return (await waiting).map(({ query }) => query)
}

/** Resolves when a statement of this database waits for a lock. */
export async function someoneWaits(): Promise<void> {
  while (!(await isSomeoneWaiting())) await Bun.sleep(5)
}

/**
 * Ends the database connection that waits for a lock, once there is one: its process is gone before it could commit.
 */
export async function breakWhoWaits(): Promise<void> {
  while ((await countOfWaiting('pg_terminate_backend(pid)')) === 0) await Bun.sleep(5)
}

/** Counts the processes that wait for a lock. @param value SQL that is computed for each of them, and is not null */
async function countOfWaiting(value: string): Promise<number> {
  const { sql } = connection()
  const count = `
    select count(${value}) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const rows = nodeUrls()
    ? await sql<{ count: string }[]>`select result as count from run_command_on_all_nodes(${count})`
    : await sql.unsafe<{ count: string }[]>(count)
  return rows.reduce((sum, row) => sum + Number(row.count), 0)
}
