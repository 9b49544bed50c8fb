/** Reads files of the folder that is the working directory. */
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'

/** Bytes that are read at once. */
const CHUNK_BYTES = 256 * 1024

/**
 * Reads a file in pieces. `createReadStream` of Bun makes the name absolute, and this OS user may have no right to the folders
 * above.
 */
export async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  const handle = await open(file)
  try {
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

/** Reads a text file line by line. */
export function linesOf(file: string): AsyncIterable<string> {
  return createInterface({ input: Readable.from(bytesOf(file)), crlfDelay: Number.POSITIVE_INFINITY })
}
