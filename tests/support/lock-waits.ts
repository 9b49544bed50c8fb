/** Tells when a statement waits for a lock, on any node of a cluster. */
import { connection } from '../../src/db/pool'
import type { Sql } from '../../src/db/transact'
import { nodeUrls } from './cluster'

/** True while a statement of this database waits for a lock. It asks outside of transactions, which would see one state. */
export async function isSomeoneWaiting(): Promise<boolean> {
  const { sql } = connection()
  const waiting = nodeUrls()
    ? sql`
        select 1 from run_command_on_all_nodes($$
          select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        $$) where result <> '0'`
    : sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  return (await waiting).length > 0
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
