/** Streams answers that are made while they are read: at the pace of the reader, and ended when the reader stops. */

import { noteMade } from '../../base/process/collect'

/** Time that the reader may read nothing. */
const STALL_MS = 60_000
/** Bytes handed on at once. A reader on a slow line must read as many within the time above. */
const CHUNK_BYTES = 64 * 1024
type Options = {
  /** Frees what the pieces hold, however the stream ends. May be called more than once, and while a piece is made. */
  end?: () => Promise<void>
  stall_ms?: number
  /** How long all of it may take. */
  total_ms?: number
}

/**
 * Streams texts, as UTF-8, or bytes; each piece is asked for when the one before has been read. An error in making them
 * breaks the connection, so that nobody mistakes a part for the whole.
 */
export function streamOf(
  pieces: AsyncIterator<string | Uint8Array>,
  options: Options = {},
): ReadableStream<Uint8Array> {
  const { end = async () => {}, stall_ms = STALL_MS, total_ms } = options
  const chunks = chunksOf(pieces)
  let stalled: Timer | undefined
  let late: Timer | undefined
  const breakOff = (controller: ReadableStreamDefaultController<Uint8Array>, reason: string, after_ms: number) => {
    const timer = setTimeout(() => {
      controller.error(new Error(`The stream has ended: ${reason}`))
      void finish()
    }, after_ms)
    timer.unref()
    return timer
  }
  const watch = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    stalled = breakOff(controller, 'nobody read on', stall_ms)
  }
  const finish = () => {
    clearTimeout(stalled)
    clearTimeout(late)
    return end()
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        watch(controller)
        if (total_ms) late = breakOff(controller, 'it took too long', total_ms)
      },
      async pull(controller) {
        clearTimeout(stalled)
        try {
          const { value, done } = await chunks.next()
          if (done) {
            await finish()
            return controller.close()
          }
          controller.enqueue(value)
          watch(controller)
        } catch (error) {
          await finish()
          throw error
        }
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  )
}

/** Encodes texts, each when it is needed, in chunks that are not too large for a slow reader. */
async function* chunksOf(pieces: AsyncIterator<string | Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  const encoder = new TextEncoder()
  for (;;) {
    const { value, done } = await pieces.next()
    if (done) return
    const bytes = typeof value === 'string' ? encoder.encode(value) : value
    noteMade(bytes.length)
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES)
  }
}
