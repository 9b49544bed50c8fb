/** Header fields of a message or part: split, unfolded and decoded, however they were written. */
import libmime from 'libmime'
import { type Address, parseAddresses } from './addresses'
import { decodeUnlabelled } from './charset'
import { decodeWords } from './words'

/** One field as it came: name in lower case, value unfolded, each byte one character (latin1). */
export type HeaderField = { key: string; value: string }

/** What a ticket needs of a message's header, also when the rest cannot be read. */
export type MailHeaders = {
  message_id: string | null
  in_reply_to: string[]
  references: string[]
  from: Address | null
  sender: Address | null
  /** Of every field of that name: mailing lists add their own. */
  reply_to: Address[]
  to: Address[]
  cc: Address[]
  subject: string | null
  date: Date | null
}

/** A header longer than this is attack or accident; the fields that matter come first. */
const MAX_HEADER_BYTES = 1024 * 1024
const MAX_IDS = 200
/** Kept of a conversation's beginning, when not all ids are. */
const FIRST_IDS = 10
/** Of the charset of a subject, which may change from word to word. */
const MAX_DETECTIONS = 5

/**
 * Reads only the header of a message. Never throws, whatever the bytes are.
 * @param raw the message, or its beginning
 */
export function readHeaders(raw: Uint8Array): MailHeaders {
  return readFields(splitHeader(headerBlock(raw)))
}

/** What the fields of a message say. The first of a repeated field counts, as it does for DMARC. */
export function readFields(fields: HeaderField[], charset?: string | null): MailHeaders {
  const addresses = (key: string) => parseAddresses(rawHeader(fields, key, charset) ?? '')
  const all = (key: string) =>
    fields.filter((field) => field.key === key).flatMap((field) => parseAddresses(decodeEightBit(field.value, charset)))
  // The first field that holds an address: junk in front of the real one is seen.
  const usable = (key: string) => all(key)[0] ?? null
  const ids = (key: string) => messageIds(rawHeader(fields, key, charset) ?? '')
  return {
    message_id: messageId(rawHeader(fields, 'message-id', charset)),
    in_reply_to: ids('in-reply-to'),
    references: ids('references'),
    from: usable('from'),
    sender: usable('sender'),
    reply_to: all('reply-to'),
    to: addresses('to'),
    cc: addresses('cc'),
    subject: headerText(fields, 'subject', charset, MAX_DETECTIONS),
    date: readDate(rawHeader(fields, 'date', charset)),
  }
}

/**
 * Where a From field begins, by the lines that every program sees; -1 without one. Only without one may a lone CR end a
 * line, as in mail of old Macs: else a field that nobody else sees would tell who wrote.
 */
export function fromIndex(header: string): number {
  return header.search(/(?<![^\n])from[ \t]*:/i)
}

/** Splits a header block into its fields; lines that are no field are left out. */
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
 * True when a line goes on with the one before although the white space at its beginning was lost on the way: a
 * parameter behind a semicolon, or whatever is no field behind a comma.
 */
export function continues(before: string, line: string): boolean {
  const end = before.trimEnd().at(-1)
  if (/^[\w*-]{1,60}\s?=/.test(line)) return end === ';'
  return (end === ';' || end === ',') && line !== '' && !/^[!-9;-~]+[ \t]*:/.test(line)
}

/** The first field of that name with its 8-bit bytes decoded and its encoded words left as they are. */
export function rawHeader(fields: HeaderField[], key: string, charset?: string | null): string | null {
  const field = fields.find((candidate) => candidate.key === key)
  return field ? decodeEightBit(field.value, charset) : null
}

/** The first field of that name as readable text on one line; null when it is absent. */
export function headerText(
  fields: HeaderField[],
  key: string,
  charset?: string | null,
  detections?: number,
): string | null {
  const value = rawHeader(fields, key, charset)
  return value === null ? null : oneLine(decodeWords(value, detections))
}

/** Value and parameters of a field such as Content-Type, decoded (RFC 2231, and encoded words where they are not allowed). */
export function headerParams(fields: HeaderField[], key: string, charset?: string | null) {
  const parsed = libmime.parseHeaderValue(separateParams(rawHeader(fields, key, charset) ?? ''))
  const params = Object.entries(parsed.params).map(([name, value]) => [name, oneLine(decodeWords(value))] as const)
  return { value: (parsed.value || '').toLowerCase().trim(), params: new Map(params) }
}

/** Some senders put a comma, a space or a comment between a type and its parameters. */
function separateParams(value: string): string {
  return value
    .replace(
      /^([\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127})(?:\s{0,9}\([^()]{0,999}\))?[\s,]{1,9}(?=[\w*-]{1,99}\s?=)/,
      '$1; ',
    )
    .replace(/^([\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127})\s{0,9}\([^()]{0,999}\)/, '$1')
}

/**
 * Message ids without brackets, in order, each once. Only what stands in brackets is one, so that prose never threads,
 * unless there is nothing but ids that lack them.
 */
export function messageIds(value: string): string[] {
  const ids = (value.match(/<[^<>\s\p{Cc}]{1,996}>/gu) ?? []).map((id) => id.slice(1, -1))
  return endsOf([...new Set(ids.length > 0 ? ids : bareIds(value))], MAX_IDS)
}

function bareIds(value: string): string[] {
  const words = value.split(/[\s,]+/).filter((word) => word !== '')
  return words.every((word) => word.length <= 996 && /^[^<>()"@\p{Cc}]+@[^<>()"@\p{Cc}]+$/u.test(word)) ? words : []
}

/** Of the ids of a conversation the first ones, where it began (RFC 5322, 3.6.4), and the last ones, the nearest. */
export function endsOf(ids: string[], most: number): string[] {
  return ids.length <= most ? ids : [...ids.slice(0, FIRST_IDS), ...ids.slice(FIRST_IDS - most)]
}

/** Control characters and line breaks become spaces, runs of white space one. */
export function oneLine(text: string): string {
  return text
    .replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .toWellFormed()
    .trim()
}

/** The bytes before the empty line. */
export function headerBlock(raw: Uint8Array): Uint8Array {
  const text = Buffer.from(raw.subarray(0, MAX_HEADER_BYTES)).toString('latin1')
  const [header = ''] = text.split(/\r?\n\r?\n/, 1)
  const end = fromIndex(header) < 0 ? header.indexOf('\r\r') : -1
  return raw.subarray(0, end < 0 ? header.length : end)
}

/** Some senders forget the brackets of their Message-ID; then the whole value counts. */
function messageId(value: string | null): string | null {
  if (!value) return null
  const id = messageIds(value)[0] ?? value.replace(/[<>\s\p{Cc}]/gu, '')
  return id.slice(0, 996) || null
}

function readDate(value: string | null): Date | null {
  const date = new Date((value ?? '').replace(/\([^()]*\)/g, '').trim())
  return value && !Number.isNaN(date.getTime()) ? date : null
}

/** Raw bytes inside a Q word belong to the word's charset, so they are escaped there before the rest is decoded. */
function decodeEightBit(value: string, charset?: string | null): string {
  if (!/[\x80-\xff]|\x1b\$/.test(value)) return value
  const escaped = value.replace(/=\?[^?\s]{1,64}\?[Qq]\?[^?]*\?=/g, (word) =>
    word.replace(/[\x80-\xff]/g, (char) => `=${char.charCodeAt(0).toString(16).toUpperCase()}`),
  )
  return decodeUnlabelled(Buffer.from(escaped, 'latin1'), charset)
}
