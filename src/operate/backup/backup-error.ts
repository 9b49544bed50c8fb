/** The errors of backups, restores and exports: one line for the operator each. */
import { OperatorError } from '../../base/errors'

/** A reason why a backup, a restore or an export cannot be made. */
export class BackupError extends OperatorError {}

/** The work is done, but files were missing or damaged before it began. */
export class DamagedFilesError extends OperatorError {
  override readonly exit_code = 3
}

const DISK_WORDS: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EACCES: 'this OS user has no right to it',
  EPERM: 'this OS user has no right to it',
  EROFS: 'the file system is read-only',
  EIO: 'the disk does not work',
  ENOENT: 'there is no such file, or no folder for it',
  EISDIR: 'it is a folder',
  ENAMETOOLONG: 'its name is too long',
  ENOTDIR: 'a part of the path is no folder',
  ELOOP: 'it is a link',
}

/**
 * Any error as a line for the operator. The message of an error of the database may name tables and constraints, and
 * never holds values of rows: those are in its detail.
 * @param what was done, such as `the backup`
 */
export function explained(error: unknown, what: string): unknown {
  if (error instanceof OperatorError || !(error instanceof Error)) return error
  const code = 'code' in error ? String(error.code) : ''
  if (error.name === 'PostgresError') {
    const detail = code.startsWith('57') ? `${error.message} (${code})` : error.message
    return new BackupError(`${what} ended: the database says: ${detail}`)
  }
  if (code.startsWith('CONNECTION_') || code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'CONNECT_TIMEOUT')
    return new BackupError(`${what} ended: the connection to the database was lost (${code})`)
  if (error.name === 'UnavailableError') return explained(error.cause, what)
  if (error.name === 'S3Error') return new BackupError(`${what} ended: S3 says ${code}`)
  const words = DISK_WORDS[code]
  if (!words) return error
  const file = 'path' in error && typeof error.path === 'string' ? `: ${error.path}` : ''
  return new BackupError(`${what} ended: ${words}${file}`)
}
