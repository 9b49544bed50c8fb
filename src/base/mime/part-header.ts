/** Finds where the header of a message or part ends, also where the empty line behind it is missing. */
import { continues, FIELD, type HeaderField, splitHeader } from './headers'
import { endOfLine } from './lines'
import { UnparsableMail } from './unparsable-mail'

export const MAX_HEADER_BYTES = 1024 * 1024
/** Bytes of a line that tell what it is. */
const MAX_START = 300
/** Gateways put all kinds of things into names of fields. */
const MAX_FIELD_NAME = 65_536

type Header = { fields: HeaderField[]; body: number }

/** Tells if the line between two positions is a delimiter. */
type IsDelimiter = (position: number, next: number) => boolean

/**
 * Reads the header at a position, and finds where its body begins: behind the empty line, or at the first line that is
 * not part of a field. A part that begins without a field has no header. Gateways put junk among the fields of a
 * message, but not of a part.
 * @throws UnparsableMail beyond 1 MB
 */
export function readHeader(raw: Buffer, start: number, of: 'message' | 'part', isDelimiter: IsDelimiter): Header {
  let position = start
  let before = ''
  // Begins where no field follows any more: text whose empty line before is missing.
  let junk: number | null = null
  while (position < raw.length) {
    const next = endOfLine(raw, position)
    const line = raw.toString('latin1', position, Math.min(next, position + MAX_START))
    // A line of white space folds the field before it; only an empty one ends the header.
    const is_end = /^\r?\n/.test(line)
    if (is_end && junk === null) return { fields: splitHeader(raw.subarray(start, position)), body: next }
    if (is_end || isDelimiter(position, next)) break
    if (FIELD.test(line) || beginsLongField(raw, position, next)) junk = null
    else if (position === start) break
    else if (!/^[ \t]/.test(line) && !continues(before, line)) {
      junk ??= position
      if (of === 'part') break
    }
    before = raw.toString('latin1', Math.max(position, next - MAX_START), next)
    position = next
    if (position - start <= MAX_HEADER_BYTES) continue
    if (junk !== null) break
    throw new UnparsableMail('The message has a header of more than 1 MB')
  }
  const body = junk ?? position
  return { fields: splitHeader(raw.subarray(start, body)), body }
}

/** True for a field whose name is longer than the start of a line that is looked at. */
function beginsLongField(raw: Buffer, position: number, next: number): boolean {
  if (next - position <= MAX_START) return false
  return FIELD.test(raw.toString('latin1', position, Math.min(next, position + MAX_FIELD_NAME)))
}
