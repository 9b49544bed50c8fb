/** Tells faults of the store (S3 or the disk) from those of what was to be stored, names them, and counts them. */
import { UnavailableError } from '../../base/errors'
import { within } from '../../base/flow/within'
import { countStoreFailure } from '../../base/metrics/store-failures'
import type { Store } from './store'

/** Longest wait for one answer of S3, such as that to a part of 5 MiB. */
const ANSWER_MOST_MS = 60_000

/** Message of the error when that time is over. */
const NO_ANSWER = 'S3 does not answer'

/**
 * The disk is full, gone, not writable or broken, a link or a file in the place of a folder, or the process may open
 * no more files.
 */
const DISK_FAULTS = new Set([
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EIO',
  'EACCES',
  'EPERM',
  'EMFILE',
  'ENFILE',
  'ELOOP',
  'ENOTDIR',
])

/**
 * Wraps a store: its calls reject with `UnavailableError` when the store is to blame, and such failures are counted.
 */
export function namingFaults(store: Store, kind: 's3' | 'file'): Store {
  const watch = async <T>(operation: keyof Store, work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      if (!isFaultOf(kind, error)) throw error
      countStoreFailure(kind, operation)
      throw new UnavailableError(kind === 's3' ? 'S3' : 'DISK', error)
    }
  }
  return {
    put: (key, bytes) => watch('put', store.put(key, bytes)),
    open: (key, range) => watch('open', store.open(key, range)),
    read: (key) => watch('read', store.read(key)),
    fileOf: (key) => watch('read', store.fileOf(key)),
    remove: (key) => watch('remove', store.remove(key)),
  }
}

/** Waits for an answer of S3, whose client has no time limit. @throws Error that counts as a fault of S3 */
export function answerOf<T>(work: Promise<T>, most_ms = ANSWER_MOST_MS): Promise<T> {
  return within(most_ms, work, NO_ANSWER)
}

/** True for the error of reading a key without bytes. */
export function isNothingThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'NoSuchKey')
}

function isFaultOf(kind: 's3' | 'file', error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  if (kind === 'file') return DISK_FAULTS.has(code)
  // A key without bytes is no fault of S3.
  return error.message === NO_ANSWER || (error.name === 'S3Error' && code !== 'NoSuchKey')
}
