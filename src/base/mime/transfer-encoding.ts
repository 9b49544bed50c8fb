/**
 * Decodes content transfer encodings (RFC 2045 section 6) as leniently as mail programs do.
 *
 * Own code because the decoders of mailparser 3.9 (libbase64, libqp) and postal-mime 4.0 turn text that only claims to
 * be base64 into garbage, and postal-mime keeps soft line breaks with spaces behind: "%s in a transfer encoding are
 * read" in mail-parse.test.ts. It goes byte by byte, so that a message takes about as much memory as it is long.
 */
import { CR, endOfLine, LF } from './lines'
import { decodeUuencoded } from './uuencode'

const SPACE = 0x20
const EQUALS = 0x3d
const DASH = 0x2d

const BASE64 = Int8Array.from({ length: 256 }, (_, byte) =>
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.indexOf(String.fromCharCode(byte)),
)

/** Shortest line that can only be data. Words of a few letters are base64, too. */
const LONG_LINE = 40
const MIN_DATA = 16
/** Shortest base64 before text in the same line. */
const MIN_PIECE = 8

/**
 * Decodes the bytes of a part. An unknown encoding leaves them as they are.
 * @param kind plain text behind the base64 of a `text` is kept, because a relay has appended it
 */
export function decodeContent(bytes: Buffer, encoding: string, kind: 'text' | 'file' = 'file'): Buffer {
  if (encoding.startsWith('base64')) return kind === 'text' ? decodeWithFooter(bytes) : decodeBase64(bytes)
  if (/^quoted[-_]?printable/.test(encoding)) return decodeQuotedPrintable(bytes)
  if (/^(?:x-)?uu/.test(encoding)) return decodeUuencoded(bytes)
  return bytes
}

/**
 * Decodes base64 in front of other text. A line of dashes there is a broken delimiter: nothing behind it belongs here.
 */
function decodeWithFooter(bytes: Buffer): Buffer {
  const end = endOfBase64(bytes)
  const decoded = decodeBase64(bytes.subarray(0, end))
  const footer = bytes.subarray(end)
  const is_line = end === 0 || bytes[end - 1] === LF
  if (end === bytes.length || (is_line && footer[0] === DASH && footer[1] === DASH)) return decoded
  return Buffer.concat([decoded, Buffer.from('\r\n'), footer])
}

/**
 * Finds the end of base64 that other text follows; the length of the bytes when there is none, or when data follows it.
 * All lines of base64 but the last one have the same length, and four characters of it are three bytes. Programs that
 * join encoded pieces put padding anywhere, and go on behind it.
 */
function endOfBase64(bytes: Buffer): number {
  let width = 0
  let count = 0
  let end = -1
  let has_text = false
  for (let position = 0, next = 0; position < bytes.length; position = next) {
    next = endOfLine(bytes, position)
    const line = readLine(bytes, position, next)
    if (line.length === 0) continue
    const is_data = line.data === line.length && line.length % 4 === 0
    if (end >= 0) {
      if (has_text && is_data && line.length >= LONG_LINE) return bytes.length
      if (has_text || !is_data || (line.length < LONG_LINE && !line.is_padded)) {
        has_text ||= line.data < line.length
        continue
      }
      width = 0
      end = -1
    }
    const used = is_data ? line.length : line.is_padded ? line.data : 0
    count += used
    width ||= line.length
    if (is_data && !line.is_padded && line.length >= width) continue
    end = is_data ? next : line.start + (used >= MIN_PIECE ? used : 0)
    has_text = !is_data
  }
  return has_text && count >= MIN_DATA ? end : bytes.length
}

/**
 * Measures a line without white space around it. `data` is the length of the base64 at its beginning, which is all of
 * it or ends with padding; `is_padded` when it has padding.
 */
function readLine(bytes: Buffer, from: number, next: number) {
  let [start, end] = [from, next]
  while (end > start && isBlank(bytes[end - 1])) end -= 1
  while (start < end && isBlank(bytes[start])) start += 1
  let position = start
  let piece = start
  let padded = start
  for (; position < end; position += 1) {
    if ((BASE64[bytes[position] ?? 0] ?? -1) >= 0) continue
    const length = position - piece
    if (bytes[position] !== EQUALS || length % 4 < 2) break
    if (length % 4 === 2) {
      if (bytes[position + 1] !== EQUALS) break
      position += 1
    }
    piece = position + 1
    padded = piece
  }
  return { start, length: end - start, data: (position === end ? end : padded) - start, is_padded: padded > start }
}

/**
 * Decodes base64. Several padded pieces in a row are decoded one by one; a line of dashes (a broken delimiter) ends the
 * data. Words with spaces between them stay as they are, because they are not base64 whatever their header says.
 */
function decodeBase64(bytes: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(Math.ceil((bytes.length * 3) / 4))
  let length = 0
  let bits = 0
  let count = 0
  let gaps = 0
  for (let position = 0; position < bytes.length; position += 1) {
    const byte = bytes[position] ?? 0
    const value = BASE64[byte] ?? -1
    if (value >= 0) {
      bits = ((bits << 6) | value) & 0xffff
      count += 6
      if (count < 8) continue
      count -= 8
      decoded[length] = bits >> count
      length += 1
    } else if (byte === EQUALS) {
      count = 0
    } else if (byte === SPACE && (BASE64[bytes[position + 1] ?? 0] ?? -1) >= 0 && bytes[position - 1] !== LF) {
      gaps += 1
    } else if (byte === DASH && bytes[position + 1] === DASH && (position === 0 || bytes[position - 1] === LF)) {
      break
    }
  }
  return gaps > bytes.length / 16 ? bytes : decoded.subarray(0, length)
}

/**
 * Decodes quoted-printable. Raw 8-bit bytes and a `=` that starts no code are kept; white space at the end of a line is
 * dropped (RFC 2045 section 6.7).
 */
function decodeQuotedPrintable(bytes: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(bytes.length)
  let length = 0
  for (let start = 0, next = 0; start < bytes.length; start = next) {
    const newline = bytes.indexOf(LF, start)
    next = newline < 0 ? bytes.length : newline + 1
    let end = next
    while (end > start && isBlank(bytes[end - 1])) end -= 1
    const is_soft = end > start && bytes[end - 1] === EQUALS
    for (let position = start; position < (is_soft ? end - 1 : end); position += 1, length += 1) {
      const code = bytes[position] === EQUALS ? hexByte(bytes, position + 1) : -1
      decoded[length] = code < 0 ? (bytes[position] ?? 0) : code
      if (code >= 0) position += 2
    }
    if (is_soft || newline < 0) continue
    if (newline > start && bytes[newline - 1] === CR) length = decoded.writeUInt8(CR, length)
    length = decoded.writeUInt8(LF, length)
  }
  return decoded.subarray(0, length)
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === CR || byte === LF
}

/** Gives the value of two hexadecimal digits; -1 for other characters. */
function hexByte(bytes: Buffer, position: number): number {
  const high = hexDigit(bytes[position])
  const low = hexDigit(bytes[position + 1])
  return high < 0 || low < 0 ? -1 : high * 16 + low
}

function hexDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
