/** Whether a statement failed because of the named constraint or unique index; Drizzle wraps the driver's error. */
export function violates(error: unknown, constraint: string): boolean {
  const cause = error instanceof Error && error.cause ? error.cause : error
  return (cause as { constraint_name?: string } | undefined)?.constraint_name === constraint
}
