/** Reads the fields of a calendar that a mail carries (RFC 5545). Pure. */
import { decodeBytes } from '../../base/mime/charset'
import { dropControls } from '../../base/mime/controls'
import { findParts, type Part } from '../../base/mime/parts'

/** Bytes of a calendar in which its fields are looked for. */
const MAX_CALENDAR = 65_536
const MAX_WORDS = 2000

/** A field: its parameters as they are written, and its value. */
type Field = { params: string; value: string }

/** Gives the method of the calendar of a message (RFC 5546), in lower case; null without a calendar that has one. */
export function calendarMethod(part: Part): string | null {
  const [calendar] = findParts(part, 'text/calendar')
  if (!calendar) return null
  const method = calendar.content_params.get('method') ?? fieldOf(calendarLines(calendar), 'METHOD')?.value
  return method?.trim().toLowerCase() ?? null
}

/** The lines of a calendar, unfolded (RFC 5545 section 3.1). */
export function calendarLines({ content, content_params }: Part): string[] {
  const text = decodeBytes(content.subarray(0, MAX_CALENDAR), content_params.get('charset') ?? 'utf-8')
  return text.replace(/\r?\n[ \t]/g, '').split(/\r?\n/)
}

/** Finds the first field of that name. */
export function fieldOf(lines: string[], name: string): Field | undefined {
  const pattern = new RegExp(`^${name}((?:;[^:";]*(?:"[^"]*")?)*):(.*)$`, 'i')
  const found = lines.map((line) => pattern.exec(line)).find(Boolean)
  return found ? { params: found[1] ?? '', value: found[2] ?? '' } : undefined
}

/** The words of a value of the type text, at most 2,000 characters. */
export function wordsOf(value = ''): string {
  const words = value
    .slice(0, MAX_WORDS)
    .replace(/\\n/gi, '\n')
    .replace(/\\([,;\\])/g, '$1')
  return dropControls(words).toWellFormed().trim()
}
