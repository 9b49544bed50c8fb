/**
 * Reads the clock of the database behind a lock. A statement cannot write `clock_timestamp()` on a cluster, and `now()`
 * is from the begin of the transaction, before the wait for the lock.
 */
import type { Sql } from './transact'

/**
 * Takes a lock, and reads the time at which it was taken. Both are sent together, so the time adds no round trip. The
 * transaction gets its id before the time is read: `base/shapes/settled.ts` relies on it, and on a cluster nothing else
 * gives the transaction one on the coordinator.
 * @param lock the statement that locks rows, or work that begins with it
 * @returns what `lock` returns, and the time as statements take it and `Date.parse` reads it:
 *   `YYYY-MM-DDThh:mm:ss.uuuuuuZ`
 */
export async function withChangeTime<T>(sql: Sql, lock: T | PromiseLike<T>): Promise<[Awaited<T>, string]> {
  // The statements are sent in this order, because neither was before: they are sent once somebody waits for them.
  const sent = [
    lock,
    sql<[{ time: string }]>`
      select pg_current_xact_id()::text as id,
        to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time`,
  ] as const
  await Promise.allSettled(sent)
  const [locked, [{ time }]] = await Promise.all(sent)
  return [locked, time]
}
