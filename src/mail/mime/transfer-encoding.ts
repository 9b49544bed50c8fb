/**
 * Decodes content transfer encodings (RFC 2045 section 6) as leniently as mail programs do.
 *
 * Own code because the decoders of mailparser 3.9 (libbase64, libqp) and postal-mime 4.0 turn text that only claims to be
 * base64 into garbage, and postal-mime keeps soft line breaks with spaces behind: "%s in a transfer encoding are read" in
 * mail-parse.test.ts. It goes byte by byte, so that a message takes about as much memory as it is long.
 */
import { CR, endOfLine, LF } from './lines'
import { decodeUuencoded } from './uuencode'

const SPACE = 0x20
const EQUALS = 0x3d
const DASH = 0x2d

const BASE64 = Int8Array.from({ length: 256 }, (_, byte) =>
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.indexOf(String.fromCharCode(byte)),
)

/** Of a line that can only be data, and of the base64 before other text: words of a few letters are base64, too. */
const LONG_LINE = 40
const MIN_DATA = 16

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

/** Decodes base64 in front of other text. A line of dashes there is a broken delimiter: nothing behind it belongs here. */
function decodeWithFooter(bytes: Buffer): Buffer {
  const end = endOfBase64(bytes)
  const decoded = decodeBase64(bytes.subarray(0, end))
  const footer = bytes.subarray(end)
  if (end === bytes.length || (footer[0] === DASH && footer[1] === DASH)) return decoded
  return Buffer.concat([decoded, Buffer.from('\r\n'), footer])
}

/**
 * Finds the end of base64 that other text follows; the length of the bytes when there is none, or when more data follows.
 * All lines of base64 but the last one have the same length, and four characters of it are three bytes.
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
    if (end >= 0) {
      if (line.is_data && line.length >= LONG_LINE) return bytes.length
      has_text ||= !line.is_data
      continue
    }
    if (!line.is_data || line.length % 4 !== 0) {
      end = position
      has_text = true
      continue
    }
    count += line.length
    width ||= line.length
    if (line.is_padded || line.length < width) end = next
  }
  return has_text && count >= MIN_DATA ? end : bytes.length
}

/** The length of a line without white space around it. `is_data` when all of it is base64. */
function readLine(
  bytes: Buffer,
  start: number,
  next: number,
): { length: number; is_data: boolean; is_padded: boolean } {
  let [from, to] = [start, next]
  while (to > from && isBlank(bytes[to - 1])) to -= 1
  while (from < to && isBlank(bytes[from])) from += 1
  const is_padded = to > from && bytes[to - 1] === EQUALS
  let data_end = to
  while (data_end > from && to - data_end < 2 && bytes[data_end - 1] === EQUALS) data_end -= 1
  let position = from
  while (position < data_end && (BASE64[bytes[position] ?? 0] ?? -1) >= 0) position += 1
  return { length: to - from, is_data: position === data_end && data_end > from, is_padded }
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
