/** Tells the listener when no more mail can be taken: the sender's server keeps a message better than a full disk. */
import { readOfAll } from '../../base/db/all-organizations'
import type { Sql } from '../../base/db/transact'
import { freeBytes, reserveBytes, usesDataDir } from '../../base/disk/free-space'
import { log, safeError } from '../../base/log'
import type { SmtpRefusal } from '../smtp/reply'

export type CapacityLimits = {
  /** Free bytes that must be left under DATA_DIR. */
  reserve_bytes: number
  /** Messages that were accepted and wait to be filed, of all organizations. */
  max_pending: number
  /** Time that a count of `max_pending` holds. */
  count_every_ms: number
}

const LIMITS: CapacityLimits = { reserve_bytes: reserveBytes(), max_pending: 100_000, count_every_ms: 5_000 }

/**
 * Makes the check that the listener calls at MAIL. It refuses before the disk is full, and when filing is far behind.
 */
export function checkCapacity(sql: Sql, limits: Partial<CapacityLimits> = {}): () => Promise<SmtpRefusal | undefined> {
  const { reserve_bytes, max_pending, count_every_ms } = { ...LIMITS, ...limits }
  let is_behind = false
  let counted_at = Number.NEGATIVE_INFINITY
  let counting: Promise<void> | undefined

  /** Counts beside the mail, which does not wait for it. */
  const countAgain = () => {
    if (counting || performance.now() - counted_at < count_every_ms) return
    counting = hasMorePending(sql, max_pending)
      .then(
        (found) => {
          is_behind = found
        },
        (error) => log.warn({ error: safeError(error) }, 'mail that waits to be filed cannot be counted'),
      )
      .finally(() => {
        counted_at = performance.now()
        counting = undefined
      })
  }

  return async () => {
    const free_bytes = usesDataDir() ? await freeBytes() : Number.POSITIVE_INFINITY
    if (free_bytes < reserve_bytes) return { code: 452, text: '4.3.1 Not enough storage, try again later' }
    countAgain()
    return is_behind ? { code: 451, text: '4.3.2 Too many messages wait to be filed, try again later' } : undefined
  }
}

/**
 * Counts all that the machines which answer have: there are hardly more than the limit, because no more mail is taken
 * then.
 */
async function hasMorePending(sql: Sql, limit: number): Promise<boolean> {
  const counts = await readOfAll(
    sql,
    (among) => sql<{ n: number }[]>`select count(*) as n from outbox where kind = 'inbound' ${among()}`,
  )
  return counts.reduce((sum, { n }) => sum + n, 0) > limit
}
