/**
 * Finds the new part of a reply: without quoted history and signature. When in doubt it keeps more: answers between quoted
 * lines stay together with the lines that they answer. Pure, and linear in the length of the text.
 *
 * Own code because email-reply-parser 2.3, the only package for this platform (talon is Python), cuts 17 of the 37 texts of
 * mail-parse-reply.test.ts in the wrong place, hides answers between quoted lines, and takes 11 seconds for a line of
 * 100 KB that begins like an announcement.
 */
import { ATTRIBUTION_START, ATTRIBUTIONS, DEVICE_SIGNATURES, FROM_FIELD, HISTORY, OTHER_FIELD } from './reply-words'

/** Lines of a header block in any language: a sender with an address, a date with a year and a time, two more fields. */
const LABEL = '\\s*\\*?\\p{L}[\\p{L}\\p{M} ]{0,25}[:：]\\*?'
const LABELLED = new RegExp(`^${LABEL}\\s*\\S`, 'u')
const LABELLED_FROM = new RegExp(
  `^${LABEL}.{0,100}(?:<|\\[mailto:)[^<>[\\]\\s]{1,100}@[^<>[\\]\\s]{1,100}[>\\]]\\s*$`,
  'iu',
)
const LABELLED_ADDRESS = new RegExp(`^${LABEL}\\s*[^<>[\\]\\s]{1,100}@[^<>[\\]\\s]{1,100}\\s*$`, 'u')
const LABELLED_DATE = new RegExp(`^${LABEL}(?=.*(?:19|20|25)\\d\\d).*\\d[:.]\\d\\d`, 'u')

/** Longer lines are text: nothing that a mail program adds is so long. */
const MAX_LINE = 300

/** Characters that only turn the direction of text. Mail programs put them around names in Hebrew and Arabic. */
const DIRECTIONS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Finds the reply in a plain text; gives the whole text when nothing would be left.
 * @param mail a `first mail` may list the fields of another mail itself: only what mail programs mark is cut from it
 */
export function replyText(text: string, mail: 'answer' | 'first mail' = 'answer'): string {
  return ownText(text, mail) || text.trim()
}

/** Finds the reply in a plain text as `replyText` does; '' when nothing would be left. */
export function ownText(text: string, mail: 'answer' | 'first mail' = 'answer'): string {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const plain = lines.map(plainLine)
  const starts = mail === 'answer' ? startsHistory : isMarker
  const history = plain.findIndex((line, index) => line.length <= MAX_LINE && starts(plain, index))
  const kept = history < 0 ? lines : dropBlankAndRule(lines.slice(0, history))
  const reply = withoutSignature(withoutTrailingQuote(kept, plain))
  return reply.join('\n').trim()
}

/**
 * Finds the place in a text where the message begins that it quotes with a header.
 * @param lines of the text
 * @returns the first line of the quotation and the first line of the header; null without one
 */
export function findQuotedHeader(lines: string[]): { start: number; header: number } | null {
  const plain = lines.map((line) => plainLine(line.replace(/^\s{0,3}>\s?/, '')))
  const start = plain.findIndex(
    (line, index) => line.length <= MAX_LINE && (isMarker(plain, index) || startsHeaderBlock(plain, index)),
  )
  if (start < 0) return null
  if (!isMarker(plain, start)) return { start, header: start }
  const header = plain.findIndex((line, index) => index > start && line.trim() !== '')
  return header < 0 ? null : { start, header }
}

function isMarker(lines: string[], index: number): boolean {
  return HISTORY.some((marker) => marker.test(lines[index] ?? ''))
}

function startsHistory(lines: string[], index: number): boolean {
  return isMarker(lines, index) || startsHeaderBlock(lines, index) || announcesQuote(lines, index)
}

/** True for the header of the quoted mail, as Outlook writes it. */
function startsHeaderBlock(lines: string[], index: number): boolean {
  const [line = '', next = '', ...others] = lines.slice(index, index + 7)
  if (FROM_FIELD.test(line) || (OTHER_FIELD.test(line) && FROM_FIELD.test(next))) {
    if ([next, ...others].filter((field) => OTHER_FIELD.test(field)).length >= 2) return true
  }
  return isLabelled(line, next, others.slice(0, 2))
}

/** True for the announcement of a quote without marks. A quote with marks is handled line by line. */
function announcesQuote(lines: string[], index: number): boolean {
  const announced = attributionEnd(lines, index)
  if (announced === null) return false
  let next = announced
  while (next < lines.length && lines[next]?.trim() === '') next += 1
  return next < lines.length && !isQuoted(lines[next] ?? '')
}

/** An address without brackets may stand in any form: only recipients below it make a header of it. */
function isLabelled(from: string, date: string, others: string[]): boolean {
  if (!LABELLED_DATE.test(date) || others.filter((line) => LABELLED.test(line)).length < 2) return false
  return LABELLED_FROM.test(from) || (LABELLED_ADDRESS.test(from) && others[0]!.includes('@'))
}

/** A line without characters that only turn its direction, with Arabic and Persian digits as ASCII. */
function plainLine(line: string): string {
  return line
    .slice(0, MAX_LINE + 1)
    .replace(DIRECTIONS, '')
    .replace(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) & 0xf))
}

/** Gives the index of the line behind an announcement, which may be wrapped into three lines; null without one. */
function attributionEnd(lines: string[], index: number): number | null {
  const first = lines[index]?.trim() ?? ''
  if (isQuoted(first)) return null
  let joined = ''
  for (let count = 1; count <= 3; count += 1) {
    const line = lines[index + count - 1]?.trim() ?? ''
    if (line === '' || line.length > MAX_LINE) return null
    // Gmail wraps behind the bracket of an address.
    joined = count === 1 || /[<(]$/.test(joined) ? joined + line : `${joined} ${line}`
    if (!/[:：]$/.test(line) || !/\d/.test(joined)) continue
    const is_start = count === 1 || ATTRIBUTION_START.test(first) || /^\s*</.test(lines[index + 1] ?? '')
    if (is_start && ATTRIBUTIONS.some((pattern) => pattern.test(joined))) return index + count
  }
  return null
}

/** Drops quoted lines at the end with their announcement. Quoted lines above an answer are kept: it answers them. */
function withoutTrailingQuote(lines: string[], plain: string[]): string[] {
  let end = lines.length
  while (end > 0 && (isQuoted(lines[end - 1] ?? '') || lines[end - 1]?.trim() === '')) end -= 1
  if (!lines.slice(end).some(isQuoted)) return lines
  for (let start = Math.max(0, end - 3); start < end; start += 1) {
    if (attributionEnd(plain, start) === end) return dropBlankAndRule(lines.slice(0, start))
  }
  return lines.slice(0, end)
}

function withoutSignature(lines: string[]): string[] {
  const delimiter = lines.findLastIndex((line) => /^--\s?$/.test(line))
  const is_short = delimiter >= 0 && lines.length - delimiter <= 25 && !lines.slice(delimiter).some(isQuoted)
  const kept = is_short ? lines.slice(0, delimiter) : lines
  const last = kept.findLastIndex((line) => line.trim() !== '')
  return DEVICE_SIGNATURES.some((pattern) => pattern.test(kept[last] ?? '')) ? kept.slice(0, last) : kept
}

function dropBlankAndRule(lines: string[]): string[] {
  let end = lines.length
  while (end > 0 && /^[\s_=-]*$/.test(lines[end - 1] ?? '')) end -= 1
  return lines.slice(0, end)
}

function isQuoted(line: string): boolean {
  return /^\s{0,3}>/.test(line)
}
