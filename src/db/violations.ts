/** Tells if a statement failed because of the named constraint or unique index; Drizzle wraps the driver's error. */
export function violates(error: unknown, constraint: string): boolean {
  return (causeOf(error) as { constraint_name?: string } | undefined)?.constraint_name === constraint
}

/** Errors that go away by themselves: no connection, a server that stops, starts or is full, deadlocks. */
const PASSING = /^(CONNECTION_CLOSED|CONNECT_TIMEOUT|ECONN|ENOENT|EPIPE|ETIMEDOUT|57|53|55P03|08|40001|40P01)/

/** Tells if the same statement may succeed later. */
export function isPassing(error: unknown): boolean {
  return PASSING.test(codeOf(error))
}

/** Tells if the statement failed because the server could not be reached, or stops or starts. */
export function isAway(error: unknown): boolean {
  return /^(CONNECTION_|CONNECT_TIMEOUT|ECONNREFUSED|ECONNRESET|57P0|08)/.test(codeOf(error))
}

function codeOf(error: unknown): string {
  const cause = causeOf(error)
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : ''
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause ? error.cause : error
}
