/** Says why the backup cannot be written or read. */
import { statfs } from 'node:fs/promises'
import { config } from '../../base/config'
import { OperatorError } from '../../base/errors'
import { safeError } from '../../base/log'
import { explained } from '../backup/backup-error'
import { isBucket } from './target'

/** Warns of a base copy that a release until 0.2 made, or another SECRET_KEY. */
export function unprovenWords(is_unproven: boolean | undefined): string | undefined {
  if (!is_unproven) return undefined
  return 'the last base copy carries no proof of the present SECRET_KEY: who can write to BACKUP_TO may have changed it, until the next base copy'
}

/** Less room than two pieces of the log take. */
const FULL_BYTES = 32 * 1024 * 1024

/** Says that the disk of BACKUP_TO is full. A bucket shows no room: there the next write tells. */
export async function fullWords(): Promise<string | undefined> {
  if (!config.BACKUP_TO || isBucket(config.BACKUP_TO)) return undefined
  // One that is away is told elsewhere.
  const found = await statfs(config.BACKUP_TO).catch(() => undefined)
  if (!found || found.bavail * found.bsize >= FULL_BYTES) return undefined
  return `the disk of ${config.BACKUP_TO} is full: ${Math.floor((found.bavail * found.bsize) / 1_000_000)} MB are free`
}

/** One line for the operator, without anything of a row. */
export function wordsOf(error: unknown): string {
  const known = explained(error, 'the backup')
  if (known instanceof OperatorError) return known.message
  const { code, message, name } = safeError(known)
  return String(code ?? message ?? name)
}
