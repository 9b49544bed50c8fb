/** Tells when a statement waits for a lock, on any node of a cluster. */
import { connection } from '../../src/db/pool'
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

/** Resolves when a statement of this database waits for a lock. */
export async function someoneWaits(): Promise<void> {
  while (!(await isSomeoneWaiting())) await Bun.sleep(5)
}
