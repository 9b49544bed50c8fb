/** Orders two changes that happen at once: the first holds its locks until the second waits for one of them. */
import { connection } from '../../src/base/db/pool'
import { type Connection, transact } from '../../src/base/db/transact'
import { someoneWaits } from './lock-waits'

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
