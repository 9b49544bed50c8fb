/** Orders two changes that happen at once: the first holds its locks until the second waits for one of them. */
import { connection } from '../../src/db/pool'
import { type Connection, transact } from '../../src/db/transact'

/** Where a change comes from that a test makes without a request. */
export const ORIGIN = { ip: '127.0.0.1', user_agent: null, request_id: 'test' }

/**
 * Does `first` in a transaction that stays open until a statement of `second` waits for a lock, then commits it.
 * @returns the answer of `second`
 */
export async function overtake<T>(
  first: (inner: Connection) => Promise<unknown>,
  second: () => Promise<T>,
): Promise<T> {
  const begun = await transact(connection(), async (inner) => {
    await first(inner)
    const answer = second()
    await someoneWaits()
    // In an object: a promise that is returned would be awaited before the commit that it waits for.
    return { answer }
  })
  return begun.answer
}

/** Resolves when a statement of this database waits for a lock. It asks outside the transaction, which would see one state. */
async function someoneWaits(): Promise<void> {
  const waiting = () => connection().sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await waiting()).length === 0) await Bun.sleep(5)
}
