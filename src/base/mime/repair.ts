/** Repairs the damage that old programs, mail stores and gateways do to a whole message, before it is taken apart. */
import { FIELD, fromIndex, headerBlock } from './headers'
import { CR, endOfLine, LF } from './lines'

/**
 * Ends lines with LF where an old Mac ended them with a lone CR: else all of the message would be one field, behind the
 * fields that relays put before it.
 */
export function repairLines(raw: Uint8Array): Buffer {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const start = bytes.toString('latin1', 0, 16_384)
  const alone = start.match(/\r(?!\n)/g)?.length ?? 0
  if (alone <= 2 * (start.match(/\n/g)?.length ?? 0)) return bytes
  const from = fromIndex(Buffer.from(headerBlock(raw)).toString('latin1'))
  if (from >= 0 && endOfLine(bytes, from) < bytes.length) return bytes
  const lines = Buffer.from(bytes.map((byte, index) => (byte === CR && bytes[index + 1] !== LF ? LF : byte)))
  // A relay has taken all that follows for the sender, and so checked another one.
  return from <= 0 ? lines : Buffer.concat([lines.subarray(0, from), lines.subarray(endOfLine(lines, from))])
}

/** Most lines above a header that has lines of other kinds, too. */
const MAX_COVER = 200

/**
 * Drops what mail stores and gateways put before the header: a byte order mark, empty lines, an mbox or cover line, the
 * rest of a field that was cut.
 */
export function repairStart(raw: Buffer): Buffer {
  const start = raw.toString('latin1', 0, 16_384)
  const skipped =
    /^(?:\xef\xbb\xbf)?(?:[ \t]*\r?\n)*(?:>?From (?![ \t]*:)[^\n]*\n(?:[ \t]*\r?\n)*)?/.exec(start)?.[0].length ?? 0
  const header = start.slice(skipped).split(/\r?\n\r?\n/)[0] ?? ''
  if (FIELD.test(header)) return raw.subarray(skipped)
  const first = header.search(
    /(?<![^\n])(?:return-path|received|from|to|subject|date|message-id|mime-version|content-type):/i,
  )
  const is_header = header
    .slice(first)
    .split('\n')
    .every((line) => FIELD.test(line) || /^[ \t]/.test(line))
  return first >= 0 && (first < MAX_COVER || is_header) ? raw.subarray(skipped + first) : raw
}
