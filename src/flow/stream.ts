/** Answers that are made while they are read: at the pace of the reader, and broken off when he stops reading. */

/** How long the reader may read nothing. */
const STALL_MS = 60_000
/** Handed on at once: a reader on a slow line must get this far in the time above. */
const CHUNK_BYTES = 64 * 1024
/**
 * Large texts make garbage faster than it is collected by itself: eight readers of 320 MB each grew the process by
 * 1.1 GiB, and collecting after this much by 0.3 GiB.
 */
const COLLECT_BYTES = 32_000_000

type Options = {
  /** Gives back what the pieces hold, however the stream ends; may come more than once, and while a piece is made. */
  end?: () => Promise<void>
  stall_ms?: number
}

/**
 * The bytes of texts, each of which is asked for when the one before has been taken. An error of theirs breaks the
 * stream, so that no one takes a part for the whole.
 */
export function streamOf(pieces: AsyncIterator<string>, options: Options = {}): ReadableStream<Uint8Array> {
  const { end = async () => {}, stall_ms = STALL_MS } = options
  const encoder = new TextEncoder()
  let stalled: Timer | undefined
  let rest = new Uint8Array()
  const watch = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    stalled = setTimeout(() => {
      controller.error(new Error('The stream has ended: nobody read on'))
      void end()
    }, stall_ms)
    stalled.unref()
  }
  return new ReadableStream<Uint8Array>(
    {
      start: watch,
      async pull(controller) {
        clearTimeout(stalled)
        try {
          while (rest.length === 0) {
            const { value, done } = await pieces.next()
            if (done) {
              await end()
              return controller.close()
            }
            rest = encoder.encode(value)
            noteMade(rest.length)
          }
          controller.enqueue(rest.subarray(0, CHUNK_BYTES))
          rest = rest.subarray(CHUNK_BYTES)
          watch(controller)
        } catch (error) {
          await end()
          throw error
        }
      },
      cancel() {
        clearTimeout(stalled)
        return end()
      },
    },
    { highWaterMark: 0 },
  )
}

let made_bytes = 0

/** Counts what all streams of this process made. */
function noteMade(bytes: number): void {
  made_bytes += bytes
  if (made_bytes < COLLECT_BYTES) return
  made_bytes = 0
  Bun.gc(true)
}
