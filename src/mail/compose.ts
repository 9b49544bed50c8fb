/**
 * Mail out, first half: a message as nodemailer takes it, from a plain description. Header injection is impossible by
 * construction: addresses are checked and handed over as `{name, address}` beside an explicit envelope, ids and media
 * types are checked, and control characters are gone from every text that becomes part of a header.
 */
import { Readable } from 'node:stream'
import type { SendMailOptions } from 'nodemailer'

export type MailAddress = { name?: string | null; address: string }

export type MailAttachment = {
  filename: string
  content_type: string
  /** A function is called when the bytes are needed, and not at all when no connection comes about. */
  content: Readable | (() => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>)
  /** Bytes. With the sizes of all attachments known, a message too large for the server is refused before it is sent. */
  size?: number
  /** What the HTML calls `cid:<content_id>`. */
  content_id?: string
  /** Shown in the text (needs `content_id`), not listed below it. */
  inline?: boolean
}

export type Reply = {
  from: MailAddress
  to: MailAddress[]
  cc?: MailAddress[]
  reply_to?: MailAddress
  subject: string
  /** The ticket's, such as `ACME-12`. */
  code: string
  /** Ids are without angle brackets. */
  message_id: string
  in_reply_to?: string | null
  /** The conversation, oldest first. */
  references?: string[]
  date?: Date
  text: string
  html: string
  attachments?: MailAttachment[]
  /** RFC 3834, for what no person wrote. */
  auto_submitted?: 'auto-generated' | 'auto-replied'
}

export type OutgoingMail = {
  message: SendMailOptions
  /** The envelope's recipients. Nobody else gets the message. */
  recipients: string[]
  /** Recipients whose address cannot be one. They are left out and do not stop the others. */
  invalid: string[]
}

/** The sender's address cannot be one, so that the message can never go out. */
export class ComposeError extends Error {}

/** Relays refuse header fields of 4,096 bytes; this stays far below and fits some twenty ids (email.md, part 3). */
const REFERENCES_MAX_LENGTH = 1500
/** Longer ones cannot be folded into lines of 998 bytes (RFC 5322 section 2.1.1). */
const ID_MAX_LENGTH = 900
const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(; ?charset="?[\w.:-]+"?)?$/
/** Containers need a structure that a file does not have. */
const CONTAINER_TYPE = /^(multipart|message)\//i
/** Base64 in lines of 76 characters with their line ends. */
const BASE64_GROWTH = (4 / 3) * (78 / 76)

/**
 * Builds the reply of an agent (decisions, section 7, "Outbound").
 * @throws ComposeError when `from` is no address
 */
export function composeReply(reply: Reply): OutgoingMail {
  if (!isAddress(reply.from.address)) throw new ComposeError('the sender is no valid email address')
  const everyone = [...reply.to, ...(reply.cc ?? [])]
  const recipients = [...new Set(everyone.map(({ address }) => address).filter(isAddress))]
  const references = referencesOf(reply)
  const message: SendMailOptions = {
    from: headerAddress(reply.from),
    to: headerAddresses(reply.to),
    cc: headerAddresses(reply.cc ?? []),
    replyTo: headerAddresses(reply.reply_to ? [reply.reply_to] : []),
    subject: replySubject(reply.subject, reply.code),
    messageId: `<${reply.message_id}>`,
    inReplyTo: isMessageId(reply.in_reply_to) ? `<${reply.in_reply_to}>` : undefined,
    references: references.length > 0 ? references.map((id) => `<${id}>`).join(' ') : undefined,
    date: reply.date ?? new Date(),
    text: reply.text,
    html: reply.html,
    attachments: (reply.attachments ?? []).map(attachmentOf),
    headers: reply.auto_submitted ? { 'Auto-Submitted': reply.auto_submitted } : undefined,
    envelope: {
      from: headerAddress(reply.from),
      to: recipients.map((address) => ({ name: '', address })),
      size: estimateSize(reply),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  return { message, recipients, invalid: everyone.map(({ address }) => address).filter((one) => !isAddress(one)) }
}

/**
 * The subject of a reply: exactly one `Re: ` and one `[CODE]`. Any `Re:` among the leading prefixes goes, whatever its
 * case or count; other prefixes (`Fwd:`, `AW:`, `[External]`) stay.
 */
export function replySubject(subject: string, code: string): string {
  const tag = `[${code}]`
  let rest = oneLine(subject)
    .split(new RegExp(tag.replace(/\W/g, '\\$&'), 'i'))
    .join(' ')
  let kept = ''
  for (;;) {
    const [prefix] = /^\s*(\[[^\]]*\]|\p{L}{1,20}\s?(\[\d+\]|\(\d+\))?\s?[:：])/u.exec(rest) ?? []
    if (prefix === undefined) break
    rest = rest.slice(prefix.length)
    if (!/^\s*re\b/i.test(prefix)) kept += prefix
  }
  return `Re: ${oneLine(`${kept}${rest} ${tag}`)}`
}

/** Whether the text can stand as an address in an envelope and a header without being read as anything else. */
export function isAddress(text: string): boolean {
  if (text.length > 254) return false
  return /^[^\s\p{C}<>()[\]\\,;:"@]+@[^\s\p{C}<>()[\]\\,;:"@.]+(\.[^\s\p{C}<>()[\]\\,;:"@.]+)*$/u.test(text)
}

/** The first id and the newest that fit: the beginning names the conversation, the end what is being answered. */
function referencesOf({ references = [], in_reply_to }: Reply): string[] {
  const [first, ...others] = new Set([...references, in_reply_to].filter(isMessageId))
  if (first === undefined) return []
  const kept: string[] = []
  let length = 'References: '.length + first.length + 2
  for (const id of others.reverse()) {
    length += id.length + 3
    if (length > REFERENCES_MAX_LENGTH && kept.length > 0) break
    kept.unshift(id)
  }
  return [first, ...kept]
}

function isMessageId(id: string | null | undefined): id is string {
  return typeof id === 'string' && id.length <= ID_MAX_LENGTH && /^[!-;=?-~]+$/.test(id)
}

function headerAddress({ name, address }: MailAddress) {
  return { name: oneLine(name ?? ''), address }
}

function headerAddresses(addresses: MailAddress[]) {
  return addresses.filter(({ address }) => isAddress(address)).map(headerAddress)
}

function attachmentOf({ filename, content_type, content, content_id, inline }: MailAttachment) {
  const usable = MEDIA_TYPE.test(content_type) && !CONTAINER_TYPE.test(content_type)
  const cid = content_id && isMessageId(content_id) ? content_id : undefined
  return {
    filename: oneLine(filename) || 'attachment',
    contentType: usable ? content_type : 'application/octet-stream',
    content: typeof content === 'function' ? Readable.from(openLater(content)) : content,
    ...(inline && cid ? { cid, contentDisposition: 'inline' as const } : { contentDisposition: 'attachment' as const }),
  }
}

async function* openLater(open: () => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>) {
  yield* await open()
}

/** Bytes of the encoded message, a little too many rather than too few; undefined with an attachment of unknown size. */
function estimateSize({ text, html, attachments = [] }: Reply): number | undefined {
  const files = attachments.reduce((sum, { size }) => sum + (size ?? Number.NaN), 0)
  if (Number.isNaN(files)) return undefined
  const texts = Buffer.byteLength(text) + Buffer.byteLength(html)
  return Math.ceil((files + texts) * BASE64_GROWTH + 4096 + 1024 * attachments.length)
}

/** Without control characters and lone surrogates, which have no place in a header, and with single spaces. */
function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Cs}]+/gu, ' ').trim()
}
