/**
 * The MIME structure of a message as a tree of parts with decoded content (RFC 2045, 2046).
 *
 * Own code because real mail breaks the rules: a missing end of an inner multipart, text after a malformed closing
 * line, parts without a header. mailparser 3.9 loses or glues parts in each of these cases.
 */
import libmime from 'libmime'
import { decodeUnlabelled } from './charset'
import { continues, fromIndex, type HeaderField, headerBlock, headerParams, rawHeader, splitHeader } from './headers'
import { decodeContent } from './transfer-encoding'
import { findUuencoded } from './uuencode'

/** A message that cannot be taken apart (too many parts, megabytes of header, a time-out): keep its original instead. */
export class UnparsableMail extends Error {
  override readonly name = 'UnparsableMail'
}

/** One MIME part. `content` is decoded and empty for a multipart; a leaf has no `children`. */
export type Part = {
  /** Lower case; '' when it is missing, as it came when it is broken. */
  content_type: string
  content_params: Map<string, string>
  /** Lower case; '' when it is missing. */
  disposition: string
  disposition_params: Map<string, string>
  fields: HeaderField[]
  content: Buffer
  children: Part[]
}

type Cursor = {
  raw: Buffer
  position: number
  /** Of the multiparts that are open, outermost first, and the innermost level that each belongs to. */
  boundaries: string[]
  levels: Map<string, number>
  parts: number
  header_bytes: number
}

/** A delimiter line: which open multipart it belongs to, and whether it closes it. `level` -1 is the end of the message. */
type Delimiter = { level: number; closing: boolean; start: number; end: number }

const CR = 0x0d
const LF = 0x0a
const DELIMITER = Buffer.from('\n--')
const FIELD = /^[!-9;-~]+[ \t]*:/
const MAX_PARTS = 1000
const MAX_DEPTH = 100
const MAX_HEADER_BYTES = 1024 * 1024
/** A thousand parts with two kilobytes each. */
const MAX_HEADERS_BYTES = 2 * MAX_HEADER_BYTES
/** RFC 2046 allows 70 characters; longer ones are seen. */
const MAX_DELIMITER_LENGTH = 300

/**
 * Takes a message apart and undoes the transfer encodings. Attached messages stay whole.
 * @throws UnparsableMail beyond 1,000 parts, 100 levels, 1 MB of header in a part or 2 MB in all
 */
export function splitParts(raw: Uint8Array): Part {
  const cursor: Cursor = {
    raw: repairStart(repairLines(raw)),
    position: 0,
    boundaries: [],
    levels: new Map(),
    parts: 0,
    header_bytes: 0,
  }
  return readPart(cursor).part
}

/** The parts of a type, wherever they are; those within an attached message belong to that one. */
export function findParts(part: Part, content_type: string): Part[] {
  const found = part.children.flatMap((child) => findParts(child, content_type))
  return part.content_type === content_type ? [part, ...found] : found
}

function readPart(cursor: Cursor): { part: Part; end: Delimiter } {
  cursor.parts += 1
  if (cursor.parts > MAX_PARTS) throw new UnparsableMail(`The message has more than ${MAX_PARTS} parts`)
  const { position } = cursor
  const fields = readHeader(cursor)
  cursor.header_bytes += cursor.position - position
  if (cursor.header_bytes > MAX_HEADERS_BYTES) throw new UnparsableMail('The message has more than 2 MB of headers')
  const type = headerParams(fields, 'content-type')
  const disposition = headerParams(fields, 'content-disposition')
  const part: Part = {
    content_type: type.value,
    content_params: type.params,
    disposition: disposition.value,
    disposition_params: disposition.params,
    fields,
    content: Buffer.alloc(0),
    children: [],
  }
  const start = cursor.position
  const boundary = type.params.get('boundary')
  if (type.value.startsWith('multipart/') && boundary) {
    const end = readChildren(cursor, part, boundary)
    // A multipart whose boundary never comes is read as what it is: text.
    if (part.children.length > 0) return { part, end }
    cursor.position = start
  }
  const end = nextDelimiter(cursor)
  part.content = decodeContent(cursor.raw.subarray(start, Math.max(start, end.start)), transferEncoding(fields))
  part.children = splitUuencoded(part)
  return { part, end }
}

/** Old programs put files into the text: then it is a sequence of texts and files. */
function splitUuencoded(part: Part): Part[] {
  const isText = part.content_type === 'text/plain' || part.content_type === ''
  if (!isText || part.disposition !== '' || part.content_params.has('name')) return []
  const files = findUuencoded(part.content)
  const text = (start: number, end?: number) => ({ ...part, content: part.content.subarray(start, end) })
  return files.flatMap(({ filename, content, start, end }, index) => {
    const name = decodeUnlabelled(Buffer.from(filename, 'latin1'))
    const file: Part = {
      content_type: libmime.detectMimeType(name),
      content_params: new Map(),
      disposition: 'attachment',
      disposition_params: new Map([['filename', name]]),
      fields: [],
      content,
      children: [],
    }
    const next = files[index + 1]
    return [...(index === 0 ? [text(0, start)] : []), file, text(end, next?.start)]
  })
}

function readChildren(cursor: Cursor, part: Part, boundary: string): Delimiter {
  const level = openBoundary(cursor, boundary.trimEnd())
  if (level >= MAX_DEPTH) throw new UnparsableMail(`The message is nested deeper than ${MAX_DEPTH} levels`)
  let end = nextDelimiter(cursor)
  while (end.level === level && !end.closing) {
    cursor.position = end.end
    const child = readPart(cursor)
    // The default of a digest (RFC 2046 section 5.1.5).
    if (part.content_type === 'multipart/digest' && !child.part.content_type) child.part.content_type = 'message/rfc822'
    part.children.push(child.part)
    end = child.end
  }
  while (end.level === level) {
    cursor.position = end.end
    end = nextDelimiter(cursor)
  }
  closeBoundary(cursor)
  return end
}

function openBoundary({ boundaries, levels }: Cursor, boundary: string): number {
  const level = boundaries.push(boundary) - 1
  levels.set(boundary, level)
  return level
}

function closeBoundary({ boundaries, levels }: Cursor): void {
  const boundary = boundaries.pop() ?? ''
  const outer = boundaries.lastIndexOf(boundary)
  if (outer < 0) levels.delete(boundary)
  else levels.set(boundary, outer)
}

/**
 * Reads the header and leaves the cursor where the body begins: behind the empty line, or with the first line that is no
 * field. What begins without a field has no header. Gateways put junk among the fields of a message, but not of a part.
 */
function readHeader(cursor: Cursor): HeaderField[] {
  const { raw, position: start, boundaries } = cursor
  let position = start
  let before = ''
  /** Where lines begin that no field follows: text whose empty line before is missing. */
  let junk: number | null = null
  while (position < raw.length) {
    const next = endOfLine(raw, position)
    const line = raw.toString('latin1', position, Math.min(next, position + MAX_DELIMITER_LENGTH))
    // A line of white space folds the field before it; only an empty one ends the header.
    const isEnd = /^\r?\n/.test(line)
    if (isEnd && junk === null) {
      cursor.position = next
      return splitHeader(raw.subarray(start, position))
    }
    if (isEnd || delimiterAt(cursor, position, next)) break
    if (FIELD.test(line)) junk = null
    else if (position === start) break
    else if (!/^[ \t]/.test(line) && !continues(before, line)) {
      junk ??= position
      if (boundaries.length > 0) break
    }
    before = raw.toString('latin1', Math.max(position, next - MAX_DELIMITER_LENGTH), next)
    position = next
    if (position - start <= MAX_HEADER_BYTES) continue
    if (junk !== null) break
    throw new UnparsableMail('The message has a header of more than 1 MB')
  }
  cursor.position = junk ?? position
  return splitHeader(raw.subarray(start, cursor.position))
}

/** Finds the next delimiter line of any multipart that is open: a missing end of an inner one does not hide the outer. */
function nextDelimiter(cursor: Cursor): Delimiter {
  const { raw, boundaries } = cursor
  let position = boundaries.length > 0 ? cursor.position : raw.length
  while (position < raw.length) {
    if (raw[position] === 0x2d && raw[position + 1] === 0x2d) {
      const found = delimiterAt(cursor, position, endOfLine(raw, position))
      if (found) return found
    }
    const next = raw.indexOf(DELIMITER, position)
    position = next < 0 ? raw.length : next + 1
  }
  return { level: -1, closing: true, start: raw.length, end: raw.length }
}

function delimiterAt({ raw, levels }: Cursor, position: number, next: number): Delimiter | null {
  if (raw[position] !== 0x2d || raw[position + 1] !== 0x2d || next - position > MAX_DELIMITER_LENGTH) return null
  const line = raw.toString('latin1', position + 2, next).trimEnd()
  const open = levels.get(line)
  const mark = open === undefined ? line.lastIndexOf('--') : 0
  const level = open ?? (mark > 0 ? levels.get(line.slice(0, mark)) : undefined)
  if (level === undefined) return null
  // The line break before a delimiter belongs to it.
  const start = raw[position - 1] === LF ? position - (raw[position - 2] === CR ? 2 : 1) : position
  return { level, closing: open === undefined, start, end: next }
}

function endOfLine(raw: Buffer, position: number): number {
  const newline = raw.indexOf(LF, position)
  return newline < 0 ? raw.length : newline + 1
}

function transferEncoding(fields: HeaderField[]): string {
  return (rawHeader(fields, 'content-transfer-encoding') ?? '')
    .replace(/\([^()]*\)|["']/g, '')
    .toLowerCase()
    .trim()
}

/** Old Macs end lines with a lone CR; then the whole message would be one field behind what relays put before it. */
function repairLines(raw: Uint8Array): Buffer {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const start = bytes.toString('latin1', 0, 16_384)
  const alone = start.match(/\r(?!\n)/g)?.length ?? 0
  if (alone <= 2 * (start.match(/\n/g)?.length ?? 0)) return bytes
  const from = fromIndex(Buffer.from(headerBlock(raw)).toString('latin1'))
  if (from >= 0 && endOfLine(bytes, from) < bytes.length) return bytes
  const lines = Buffer.from(bytes.map((byte, index) => (byte === CR && bytes[index + 1] !== LF ? LF : byte)))
  // A relay has read all that follows as the sender, and checked another one.
  return from <= 0 ? lines : Buffer.concat([lines.subarray(0, from), lines.subarray(endOfLine(lines, from))])
}

/** Drops what stores and gateways put before the header: a byte order mark, empty lines, an mbox or cover line. */
function repairStart(raw: Buffer): Buffer {
  const start = raw.toString('latin1', 0, 16_384)
  const skipped =
    /^(?:\xef\xbb\xbf)?(?:[ \t]*\r?\n)*(?:>?From (?![ \t]*:)[^\n]*\n(?:[ \t]*\r?\n)*)?/.exec(start)?.[0].length ?? 0
  const header = start.slice(skipped).split(/\r?\n\r?\n/)[0] ?? ''
  if (FIELD.test(header)) return raw.subarray(skipped)
  const first = header.search(
    /(?<![^\n])(?:return-path|received|from|to|subject|date|message-id|mime-version|content-type):/i,
  )
  return first >= 0 && first < 200 ? raw.subarray(skipped + first) : raw
}
