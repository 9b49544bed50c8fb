/** Reads files of the folder that is the working directory. */
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { bytesBelow } from '../../base/disk/plain-file'

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

/** Reads a text file line by line. */
export function linesOf(file: string): AsyncIterable<string> {
  return createInterface({ input: Readable.from(bytesOf(file)), crlfDelay: Number.POSITIVE_INFINITY })
}
