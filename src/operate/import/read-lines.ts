/** Reads a file of JSON lines of any size in batches: memory is bounded by the longest line that is allowed. */
import { bytesOf } from '../backup/read-file'

/** The longest line. */
export const LINE_MOST = 8 * 1024 * 1024
/** Bytes of a batch: it ends with the line that exceeds this. */
const BATCH_BYTES = 2 * 1024 * 1024
const LINE_BREAK = 10

/** A line by its number; without text when it is too long. */
export type TextLine = { line: number; text: string | undefined }

/** @param most lines of a batch @throws ENOENT when there is no such file */
export async function* batchesOf(file: string, most: number): AsyncGenerator<TextLine[]> {
  let batch: TextLine[] = []
  let size = 0
  for await (const one of linesOf(file)) {
    if (one.text?.trim() === '') continue
    batch.push(one)
    size += one.text?.length ?? 0
    if (batch.length < most && size < BATCH_BYTES) continue
    yield batch
    batch = []
    size = 0
  }
  if (batch.length > 0) yield batch
}

async function* linesOf(file: string): AsyncGenerator<TextLine> {
  let line = 1
  let pieces: Uint8Array[] = []
  let length = 0
  const add = (piece: Uint8Array) => {
    length += piece.length
    if (length <= LINE_MOST) pieces.push(piece)
    else pieces = []
  }
  const taken = (): TextLine => {
    const one = { line, text: length > LINE_MOST ? undefined : Buffer.concat(pieces).toString() }
    line++
    pieces = []
    length = 0
    return one
  }
  for await (const chunk of bytesOf(file)) {
    let from = 0
    for (let at = chunk.indexOf(LINE_BREAK); at >= 0; at = chunk.indexOf(LINE_BREAK, from)) {
      add(chunk.subarray(from, at))
      yield taken()
      from = at + 1
    }
    add(chunk.subarray(from))
  }
  if (length > 0) yield taken()
}
