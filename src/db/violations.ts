/** Whether a statement failed because of the named constraint or unique index; Drizzle wraps the driver's error. */
export function violates(error: unknown, constraint: string): boolean {
  return (causeOf(error) as { constraint_name?: string } | undefined)?.constraint_name === constraint
}

/** What goes away by itself: no connection, a server that stops, starts or is full, deadlocks. */
const PASSING = /^(CONNECTION_CLOSED|CONNECT_TIMEOUT|ECONN|ENOENT|EPIPE|ETIMEDOUT|57|53|55P03|08|40001|40P01)/

/** Whether the same statement may succeed later. */
export function isPassing(error: unknown): boolean {
  const cause = causeOf(error)
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' && PASSING.test(code)
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause ? error.cause : error
}
