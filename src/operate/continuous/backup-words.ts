/** Says why the backup cannot be written or read. */
import { OperatorError } from '../../base/errors'
import { safeError } from '../../base/log'
import { explained } from '../backup/backup-error'

/** One line for the operator, without anything of a row. */
export function wordsOf(error: unknown): string {
  const known = explained(error, 'the backup')
  if (known instanceof OperatorError) return known.message
  const { code, message, name } = safeError(known)
  return String(code ?? message ?? name)
}
