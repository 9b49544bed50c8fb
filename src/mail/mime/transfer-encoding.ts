/**
 * Decodes content transfer encodings (RFC 2045 section 6) as leniently as mail programs do.
 *
 * Own code because the decoders of mailparser 3.9 (libbase64, libqp) and postal-mime 4.0 turn text that only claims to be
 * base64 into garbage, and postal-mime keeps soft line breaks with spaces behind: "%s in a transfer encoding are read" in
 * mail-parse.test.ts. It goes byte by byte, so that a message takes about as much memory as it is long.
 */
import { CR, LF } from './lines'
import { decodeUuencoded } from './uuencode'

const SPACE = 0x20
const EQUALS = 0x3d
const DASH = 0x2d

const BASE64 = Int8Array.from({ length: 256 }, (_, byte) =>
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.indexOf(String.fromCharCode(byte)),
)

/** Decodes the bytes of a part. An unknown encoding leaves them as they are. */
export function decodeContent(bytes: Buffer, encoding: string): Buffer {
  if (encoding.startsWith('base64')) return decodeBase64(bytes)
  if (/^quoted[-_]?printable/.test(encoding)) return decodeQuotedPrintable(bytes)
  if (/^(?:x-)?uu/.test(encoding)) return decodeUuencoded(bytes)
  return bytes
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
