/** Parses a message into what a ticket needs of it. Pure: no clock, no database, no files. */
import { createHash } from 'node:crypto'
import type { Format } from '../../base/html/formats'
import { detectCharset } from '../../base/mime/charset'
import { openContainers } from '../../base/mime/containers'
import { hasRawText, type MailHeaders, messageIds, rawHeader, readFields, splitHeader } from '../../base/mime/headers'
import { findParts, type Part, splitParts } from '../../base/mime/parts'
import { isAutomatic } from './automatic'
import { type ParsedAttachment, readAttachments, readBody } from './bodies'
import { type Bounce, type EnvelopeSender, readBounce } from './bounce'
import { ANSWER_SUBJECT } from './bounce-words'
import { type Forwarded, readForwarded } from './forwarded'
import { linkTokens } from './link-tokens'
import { type Quotes, replyOf } from './reply-text'

export { displayName } from '../../base/mime/addresses'
export { endsOf, type MailHeaders, readHeaders } from '../../base/mime/headers'
export { isOfList } from '../../base/mime/mailing-list'
export { UnparsableMail } from '../../base/mime/parts'
export type { Bounce } from './bounce'
export { tokensIn } from './link-tokens'

export type ParsedMail = MailHeaders & {
  /** The plain text, or text made from the HTML; '' when there is neither. At most 1,000,000 characters. */
  text: string
  /** `html` for mail with a part in HTML. */
  format: Format
  /** The HTML sanitized, or the text as HTML. Images of the message itself still have `cid:` addresses. */
  body_html: string
  attachments: ParsedAttachment[]
  /** Written by a machine (RFC 3834 and the usual headers). */
  auto_reply: boolean
  bounce: Bounce | null
  /** The new part of a reply; null when there is no text. */
  reply_text: string | null
  /** Tells who wrote a quotation that no line announces. */
  quotes: Quotes
  /** The message that it passes on; null without one. */
  forwarded: Forwarded | null
  /** Tokens in links, wherever it has them. */
  link_tokens: string[]
  /** Tells it from other mail by its text, whatever the white space, and its files. */
  digest: string
}

/** Size of the part of a read receipt that machines read. */
const MAX_NOTIFICATION_BYTES = 65_536

/**
 * Parses a message. Tolerant of whatever real mail does; the time is linear in its size.
 * @throws UnparsableMail beyond the limits of `splitParts`; `readHeaders` still reads the header then
 */
export async function parseMail(raw: Uint8Array, envelope_sender: EnvelopeSender = 'unknown'): Promise<ParsedMail> {
  const root = openContainers(splitParts(raw))
  const headers = readFields(root.fields, charsetOfHeader(root))
  const in_reply_to = headers.in_reply_to.length > 0 ? headers.in_reply_to : readMessages(root)
  const body = readBody(root)
  const { text, format, body_html, cut, pictures } = body
  const bounce = readBounce(root, text, envelope_sender)
  const attachments = [...readAttachments(root, cut), ...pictures]
  return {
    ...headers,
    in_reply_to,
    text,
    format,
    body_html,
    attachments,
    auto_reply: bounce !== null || isAutomatic(root),
    bounce,
    reply_text: replyOf(body, isAnswer({ ...headers, in_reply_to }) ? 'answer' : 'first mail'),
    quotes: body.quotes,
    forwarded: bounce ? null : readForwarded({ root, subject: headers.subject, text, attachments }),
    link_tokens: linkTokens(root, [text, body_html]),
    digest: digestOf(text, attachments),
  }
}

function digestOf(text: string, attachments: ParsedAttachment[]): string {
  const hash = createHash('sha256').update(text.replace(/\s+/g, ''))
  for (const { content } of attachments) hash.update(createHash('sha256').update(content).digest())
  return hash.digest('base64url').slice(0, 22)
}

/** True for mail that refers to another, by ids, the prefix of its subject or the code of a ticket. */
function isAnswer({ in_reply_to, references, subject }: MailHeaders): boolean {
  if (in_reply_to.length > 0 || references.length > 0) return true
  return ANSWER_SUBJECT.test(subject ?? '') || /\[[A-Z][A-Z0-9]{0,9}-\d+\]/.test(subject ?? '')
}

/** Finds the ids of the messages that a read receipt (RFC 8098) says were read: many receipts name them only there. */
function readMessages(root: Part): string[] {
  if (root.content_params.get('report-type')?.toLowerCase() !== 'disposition-notification') return []
  const [notification] = findParts(root, 'message/disposition-notification')
  const fields = splitHeader(notification?.content.subarray(0, MAX_NOTIFICATION_BYTES) ?? Buffer.alloc(0))
  return messageIds(rawHeader(fields, 'original-message-id') ?? '')
}

/** Guesses the charset of raw bytes in the header, which is the charset of the body. */
function charsetOfHeader(root: Part): string | null {
  if (!root.fields.some(({ value }) => hasRawText(value))) return null
  return firstCharset(root) ?? detectCharset(firstText(root))
}

function firstText(part: Part): Buffer {
  if (part.children.length === 0) return /^(?:text\/|$)/.test(part.content_type) ? part.content : Buffer.alloc(0)
  return part.children.map(firstText).find(({ length }) => length > 0) ?? Buffer.alloc(0)
}

function firstCharset(part: Part): string | null {
  const own = part.content_params.get('charset')
  if (own) return own
  for (const child of part.children) {
    const found = firstCharset(child)
    if (found) return found
  }
  return null
}
