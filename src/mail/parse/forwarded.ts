/** Finds the message that a message passes on: attached, or quoted with its header. Pure. */
import { textToHtml } from '../../base/html/body'
import type { Format } from '../../base/html/formats'
import { type Address, displayName, parseAddresses } from '../../base/mime/addresses'
import { openContainers } from '../../base/mime/containers'
import { readFields } from '../../base/mime/headers'
import { findParts, type Part, splitParts, UnparsableMail } from '../../base/mime/parts'
import { type ParsedAttachment, readAttachments, readBody } from './bodies'
import { findQuotedHeader } from './quotation'
import { replyOf, replyText } from './reply-text'
import { FORWARD_SUBJECT, FROM_FIELD, OTHER_FIELD, SUBJECT_FIELD } from './reply-words'

/** A message that was passed on. */
export type Forwarded = {
  author: Address
  subject: string
  /** Null when it is quoted. */
  message_id: string | null
  text: string
  format: Format
  body_html: string
  reply_text: string | null
  /** Its files, and the others of the message that passes it on; null: exactly those of that message. */
  attachments: ParsedAttachment[] | null
  /** The words of the person who passes it on; '' without any. */
  note: string
  note_html: string
}

type Outer = { root: Part; subject: string | null; text: string; attachments: ParsedAttachment[] }

/** Lines that the header of a quoted message may have. */
const MAX_HEADER_LINES = 25
/** Characters of a text in which the quoted message is looked for. */
const MAX_NOTE = 100_000
const MAX_SUBJECT = 1000

/**
 * Reads the message that another passes on; null when the subject says nothing of it, when there is none or more than
 * one, and when its header names no address.
 */
export function readForwarded(outer: Outer): Forwarded | null {
  const rest = FORWARD_SUBJECT.exec(outer.subject ?? '')?.groups?.rest
  if (rest === undefined) return null
  const attached = findParts(outer.root, 'message/rfc822')
  if (attached.length > 1) return null
  return attached[0] ? readAttached(outer, attached[0], rest) : readQuoted(outer, rest)
}

function readAttached({ text, attachments }: Outer, part: Part, rest: string): Forwarded | null {
  const inner = openInner(part)
  const headers = inner && readFields(inner.fields)
  if (!inner || !headers?.from) return null
  const body = readBody(inner)
  return {
    author: headers.from,
    subject: headers.subject || rest,
    message_id: headers.message_id,
    text: body.text,
    format: body.format,
    body_html: body.body_html,
    reply_text: replyOf(body, 'first mail'),
    attachments: [
      ...readAttachments(inner, body.cut),
      ...body.pictures,
      ...attachments.filter(({ content }) => content !== part.content),
    ],
    ...noteOf(text.trim()),
  }
}

function openInner(part: Part): Part | null {
  try {
    return openContainers(splitParts(part.content))
  } catch (error) {
    if (error instanceof UnparsableMail) return null
    throw error
  }
}

function readQuoted({ text }: Outer, rest: string): Forwarded | null {
  const lines = text.slice(0, MAX_NOTE).split('\n')
  const found = findQuotedHeader(lines)
  if (!found) return null
  const quoted = text.split('\n').slice(found.header)
  const is_marked = /^\s{0,3}>/.test(quoted[0] ?? '')
  const bare = is_marked ? quoted.map((line) => line.replace(/^\s{0,3}>[ ]?/, '')) : quoted
  const end = bare.findIndex((line, index) => line.trim() === '' || index >= MAX_HEADER_LINES)
  const header = unfold(bare.slice(0, end < 0 ? bare.length : end))
  const author = authorIn(header)
  if (!author) return null
  const body = end < 0 ? '' : bare.slice(end).join('\n').trim()
  const subject = header.map((line) => SUBJECT_FIELD.exec(line)?.groups?.subject?.trim()).find(Boolean)
  return {
    author,
    subject: (subject ?? rest).slice(0, MAX_SUBJECT).toWellFormed(),
    message_id: null,
    text: body,
    format: 'text',
    body_html: textToHtml(body),
    reply_text: replyText(body, 'first mail') || null,
    attachments: null,
    ...noteOf(noteIn(lines.slice(0, found.start))),
  }
}

/** Joins the lines of a header with what was wrapped into the next line. */
function unfold(lines: string[]): string[] {
  const fields: string[] = []
  for (const line of lines) {
    if (fields.length === 0 || FROM_FIELD.test(line) || OTHER_FIELD.test(line)) fields.push(line)
    else fields.push(`${fields.pop()} ${line.trim()}`)
  }
  return fields
}

/** The address in the line of the sender. Outlook may repeat it as a link. */
function authorIn(header: string[]): Address | null {
  const line = header.find((field) => FROM_FIELD.test(field))
  const value = line?.replace(/^[^:：]*[:：]\*?/, '').replace(/[[<]mailto:([^\]>\s]+)[\]>]/gi, '<$1>')
  const address = /<\s*([^<>\s]+)\s*>/.exec(value ?? '')?.[1]
  const name = value?.replace(/<[^<>]*>/g, '').replace(/^[\s*"']+|[\s*"',;]+$/g, '') ?? ''
  if (!address) return parseAddresses(value?.trim() ?? '')[0] ?? null
  const [found] = parseAddresses(address)
  return found ? { name: displayName(name, found.address), address: found.address } : null
}

/** The lines above the quoted message, without the rule between them. */
function noteOf(note: string): Pick<Forwarded, 'note' | 'note_html'> {
  return { note, note_html: textToHtml(note) }
}

function noteIn(lines: string[]): string {
  return lines
    .join('\n')
    .replace(/[\s_=-]+$/, '')
    .trim()
}
