/** A finding of a check of the doctor. */
import type { Connection } from '../../base/db/transact'

/** An error keeps the service from its work, or will lose something. A warning is to be looked at. */
export type Finding = {
  level: 'error' | 'warning'
  /** The fault, and why it matters. */
  message: string
  /** The cure: a command, a setting, or where to look. */
  action: string
  /** Ids and figures, for machines. */
  details?: Record<string, unknown>
}

/** A check that needs the database gets its connection. It throws what it did not expect. */
export type Check = { name: string } & (
  | { needs: 'nothing'; run(): Promise<Finding[]> }
  | { needs: 'database'; run(connection: Connection): Promise<Finding[]> }
)

/** Makes an error. */
export function failure(message: string, action: string, details?: Finding['details']): Finding {
  return { level: 'error', message, action, ...(details && { details }) }
}

/** Makes a warning. */
export function warning(message: string, action: string, details?: Finding['details']): Finding {
  return { level: 'warning', message, action, ...(details && { details }) }
}

/** Writes a number with its noun: `1 mailbox`, `2 mailboxes`. */
export function counted(n: number, noun: string): string {
  if (n === 1) return `1 ${noun}`
  return `${n} ${/[sx]$/.test(noun) ? `${noun}es` : `${noun}s`.replace(/([^aeiou])ys$/, '$1ies')}`
}

/** Writes the first few of a list: `a, b and 3 more`. */
export function firstOf(all: string[], most = 5): string {
  const left = all.length - most
  return left > 0 ? `${all.slice(0, most).join(', ')} and ${left} more` : all.join(', ')
}
