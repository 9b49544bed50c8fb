/** Turns errors of the database into errors of the API. */
import { codeOf, violatedBy } from '../../base/db/violations'
import { ApiError } from '../../base/errors'
import { notFoundCodeOf } from './resources'

/**
 * Codes of driver, system and PostgreSQL for: no connection, a full disk, too many clients, a deadlock, a statement or
 * a transaction that took too long, a server that is a standby by now, a prepared statement that a pooler has lost.
 */
const UNAVAILABLE =
  /^(CONNECTION_|CONNECT_TIMEOUT|ECONN|ENOENT|EPIPE|ENOSPC|57014|57P0|53|58030|08|25P03|25006|26000|40001|40P01|42P05)/

/** The code of a wait for a lock that took too long. */
const LOCKED = '55P03'
const HELD = 'Another change holds what this one needs. Nothing was changed'

const FOREIGN_KEY_VIOLATION = '23503'

/**
 * Returns 422 with the resource's own code for a row that another request removed between the look-up and the write,
 * 503 for a database that cannot work at the moment, and undefined for what is a fault of ours.
 */
export function fromDatabase(error: unknown): ApiError | undefined {
  const code = codeOf(error)
  if (code === LOCKED) return new ApiError('SERVICE_UNAVAILABLE', { reason: HELD })
  if (UNAVAILABLE.test(code)) return new ApiError('SERVICE_UNAVAILABLE')
  const removed = code === FOREIGN_KEY_VIOLATION && violatedBy(error).map(notFoundCodeOf).find(Boolean)
  return removed ? new ApiError(removed, {}, 422) : undefined
}
