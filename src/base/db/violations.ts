/** Tells apart why statements failed. Drizzle wraps the driver's error, so its cause is looked at too. */

/** A name in a message. A machine of a cluster adds the number of its part of the table. */
const NAME = /["\p{Pi}\p{Pf}]\s?(\w+?)(?:_\d+)?\s?["\p{Pi}\p{Pf}]/gu

/** True when a statement failed because of the named constraint or unique index. */
export function violates(error: unknown, constraint: string): boolean {
  return violatedBy(error).includes(constraint)
}

/**
 * Names the constraint or unique index that a statement failed because of. On a cluster the message of one of its
 * machines arrives without the field that names it: then these are all names in the message, those of tables, too. None
 * for other failures.
 */
export function violatedBy(error: unknown): string[] {
  if (!codeOf(error).startsWith('23')) return []
  const { constraint_name, message = '' } = causeOf(error) as { constraint_name?: string; message?: string }
  return constraint_name ? [constraint_name.replace(/_\d+$/, '')] : [...message.matchAll(NAME)].map(([, name]) => name!)
}

/**
 * Codes of failures that pass: no connection, a server that stops, starts, is full or a standby, deadlocks, a statement
 * or a transaction that waited too long, a prepared statement that a pooler has lost.
 */
const PASSING =
  /^(CONNECTION_CLOSED|CONNECT_TIMEOUT|ECONN|ENOENT|EPIPE|ETIMEDOUT|57|53|55P03|08|25P03|25006|26000|40001|40P01|42P05)/

/** True when the same statement may succeed later. */
export function isPassing(error: unknown): boolean {
  return PASSING.test(codeOf(error))
}

/** A deadlock that the server cannot see, because a transaction waits for another connection of this process. */
export class DeadlockError extends Error {
  readonly code = '40P01'
}

/** True when a transaction was ended because it and others waited for each other. */
export function isDeadlock(error: unknown): boolean {
  return codeOf(error) === '40P01'
}

/** True when the server could not be reached, or stops or starts. */
export function isAway(error: unknown): boolean {
  return /^(CONNECTION_|CONNECT_TIMEOUT|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|57P0|08)/.test(codeOf(error))
}

/** The words of a cluster with the code of an internal error when the connection to one of its machines broke. */
const BROKEN =
  /marked as essential|could not commit transaction for shard|server closed the connection|connection not open|no connection to the server|could not (receive|send) data|SSL (connection|SYSCALL)/

/** The code for it when no connection can be made. */
const NO_CONNECTION = '08006'

/** True when the server answered that another node of its cluster could not be reached, or stops or starts. */
export function isNodeAway(error: unknown): boolean {
  return /^(57P0|08)/.test(codeOf(error))
}

/**
 * Tells if a prepared statement was lost: `pooler` when the session does not have it, `migration` when its result would
 * have other columns by now.
 */
export function hasLostStatement(error: unknown): 'pooler' | 'migration' | undefined {
  const code = codeOf(error)
  if (code === '26000' || code === '42P05') return 'pooler'
  const { routine } = (causeOf(error) ?? {}) as { routine?: unknown }
  return code === '0A000' && routine === 'RevalidateCachedQuery' ? 'migration' : undefined
}

/**
 * The code of the failure, of PostgreSQL, the driver or the system; empty when it has none. A lost connection between
 * machines of a cluster has one code, whatever the machine was doing.
 */
export function codeOf(error: unknown): string {
  const cause = causeOf(error)
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return ''
  const { code, message } = cause as { code: unknown; message?: unknown }
  return code === 'XX000' && BROKEN.test(String(message)) ? NO_CONNECTION : String(code)
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause ? error.cause : error
}
