/**
 * Decodes uuencoded files: as a transfer encoding (three files in two messages of the test corpus), and as blocks
 * within plain text, where UNIX programs and the Outlook of old put them. No package decodes either; mailparser 3.9 and
 * postal-mime 4.0 leave both as they are. The tests are "uuencoded parts are decoded" and "files within a plain text
 * are files" in mail-parse.test.ts.
 */

import { CR, endOfLine, LF } from './lines'

/** A file within a text. Its block are the bytes from `start` to `end`. */
type UuencodedFile = { filename: string; content: Buffer; start: number; end: number }

type Block = { filename: string; data: number; end: number }

const BEGIN = /^begin [0-7]{3,4} (\S.*)$/
const MAX_LINE_BYTES = 45
const MAX_FILES = 100
/** Lines that look like the beginning of a block and mostly stand in texts about uuencode. */
const MAX_BEGINNINGS = 1000
const MAX_BEGIN_LINE = 300

/** Decodes what stands between the `begin` line and `end`; either may be missing. */
export function decodeUuencoded(bytes: Buffer): Buffer {
  const decoded = Buffer.alloc(bytes.length)
  let length = 0
  let position = dataStart(bytes)
  // Decoded data is shorter than encoded: lines that claim more are no data.
  while (position < bytes.length && length < bytes.length) {
    const next = endOfLine(bytes, position)
    if (isEnd(bytes, position, next)) break
    length += decodeLine(bytes, position, lineEnd(bytes, position, next), decoded, length)
    position = next
  }
  return decoded.subarray(0, length)
}

/** Finds the complete blocks of a text. A block without `end`, or with a line that is not uuencoded, stays text. */
export function findUuencoded(bytes: Buffer): UuencodedFile[] {
  const files: UuencodedFile[] = []
  let position = 0
  for (let tries = 0; tries < MAX_BEGINNINGS && position < bytes.length && files.length < MAX_FILES; tries += 1) {
    const block = readBlock(bytes, position)
    if (block) {
      const { filename, data, end } = block
      files.push({ filename, content: decodeUuencoded(bytes.subarray(data, end)), start: position, end })
    }
    // A block may follow another at once: the line break at the end of the first stands before the second.
    const next = bytes.indexOf('\nbegin ', block ? block.end - 1 : position)
    position = next < 0 ? bytes.length : next + 1
  }
  return files
}

function readBlock(bytes: Buffer, start: number): Block | null {
  const data = endOfLine(bytes, start)
  const filename = beginLine(bytes, start, data)
  if (filename === null) return null
  for (let position = data; position < bytes.length; ) {
    const next = endOfLine(bytes, position)
    if (isEnd(bytes, position, next)) return position > data ? { filename, data, end: next } : null
    if (!isUuencoded(bytes, position, lineEnd(bytes, position, next))) return null
    position = next
  }
  return null
}

/** Gives the file name in the line that begins a block; null for every other line. */
function beginLine(bytes: Buffer, start: number, next: number): string | null {
  if (next - start > MAX_BEGIN_LINE) return null
  return BEGIN.exec(bytes.toString('latin1', start, next).trimEnd())?.[1] ?? null
}

function dataStart(bytes: Buffer): number {
  for (let position = 0; position < bytes.length; ) {
    const next = endOfLine(bytes, position)
    if (beginLine(bytes, position, next) !== null) return next
    position = next
  }
  return 0
}

/** True for a line whose first character fits its length. Spaces at its end may have been lost on the way. */
function isUuencoded(bytes: Buffer, start: number, end: number): boolean {
  if (end === start) return true
  const size = value(bytes[start])
  const given = end - start - 1
  if (size > MAX_LINE_BYTES || given > Math.ceil(size / 3) * 4 + 2) return false
  for (let position = start; position < end; position += 1) {
    const byte = bytes[position] ?? 0
    if (byte < 0x20 || byte > 0x60) return false
  }
  return true
}

/** Writes the bytes of a line and gives their number. Missing characters were spaces, which mean zero. */
function decodeLine(bytes: Buffer, start: number, end: number, decoded: Buffer, offset: number): number {
  if (end === start) return 0
  const size = value(bytes[start])
  const at = (position: number) => (position < end ? value(bytes[position]) : 0)
  for (let position = start + 1, written = 0; written < size; position += 4) {
    const triple = (at(position) << 18) | (at(position + 1) << 12) | (at(position + 2) << 6) | at(position + 3)
    for (let shift = 16; shift >= 0 && written < size; shift -= 8, written += 1) {
      decoded[offset + written] = (triple >> shift) & 255
    }
  }
  return size
}

function value(byte = 0x20): number {
  return (byte - 0x20) & 63
}

function isEnd(bytes: Buffer, start: number, next: number): boolean {
  return next - start <= 5 && bytes.toString('latin1', start, next).trimEnd() === 'end'
}

/** Gives the end of the line without its line break. */
function lineEnd(bytes: Buffer, start: number, next: number): number {
  let end = next
  while (end > start && (bytes[end - 1] === LF || bytes[end - 1] === CR)) end -= 1
  return end
}
