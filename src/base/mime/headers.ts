/**
 * Splits, unfolds and decodes the header fields of a message or part, however they were written.
 *
 * Own code because mailparser 3.9 takes the last of repeated fields where DMARC checks the first, invents a date for an
 * unreadable one, and loses raw 8-bit bytes that are not UTF-8. postal-mime 4.0 loses them too, takes an mbox line for
 * the end of the header, and lines that end with a lone CR for one field: "a subject with %s is readable" and "%s
 * before the header is no part of it" in mail-parse-headers.test.ts. libmime reads parameters (RFC 2231).
 */
import libmime from 'libmime'
import { type Address, dropDirections, looksLikeAddress, parseAddresses } from './addresses'
import { decodeUnlabelled } from './charset'
import { dropControls } from './controls'
import { decodeWords } from './encoded-words'
import { type List, readList } from './mailing-list'

/** One field as it came: its name in lower case, its value unfolded, each byte one character (latin1). */
export type HeaderField = { key: string; value: string }

/** The fields of a message's header that a ticket needs, also when the rest of the message cannot be read. */
export type MailHeaders = {
  message_id: string | null
  in_reply_to: string[]
  references: string[]
  from: Address | null
  /** The others in From: a message may have several authors (RFC 5322 section 3.6.2). */
  co_authors: Address[]
  sender: Address | null
  /** The addresses of every field of that name: mailing lists add their own field. */
  reply_to: Address[]
  /** The writer, where a mailing list has put its own address into From. */
  original_from: Address | null
  /** Addresses that the message was passed on from, or delivered to, on its way here. */
  ways: string[]
  /** The mailing list that passed it on; null without one. */
  list: List | null
  to: Address[]
  cc: Address[]
  subject: string | null
  date: Date | null
}

/** Matches the beginning of a field: its name and the colon. */
export const FIELD = /^[!-9;-~]+[ \t]*:/

/** A longer header is an attack or an accident; the fields that matter come first. */
const MAX_HEADER_BYTES = 1024 * 1024
const USUAL_HEADER_BYTES = 16_384
const MAX_IDS = 1000
/** Most authors of a message. */
const MAX_AUTHORS = 20
/** Ids that are kept of a conversation's beginning when there are too many. */
const FIRST_IDS = 10
const WAY_FIELDS = ['x-forwarded-to', 'x-forwarded-for', 'delivered-to']
/** Length of a field. */
const MAX_WAY_LENGTH = 2000
const MAX_WAYS = 100
/** Wrong charsets that are corrected in a subject, where the charset may change from word to word. */
const MAX_DETECTIONS = 5

/**
 * Reads only the header of a message. Never throws, whatever the bytes are.
 * @param raw the message, or its beginning
 */
export function readHeaders(raw: Uint8Array): MailHeaders {
  return readFields(splitHeader(headerBlock(raw)))
}

/**
 * Reads the fields of a message. The first of a repeated field counts, as it does for DMARC.
 * @param charset of the message, for raw 8-bit bytes
 */
export function readFields(fields: HeaderField[], charset?: string | null): MailHeaders {
  const addresses = (key: string) => parseAddresses(rawHeader(fields, key, charset) ?? '')
  const valuesOf = (key: string) =>
    fields.filter((field) => field.key === key).map((field) => decodeEightBit(field.value, charset))
  const all = (key: string) => valuesOf(key).flatMap((value) => parseAddresses(value))
  // The first field that holds an address counts: senders put junk in front of the real one.
  const usable = (key: string) => all(key)[0] ?? null
  const authors =
    valuesOf('from')
      .map((value) => parseAddresses(value))
      .find(({ length }) => length > 0) ?? []
  const from = authors[0] ?? null
  const raw = (key: string) => rawHeader(fields, key, charset)
  const ids = (key: string) => messageIds(raw(key) ?? '')
  return {
    message_id: messageId(rawHeader(fields, 'message-id', charset)),
    in_reply_to: ids('in-reply-to'),
    references: ids('references'),
    from,
    co_authors: authors.slice(1, MAX_AUTHORS),
    sender: usable('sender'),
    reply_to: all('reply-to'),
    original_from: usable('x-original-from') ?? usable('x-google-original-from'),
    ways: waysOf(fields),
    list: readList({ list_id: raw('list-id'), list_post: raw('list-post'), precedence: raw('precedence'), from }),
    to: addresses('to'),
    cc: addresses('cc'),
    subject: subjectOf(headerText(fields, 'subject', charset, MAX_DETECTIONS)),
    date: readDate(rawHeader(fields, 'date', charset)),
  }
}

/** Reads what forwarders and mail systems note of the way: addresses between blanks, commas and brackets. */
function waysOf(fields: HeaderField[]): string[] {
  const values = fields.filter(({ key }) => WAY_FIELDS.includes(key)).map(({ value }) => value.slice(0, MAX_WAY_LENGTH))
  const words = values.flatMap((value) => value.split(/[\s,;<>]+/))
  return [...new Set(words)].filter(looksLikeAddress).slice(0, MAX_WAYS)
}

/** A subject in the order of its characters: else `exe.png` may be shown of what ends in `gnp.exe`. */
function subjectOf(text: string | null): string | null {
  return text === null ? null : oneLine(dropDirections(text))
}

/**
 * Gives the place where a From field begins, by the line ends that every program knows; -1 without one. Only without
 * one may a lone CR end a line, as in mail of old Macs: else a field that no other program sees would say who wrote.
 */
export function fromIndex(header: string): number {
  return header.search(/(?<![^\n])from[ \t]*:/i)
}

/** Splits a header block into its fields; lines that are not part of a field are left out. */
export function splitHeader(block: Uint8Array): HeaderField[] {
  const fields: HeaderField[] = []
  let before = ''
  const text = Buffer.from(block).toString('latin1')
  for (const line of text.split(fromIndex(text) < 0 ? /\r\n|\n|\r/ : /\r?\n/)) {
    const last = fields.at(-1)
    const match = /^([!-9;-~]+)[ \t]*:[ \t]*(.*)$/s.exec(line)
    if (last && (/^[ \t]/.test(line) || continues(before, line))) last.value += ` ${line.trim()}`
    else if (match?.[1] && !/^[ \t]/.test(line)) fields.push({ key: match[1].toLowerCase(), value: match[2] ?? '' })
    before = line
  }
  return fields
}

/**
 * True when a line continues the line before although the white space at its beginning was lost on the way: a parameter
 * behind a semicolon, or a line behind a comma that does not begin a field.
 */
export function continues(before: string, line: string): boolean {
  const end = before.trimEnd().at(-1)
  if (/^[\w*-]{1,60}\s?=/.test(line)) return end === ';'
  return (end === ';' || end === ',') && line !== '' && !FIELD.test(line)
}

/**
 * Gives the first field of that name with its 8-bit bytes decoded and its encoded words left as they are; null when it
 * is absent.
 */
export function rawHeader(fields: HeaderField[], key: string, charset?: string | null): string | null {
  const field = fields.find((candidate) => candidate.key === key)
  return field ? decodeEightBit(field.value, charset) : null
}

/**
 * Gives the first field of that name as readable text on one line; null when it is absent.
 * @param detections how many wrong charsets of encoded words may be corrected by the language
 */
export function headerText(
  fields: HeaderField[],
  key: string,
  charset?: string | null,
  detections?: number,
): string | null {
  const value = rawHeader(fields, key, charset)
  return value === null ? null : oneLine(decodeWords(value, detections))
}

/**
 * Reads value and parameters of a field such as Content-Type (RFC 2231, and encoded words where they are not allowed).
 */
export function headerParams(fields: HeaderField[], key: string, charset?: string | null) {
  const parsed = libmime.parseHeaderValue(separateParams(rawHeader(fields, key, charset) ?? ''))
  const params = Object.entries(parsed.params).map(([name, value]) => [name, oneLine(decodeWords(value))] as const)
  return { value: (parsed.value || '').toLowerCase().trim(), params: new Map(params) }
}

/** Puts a semicolon between a type and its parameters, where some senders put a comma, a space or a comment. */
function separateParams(value: string): string {
  return value
    .replace(
      /^([\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127})(?:\s{0,9}\([^()]{0,999}\))?[\s,]{1,9}(?=[\w*-]{1,99}\s?=)/,
      '$1; ',
    )
    .replace(/^([\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127})\s{0,9}\([^()]{0,999}\)/, '$1')
}

/**
 * Finds message ids: without brackets, in order, each once. Only text in brackets is an id, so that prose never
 * threads, unless the whole field is ids that lack them. Some programs encode ids as if they were words, or fold them.
 */
export function messageIds(field: string): string[] {
  const value = decodeWords(field).replace(/<[^<>]{3,996}>/g, (text) => {
    const joined = text.replace(/\s+/g, '')
    return /^<[^@]+@[^@]+>$/.test(joined) ? joined : text
  })
  const ids = (value.match(/<[^<>\s\p{Cc}]{1,996}>/gu) ?? []).map((id) => id.slice(1, -1))
  return endsOf([...new Set(ids.length > 0 ? ids : bareIds(value))], MAX_IDS)
}

function bareIds(value: string): string[] {
  const words = value.split(/[\s,]+/).filter((word) => word !== '')
  return words.every((word) => word.length <= 996 && /^[^<>()"@\p{Cc}]+@[^<>()"@\p{Cc}]+$/u.test(word)) ? words : []
}

/**
 * Keeps at most so many ids of a conversation: the first ones, where it began (RFC 5322 section 3.6.4), and the last
 * ones, which are the nearest.
 */
export function endsOf(ids: string[], most: number): string[] {
  return ids.length <= most ? ids : [...ids.slice(0, FIRST_IDS), ...ids.slice(FIRST_IDS - most)]
}

/** Writes a text on one line: without control characters, runs of white space as one space. */
export function oneLine(text: string): string {
  return dropControls(text).replace(/\s+/g, ' ').toWellFormed().trim()
}

const EMPTY_LINE = /\r?\n\r?\n/

/** Gives the bytes before the first empty line. It is nearly always in the first 16 kB. */
export function headerBlock(raw: Uint8Array): Uint8Array {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.length, MAX_HEADER_BYTES))
  const start = bytes.toString('latin1', 0, USUAL_HEADER_BYTES)
  const text = EMPTY_LINE.test(start) ? start : bytes.toString('latin1')
  const [header = ''] = text.split(EMPTY_LINE, 1)
  const end = fromIndex(header) < 0 ? header.indexOf('\r\r') : -1
  return raw.subarray(0, end < 0 ? header.length : end)
}

/** Reads a Message-ID. Some senders forget its brackets; then the whole value counts. */
function messageId(value: string | null): string | null {
  if (!value) return null
  const id = messageIds(value)[0] ?? value.replace(/[<>\s\p{Cc}]/gu, '')
  return id.slice(0, 996) || null
}

function readDate(value: string | null): Date | null {
  const date = new Date((value ?? '').replace(/\([^()]*\)/g, '').trim())
  return value && !Number.isNaN(date.getTime()) ? date : null
}

/** True for a value with raw 8-bit bytes or ISO-2022, which only the charset of the message tells how to read. */
export function hasRawText(value: string): boolean {
  return /[\x80-\xff]|\x1b\$/.test(value)
}

/** Decodes raw bytes. Those inside a Q word belong to the word's charset, so they are escaped there first. */
function decodeEightBit(value: string, charset?: string | null): string {
  if (!hasRawText(value)) return value
  const escaped = value.replace(/=\?[^?\s]{1,64}\?[Qq]\?[^?]*\?=/g, (word) =>
    word.replace(/[\x80-\xff]/g, (char) => `=${char.charCodeAt(0).toString(16).toUpperCase()}`),
  )
  return decodeUnlabelled(Buffer.from(escaped, 'latin1'), charset)
}
