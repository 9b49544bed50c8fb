/** The errors of the embedded database. */
import { OperatorError } from '../../errors'

/** A reason why the embedded database cannot run. Its message is one line for the operator. */
export class EmbeddedError extends OperatorError {}

/** Any error as an EmbeddedError: one of another kind keeps only the first line of its message. */
export function asEmbeddedError(error: unknown): EmbeddedError {
  if (error instanceof EmbeddedError) return error
  const reason = error instanceof Error ? error.message.split('\n')[0] : String(error)
  return new EmbeddedError(`the embedded database cannot start: ${reason}`)
}

/** True for an error of the operating system with one of these codes, such as `ENOENT`. */
export function isErrno(error: unknown, ...codes: string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
