/** Reads files of the folder that is the working directory. */
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { bytesBelow } from '../../base/disk/plain-file'

const LINE_BREAK = 10

/** Reads a file in pieces. @throws ENOENT, ELOOP when it, or a folder on the way to it, is a link or not plain */
export function bytesOf(file: string): AsyncGenerator<Uint8Array> {
  return bytesBelow('.', file)
}

/** Reads a whole text file. @throws as `bytesOf` does */
export async function textOf(file: string): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of bytesOf(file)) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Counts the lines of a text; a last one without a line break is one. */
export async function countLines(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let lines = 0
  let last = LINE_BREAK
  for await (const chunk of chunks) {
    for (let at = chunk.indexOf(LINE_BREAK); at >= 0; at = chunk.indexOf(LINE_BREAK, at + 1)) lines++
    last = chunk.at(-1) ?? last
  }
  return last === LINE_BREAK ? lines : lines + 1
}

/** Reads a text file line by line. */
export function linesOf(file: string): AsyncIterable<string> {
  return createInterface({ input: Readable.from(bytesOf(file)), crlfDelay: Number.POSITIVE_INFINITY })
}
