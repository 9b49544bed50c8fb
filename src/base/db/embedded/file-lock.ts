/**
 * Locks files with flock(2), which Node does not offer. The kernel frees such a lock with the last process that holds
 * it, however that process ended, and the lock holds between containers that share a volume. proper-lockfile, the usual
 * package, makes a folder and touches it instead: after a kill -9 the folder blocks a new start for 10 s, and a process
 * that was stopped for as long loses its lock to another one.
 */
import fs from 'node:fs'
import { openLibc } from '../../runtime/libc'

/** LOCK_EX | LOCK_NB: does not wait. */
const LOCK_EXCLUSIVE_NOW = 2 | 4

/**
 * Locks a file and writes the id of this process into it. A child that inherits the descriptor shares the lock, which
 * then lasts until the last of them is gone.
 * @returns the descriptor, which `fs.closeSync` frees; undefined when another process holds the lock
 */
export function lockFile(file: string): number | undefined {
  // The folder may be another user's: never write through a link that was put there.
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = fs.constants
  const descriptor = fs.openSync(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
  if (libc().flock(descriptor, LOCK_EXCLUSIVE_NOW) !== 0) {
    fs.closeSync(descriptor)
    return undefined
  }
  fs.ftruncateSync(descriptor)
  fs.writeSync(descriptor, `${process.pid}\n`, 0)
  return descriptor
}

/** The process id that the holder of a lock wrote into it; 0 when the file holds none. */
export function lockHolder(file: string): number {
  return Number(fs.readFileSync(file, 'utf8').trim()) || 0
}

function libc() {
  return openLibc({ flock: { args: ['i32', 'i32'], returns: 'i32' } })
}
