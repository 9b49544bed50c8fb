/**
 * Writes lines to a descriptor and waits for nobody: not for a full disk, nor for who reads the other end of a pipe.
 * Asks poll(2) before each piece, because a descriptor that does not wait would not wait for the
 * shell either that shares it. pino's own writer, sonic-boom, repeats a write that fails without end.
 */
import fs from 'node:fs'
import { addressOf, openLibc } from '../runtime/libc'

/** Lines that wait for a slow reader. More is dropped. */
const WAITING_MOST_BYTES = 1_000_000
const RETRY_MS = 20
/** Time that a process which ends leaves to a slow reader. */
const LAST_MS = 200
/** PIPE_BUF: a pipe or socket that is ready takes as much at once. */
const PIECE_BYTES = 4096

const POLLOUT = 4

/** @param onLost called for lines that are dropped, with the code of the error; EAGAIN when nobody reads */
export function createOutput(descriptor: number, onLost: (code: string, lines: number) => void) {
  const piece_bytes = fs.fstatSync(descriptor).isFile() ? Number.POSITIVE_INFINITY : PIECE_BYTES
  const waiting: Buffer[] = []
  let waiting_bytes = 0
  /** A part of the first line that waits, or of one that was dropped, is written. */
  let is_within = false
  let dropped = 0
  let timer: Timer | undefined

  const drop = (code: string, lines: number) => {
    dropped += lines
    onLost(code, lines)
  }
  /** @returns the code of an error */
  const writePieces = (wait_ms: number): string | undefined => {
    for (let line = waiting[0]; line; line = waiting[0]) {
      if (!isReady(descriptor, wait_ms)) return 'EAGAIN'
      try {
        const written = fs.writeSync(descriptor, line.subarray(0, piece_bytes))
        waiting_bytes -= written
        is_within = written < line.length
        if (is_within) waiting[0] = line.subarray(written)
        else waiting.shift()
      } catch (error) {
        return String((error as NodeJS.ErrnoException).code)
      }
    }
    return undefined
  }
  const flush = (wait_ms = 0) => {
    clearTimeout(timer)
    const code = writePieces(wait_ms)
    if (code === 'EAGAIN') {
      timer = setTimeout(flush, RETRY_MS)
      timer.unref()
    } else if (code) {
      waiting_bytes = 0
      drop(code, waiting.splice(0).length)
    }
  }
  process.once('exit', () => flush(LAST_MS))

  return {
    write(line: string): void {
      const bytes = Buffer.from(is_within && waiting.length === 0 ? `\n${line}` : line)
      if (waiting_bytes + bytes.length > WAITING_MOST_BYTES) {
        drop('EAGAIN', 1)
        return
      }
      waiting.push(bytes)
      waiting_bytes += bytes.length
      flush()
    },
    /** Lines that were dropped. */
    get dropped(): number {
      return dropped
    },
  }
}

/** True as well for a descriptor whose next write fails. */
function isReady(descriptor: number, wait_ms: number): boolean {
  // A struct pollfd on a little-endian machine, the only kind that Bun runs on.
  const asked = new Int32Array([descriptor, POLLOUT])
  library ??= openLibrary()
  return library.poll(addressOf(asked), 1, wait_ms) !== 0
}

let library: ReturnType<typeof openLibrary> | undefined

function openLibrary() {
  return openLibc({ poll: { args: ['ptr', 'u64', 'i32'], returns: 'i32' } })
}
