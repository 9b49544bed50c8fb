/**
 * Mail out, first half: a message as nodemailer takes it, from a plain description. Header injection is impossible by
 * construction: addresses are checked and handed over as `{name, address}` beside an explicit envelope, ids and media
 * types are checked, and control characters are gone from every text that becomes part of a header.
 */
import { tmpdir } from 'node:os'
import { Readable } from 'node:stream'
import type { SendMailOptions } from 'nodemailer'
import { encodeWord } from 'nodemailer/lib/mime-funcs'

export type MailAddress = { name?: string | null; address: string }

export type MailAttachment = {
  filename: string
  content_type: string
  /** Called when the bytes are needed, and not at all when no connection comes about. */
  content: () => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>
  /** Bytes. With the sizes of all attachments known, a message too large for the server is refused before it is sent. */
  size?: number
  /** What the HTML calls `cid:<content_id>`. */
  content_id?: string
  /** Shown in the text (needs `content_id`), not listed below it. */
  inline?: boolean
}

/** Who signs (RFC 6376): the domain, and its RSA key as PEM. */
export type DkimSigner = { domain: string; selector: string; private_key: string }

export type Reply = {
  from: MailAddress
  /** Where reports about the message go; `from` when nothing is said. */
  envelope_from?: string
  to: MailAddress[]
  cc?: MailAddress[]
  /** Those of To and Cc who get it this time; all of them when nothing is said. */
  recipients?: string[]
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
  dkim?: DkimSigner | null
}

export type OutgoingMail = {
  message: SendMailOptions
  /** The envelope's recipients. Nobody else gets the message. */
  recipients: string[]
  /** Recipients whose address cannot be one. They are left out and do not stop the others. */
  invalid: string[]
  /** Whether only a server with SMTPUTF8 (RFC 6531) may get it: an address of its envelope is not ASCII. */
  needs_utf8: boolean
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
/** A longer word cannot be folded into lines of 78 characters, which RFC 5322 asks for. */
const WORD_MAX_LENGTH = 60
/** With the encoding around it; RFC 2047 allows 75. */
const ENCODED_WORD_LENGTH = 52
/** A signature needs the hash of all that follows it: of what is larger, the rest waits in a file. */
const SIGNED_IN_MEMORY = 1024 * 1024
/** Base64 in lines of 76 characters with their line ends. */
const BASE64_GROWTH = (4 / 3) * (78 / 76)

/**
 * Builds the reply of an agent (decisions, section 7, "Outbound").
 * @throws ComposeError when `from` is no address
 */
export function composeReply(reply: Reply): OutgoingMail {
  const { from, dkim } = reply
  if (!isAddress(from.address)) throw new ComposeError('the sender is no valid email address')
  const people = [...reply.to, ...(reply.cc ?? [])]
  const wanted = [...new Set(reply.recipients ?? people.map(({ address }) => address))]
  const recipients = wanted.filter(isAddress)
  const envelope_from = reply.envelope_from ?? from.address
  const needs_utf8 = [envelope_from, from.address, ...recipients].some(needsUtf8)
  const shown = (addresses: MailAddress[]) => headerAddresses(addresses, needs_utf8)
  const subject = replySubject(reply.subject, reply.code)
  const references = referencesOf(reply)
  const message: SendMailOptions = {
    from: headerAddress(from),
    to: shown(reply.to),
    cc: shown(reply.cc ?? []),
    replyTo: shown(reply.reply_to ? [reply.reply_to] : []),
    messageId: `<${reply.message_id}>`,
    inReplyTo: isMessageId(reply.in_reply_to) ? `<${reply.in_reply_to}>` : undefined,
    references: references.length > 0 ? references.map((id) => `<${id}>`).join(' ') : undefined,
    date: reply.date ?? new Date(),
    text: withLineEnds(reply.text),
    html: withLineEnds(reply.html),
    attachments: (reply.attachments ?? []).map(attachmentOf),
    headers: {
      Subject: { prepared: true, foldLines: true, value: headerText(subject) },
    },
    envelope: {
      from: { name: '', address: envelope_from },
      to: recipients.map((address) => ({ name: '', address })),
      size: estimateSize(reply),
    },
    ...(dkim && { dkim: signatureOf(dkim) }),
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  return { message, recipients, invalid: wanted.filter((one) => !isAddress(one)), needs_utf8 }
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

/**
 * True for text that can stand as an address in an envelope and a header without being read as anything else.
 * `address/email.ts` says how this differs from what the API accepts.
 */
function isAddress(text: string): boolean {
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

/** Whether it can stand in a header, and lead back here from one. Without angle brackets. */
export function isMessageId(id: string | null | undefined): id is string {
  return typeof id === 'string' && id.length <= ID_MAX_LENGTH && /^[!-;=?-~]+$/.test(id)
}

/** Whether the local part is not ASCII. A domain goes as punycode. */
export function needsUtf8(address: string): boolean {
  return !/^[\0-\x7f]*$/.test(address.slice(0, address.lastIndexOf('@')))
}

function headerAddress({ name, address }: MailAddress) {
  return { name: label(name ?? ''), address }
}

/** An address that is not ASCII has no place in a header that is (RFC 6532): who gets that one does not see it. */
function headerAddresses(addresses: MailAddress[], utf8: boolean) {
  return addresses.filter(({ address }) => isAddress(address) && (utf8 || !needsUtf8(address))).map(headerAddress)
}

/** A name, of a person or a file. Readers decode what looks encoded in places where it is not, so nothing may. */
function label(name: string): string {
  return oneLine(name).replaceAll('=?', '= ?')
}

/** A lone CR becomes a line end on its way out, after the signature over the text was made. */
function withLineEnds(text: string): string {
  return text.replace(/\r\n?|\n/g, '\r\n')
}

/** The library sends `*` without quotes, and Python's parser ends on that. Windows has no such names either. */
function fileName(name: string): string {
  return label(name).replaceAll('*', '_') || 'attachment'
}

/** A text as it stands in a header: encoded (RFC 2047) when it is not ASCII, cannot be folded or looks encoded. */
function headerText(text: string): string {
  const is_plain = /^[ -~]*$/.test(text) && !text.includes('=?')
  if (is_plain && text.split(' ').every((word) => word.length <= WORD_MAX_LENGTH)) return text
  const ascii = text.replace(/[^ -~]+/g, '').length
  return encodeWord(text, ascii * 2 > text.length ? 'Q' : 'B', ENCODED_WORD_LENGTH)
}

function signatureOf({ domain, selector, private_key }: DkimSigner) {
  const spool = { cacheDir: tmpdir(), cacheTreshold: SIGNED_IN_MEMORY }
  return { domainName: domain, keySelector: selector, privateKey: private_key, ...spool }
}

function attachmentOf({ filename, content_type, content, content_id, inline }: MailAttachment) {
  const usable = MEDIA_TYPE.test(content_type) && !CONTAINER_TYPE.test(content_type)
  const cid = content_id && isMessageId(content_id) ? content_id : undefined
  return {
    filename: fileName(filename),
    contentType: usable ? content_type : 'application/octet-stream',
    // Else a stream of text is sent as text: line ends of the file would change.
    contentTransferEncoding: 'base64' as const,
    content: Readable.from(openLater(content)),
    ...(inline && cid ? { cid, contentDisposition: 'inline' as const } : { contentDisposition: 'attachment' as const }),
  }
}

async function* openLater(open: MailAttachment['content']) {
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
