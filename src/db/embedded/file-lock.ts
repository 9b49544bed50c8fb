/** Locks on files that the kernel frees with the last process that holds them, however it ended. */
import { dlopen } from 'bun:ffi'
import fs from 'node:fs'

const LOCK_EXCLUSIVE_NOW = 2 | 4

/**
 * Locks a file (flock(2)) and writes this process's id into it. The lock also holds between containers that share a
 * volume, where a process id says nothing. A child that inherits the descriptor shares the lock: it lasts until the
 * last of them is gone.
 * @returns the descriptor, `fs.closeSync` frees it; `undefined` when another process holds the lock
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

/** The process id that the holder of a lock left in it; `0` when there is none. */
export function lockHolder(file: string): number {
  return Number(fs.readFileSync(file, 'utf8').trim()) || 0
}

function libc() {
  const library = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'
  return dlopen(library, { flock: { args: ['i32', 'i32'], returns: 'i32' } }).symbols
}
