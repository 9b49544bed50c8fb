/**
 * Finds where a mail quotes another: what mail programs write above a quotation, as opposed to what people write who
 * tell of a mail. A program names the whole date; people say "on Monday your colleague wrote". Pure, and linear in the
 * length.
 */
import {
  ANY_ATTRIBUTION,
  ATTRIBUTION_START,
  ATTRIBUTIONS,
  FROM_FIELD,
  HISTORY,
  LIST_OF_REPLIES,
  NAME_AS_AUTHOR,
  OTHER_FIELD,
  PERSON_AS_AUTHOR,
  SENT_FIELD,
  SUBJECT_FIELD,
  TOLD,
} from './reply-words'

/**
 * Lines of a header block in any language: a sender with an address, a date with a year and a time, two more fields.
 */
const LABEL = '\\s*\\*?\\p{L}[\\p{L}\\p{M} ]{0,25}[:：]\\*?'
const LABELLED = new RegExp(`^${LABEL}\\s*\\S`, 'u')
const LABELLED_FROM = new RegExp(
  `^${LABEL}.{0,100}(?:<|\\[mailto:)[^<>[\\]\\s]{1,100}@[^<>[\\]\\s]{1,100}[>\\]]\\s*$`,
  'iu',
)
const LABELLED_ADDRESS = new RegExp(`^${LABEL}\\s*[^<>[\\]\\s]{1,100}@[^<>[\\]\\s]{1,100}\\s*$`, 'u')
const LABELLED_DATE = new RegExp(`^${LABEL}(?=.*(?:19|20|25)\\d\\d).*\\d[:.]\\d\\d`, 'u')

const YEAR = /(?:19|20|25)\d\d|\b\d{1,2}([./-])\d{1,2}\1\d\d\b/
const TIME = /\d\s?[:.hH時时点]\s?\d\d/
const ADDRESS = /[^\s<>]@[^\s<>]/

/** Longer lines are text: nothing that a mail program adds is so long. */
const MAX_LINE = 300
/** Lines in which the fields of a header block stand. */
const MAX_FIELDS = 7

/** Characters that only turn the direction of text. Mail programs put them around names in Hebrew and Arabic. */
const DIRECTIONS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** Digits of all scripts but those of ASCII. */
const DIGITS = /(?![0-9])\p{Nd}/gu
const NOT_PLAIN = new RegExp(`${DIRECTIONS.source}|${DIGITS.source}`, 'u')

/** Gives lines without characters that only turn their direction, with the digits of all scripts as ASCII. */
export function plainLines(lines: string[]): string[] {
  return lines.map((line) => {
    const start = line.slice(0, MAX_LINE + 1)
    if (!NOT_PLAIN.test(start)) return start
    return start.replace(DIRECTIONS, '').replace(DIGITS, asciiDigit)
  })
}

/** Gives the ASCII digit of another one. The ten digits of a script, or of several, follow each other from its zero. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0)!
  let before = 0
  while (/\p{Nd}/u.test(String.fromCodePoint(code - before - 1))) before += 1
  return String(before % 10)
}

/**
 * Finds the line from which on everything is quoted without marks; -1 without one. Lines with marks tell where they
 * end.
 * @param mail a `first mail` may list the fields of another mail itself: only what mail programs mark counts there
 */
export function findHistory(plain: string[], mail: 'answer' | 'first mail'): number {
  const starts = mail === 'answer' ? startsHistory : startsMarked
  return plain.findIndex((line, index) => line.length <= MAX_LINE && mayStart(plain, index) && starts(plain, index))
}

/** False for most lines, at little cost: a header and an announcement have a colon, and a rule has dashes. */
function mayStart(plain: string[], index: number): boolean {
  const line = plain[index] ?? ''
  if (SIGN.test(line) || LIST_OF_REPLIES.test(line)) return true
  return SIGN.test(plain[index + 1] ?? '') || SIGN.test(plain[index + 2] ?? '')
}

const SIGN = /[:：]|--/

/**
 * Finds the place in a text where the message begins that it quotes with a header.
 * @param lines of the text
 * @returns the first line of the quotation and the first line of the header; null without one
 */
export function findQuotedHeader(lines: string[]): { start: number; header: number } | null {
  const plain = plainLines(lines.map((line) => line.replace(/^\s{0,3}>\s?/, '')))
  const start = plain.findIndex(
    (line, index) => line.length <= MAX_LINE && (isMarker(line) || startsHeaderBlock(plain, index)),
  )
  if (start < 0) return null
  if (!isMarker(plain[start] ?? '')) return { start, header: start }
  const header = nextText(plain, start + 1)
  return header < plain.length ? { start, header } : null
}

/**
 * Where a quotation stands: without marks, with marks between words of the answer, or with marks at the end. The less
 * there is to tell it from words, the more its announcement must say.
 */
type Place = 'unmarked' | 'between' | 'last'

/** Gives the first line of what announces the marked quotation at `quote`; null when nothing does. */
export function announcementOf(plain: string[], quote: number, place: 'between' | 'last'): number | null {
  let end = quote
  while (end > 0 && plain[end - 1]?.trim() === '') end -= 1
  if (isMarker(plain[end - 1] ?? '')) return end - 1
  for (let start = Math.max(0, end - 3); start < end; start += 1) {
    if (attributionEnd(plain, start, place) === end) return start
  }
  // Apple Mail and others put the announcement behind the first marks.
  const inner = plain.slice(quote, quote + MAX_FIELDS).map((line) => line.replace(/^\s{0,3}>\s?/, ''))
  return attributionEnd(inner.slice(nextText(inner, 0)), 0, place) === null ? null : quote
}

/** Drops blank lines at the end, and rules, with and without words between them. */
export function dropSeparators(lines: string[]): string[] {
  let end = lines.length
  while (end > 0 && isSeparator(lines[end - 1] ?? '')) end -= 1
  return lines.slice(0, end)
}

/** True for a blank line and for a rule, as `----- Original -----` is one. */
export function isSeparator(line: string): boolean {
  return /^[\s_=*~#—–-]*$/.test(line) || /^\s*([-_=*—–])\1{3}.{0,60}\1{4}\s*$/.test(line)
}

export function isQuoted(line: string): boolean {
  return /^\s{0,3}>/.test(line)
}

function isMarker(line: string): boolean {
  return HISTORY.some((marker) => marker.test(line))
}

function startsMarked(lines: string[], index: number): boolean {
  return isMarker(lines[index] ?? '') && !isQuoted(lines[nextText(lines, index + 1)] ?? '')
}

function startsHistory(lines: string[], index: number): boolean {
  return startsMarked(lines, index) || startsHeaderBlock(lines, index) || announcesUnmarked(lines, index)
}

/**
 * True for the header of the quoted mail, as Outlook writes it. Two of three tell it from a list of what somebody sends
 * from Hamburg to Berlin: an address, the moment of sending, a subject.
 */
function startsHeaderBlock(lines: string[], index: number): boolean {
  const [line = '', next = '', ...others] = lines.slice(index, index + MAX_FIELDS)
  if (isQuoted(line)) return false
  if (FROM_FIELD.test(line) || (OTHER_FIELD.test(line) && hasSenderBelow(lines, index))) {
    const fields = [line, next, ...others].filter((field) => OTHER_FIELD.test(field) || FROM_FIELD.test(field))
    const signs = [
      fields.some((field) => ADDRESS.test(field)),
      fields.some((field) => SENT_FIELD.test(field) || (YEAR.test(field) && TIME.test(field))),
      fields.some((field) => SUBJECT_FIELD.test(field)),
    ]
    if (fields.length >= 3 && signs.filter(Boolean).length >= 2) return true
  }
  return isLabelled(line, next, others.slice(0, 2))
}

/** True when the sender follows in the same block: T-Online and others put subject and date first. */
function hasSenderBelow(lines: string[], index: number): boolean {
  for (const line of lines.slice(index + 1, index + MAX_FIELDS)) {
    if (FROM_FIELD.test(line)) return true
    if (!OTHER_FIELD.test(line)) return false
  }
  return false
}

/** An address without brackets may stand in any form: only recipients below it make a header of it. */
function isLabelled(from: string, date: string, others: string[]): boolean {
  if (!LABELLED_DATE.test(date) || others.filter((line) => LABELLED.test(line)).length < 2) return false
  return LABELLED_FROM.test(from) || (LABELLED_ADDRESS.test(from) && others[0]!.includes('@'))
}

/** True for the announcement of a quotation without marks. */
function announcesUnmarked(lines: string[], index: number): boolean {
  const announced = attributionEnd(lines, index, 'unmarked')
  if (announced === null) return false
  const next = nextText(lines, announced)
  return next < lines.length && !isQuoted(lines[next] ?? '')
}

/** Gives the index of the line behind an announcement, which may be wrapped into three lines; null without one. */
function attributionEnd(lines: string[], index: number, place: Place): number | null {
  const first = lines[index]?.trim() ?? ''
  if (isQuoted(first)) return null
  let joined = ''
  for (let count = 1; count <= 3; count += 1) {
    const line = lines[index + count - 1]?.trim() ?? ''
    if (line === '' || line.length > MAX_LINE) return null
    // Gmail wraps behind the bracket of an address.
    joined = count === 1 || /[<(]$/.test(joined) ? joined + line : `${joined} ${line}`
    if (!/[:：]$/.test(line)) continue
    const is_start = count === 1 || ATTRIBUTION_START.test(first) || /^\s*</.test(lines[index + 1] ?? '')
    const is_announcement =
      ATTRIBUTIONS.some((pattern) => pattern.test(joined)) ||
      (ANY_ATTRIBUTION.test(joined) && (place !== 'unmarked' || !TOLD.test(joined)))
    if (!is_start || !is_announcement) continue
    if (isOfProgram(joined, place)) return index + count
  }
  return null
}

/** True for an announcement of a mail program. */
function isOfProgram(announcement: string, place: Place): boolean {
  const has_moment = YEAR.test(announcement) || TIME.test(announcement)
  if (ADDRESS.test(announcement)) return place === 'last' || has_moment
  if (PERSON_AS_AUTHOR.test(announcement)) return false
  if (place === 'last' && NAME_AS_AUTHOR.test(announcement)) return true
  return YEAR.test(announcement) && (place !== 'unmarked' || TIME.test(announcement))
}

function nextText(lines: string[], index: number): number {
  let next = index
  while (next < lines.length && lines[next]?.trim() === '') next += 1
  return next
}
