/**
 * Composes a message as nodemailer takes it, from a plain description. The envelope is explicit: nobody else gets it.
 */
import { tmpdir } from 'node:os'
import { Readable } from 'node:stream'
import type { SendMailOptions } from 'nodemailer'
import { sharedTime } from '../../base/db/shared-time'
import {
  encodedText,
  fileName,
  headerAddress,
  headerAddresses,
  isAddress,
  isMessageId,
  type MailAddress,
  needsUtf8,
  ticketSubject,
} from './header-values'

export type MailAttachment = {
  filename: string
  content_type: string
  /** Called when the bytes are needed, and never when no connection comes about. */
  content: () => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>
  /** Bytes. With all sizes known, a message that is too large for the server is refused before it is sent. */
  size?: number
  /** The HTML calls it `cid:<content_id>`. */
  content_id?: string
  /** Shown in the text (needs `content_id`) instead of listed below it. */
  is_inline?: boolean
}

/** The domain that signs (RFC 6376), and its RSA key as PEM. */
export type DkimSigner = { domain: string; selector: string; private_key: string }

/** A message of the team to a customer. */
export type CustomerReply = {
  from: MailAddress
  /** Reports about the message go here; default `from`. */
  envelope_from?: string
  to: MailAddress[]
  cc?: MailAddress[]
  /** Those of To and Cc who get it this time; default all. */
  recipients?: string[]
  reply_to?: MailAddress
  subject: string
  /** False for a message that begins a conversation. Default true. */
  is_answer?: boolean
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
  /** A rule wrote it (RFC 3834). */
  is_automatic?: boolean
}

export type ComposedMail = {
  message: SendMailOptions
  /** The recipients of the envelope. */
  recipients: string[]
  /** Recipients without a valid address. They are left out and do not stop the others. */
  invalid: string[]
  /** True when an address of the envelope is not ASCII: only a server with SMTPUTF8 (RFC 6531) may get it. */
  needs_utf8: boolean
}

/** Says that the sender's address is not valid, so that the message can never go out. */
export class ComposeError extends Error {}

/** Relays refuse header fields of 4,096 bytes; this stays far below and has room for some twenty ids. */
const REFERENCES_MAX_LENGTH = 1500
const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(; ?charset="?[\w.:-]+"?)?$/
/** Types of containers, whose content needs a structure that a file does not have. */
const CONTAINER_TYPE = /^(multipart|message)\//i
/**
 * Bytes of a message that is signed in memory. A signature needs the hash of all of it, so the rest waits in a file.
 */
const SIGNED_IN_MEMORY = 1024 * 1024
/** Growth by base64 in lines of 76 characters with their line ends. */
const BASE64_GROWTH = (4 / 3) * (78 / 76)

/**
 * Composes a reply: text and HTML, attachments, To and Cc (never Bcc), References over the conversation, and a subject
 * with the ticket's code, and one `Re: ` when it is an answer.
 * @throws ComposeError when `from` is no address
 */
export function composeReply(reply: CustomerReply): ComposedMail {
  const { from, dkim } = reply
  if (!isAddress(from.address)) throw new ComposeError('the sender is no valid email address')
  const people = [...reply.to, ...(reply.cc ?? [])]
  const wanted = [...new Set(reply.recipients ?? people.map(({ address }) => address))]
  const recipients = wanted.filter(isAddress)
  const envelope_from = reply.envelope_from ?? from.address
  const needs_utf8 = [envelope_from, from.address, ...recipients].some(needsUtf8)
  const shown = (addresses: MailAddress[]) => headerAddresses(addresses, needs_utf8 ? 'utf-8' : 'ascii')
  const subject = ticketSubject(reply.subject, reply.code, reply.is_answer === false ? '' : 'Re: ')
  const references = referencesOf(reply)
  const message: SendMailOptions = {
    from: headerAddress(from),
    to: shown(reply.to),
    cc: shown(reply.cc ?? []),
    replyTo: shown(reply.reply_to ? [reply.reply_to] : []),
    messageId: `<${reply.message_id}>`,
    inReplyTo: isMessageId(reply.in_reply_to) ? `<${reply.in_reply_to}>` : undefined,
    references: references.length > 0 ? references.map((id) => `<${id}>`).join(' ') : undefined,
    date: reply.date ?? new Date(sharedTime()),
    text: withLineEnds(reply.text),
    html: withLineEnds(reply.html),
    attachments: (reply.attachments ?? []).map(attachmentOf),
    headers: {
      Subject: { prepared: true, foldLines: true, value: encodedText(subject) },
      ...(reply.is_automatic && { 'Auto-Submitted': 'auto-replied' }),
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

/** Keeps the first id, which names the conversation, and the newest ids that fit, which name what is answered. */
function referencesOf({ references = [], in_reply_to }: CustomerReply): string[] {
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

/** Ends lines with CRLF. A lone CR would become a line end on the way out, after the text was signed. */
function withLineEnds(text: string): string {
  return text.replace(/\r\n?|\n/g, '\r\n')
}

/** Gives the key of a domain to the library, which signs what it sends. */
export function signatureOf({ domain, selector, private_key }: DkimSigner) {
  const spool = { cacheDir: tmpdir(), cacheTreshold: SIGNED_IN_MEMORY }
  return { domainName: domain, keySelector: selector, privateKey: private_key, ...spool }
}

function attachmentOf({ filename, content_type, content, content_id, is_inline }: MailAttachment) {
  const usable = MEDIA_TYPE.test(content_type) && !CONTAINER_TYPE.test(content_type)
  const cid = content_id && isMessageId(content_id) ? content_id : undefined
  return {
    filename: fileName(filename),
    contentType: usable ? content_type : 'application/octet-stream',
    // Without this a stream of text is sent as text, which changes the line ends of the file.
    contentTransferEncoding: 'base64' as const,
    content: Readable.from(openLater(content)),
    ...(is_inline && cid
      ? { cid, contentDisposition: 'inline' as const }
      : { contentDisposition: 'attachment' as const }),
  }
}

async function* openLater(open: MailAttachment['content']) {
  yield* await open()
}

/** Estimates the bytes of the encoded message, a little too high; undefined with an attachment of unknown size. */
function estimateSize({ text, html, attachments = [] }: CustomerReply): number | undefined {
  const files = attachments.reduce((sum, { size }) => sum + (size ?? Number.NaN), 0)
  if (Number.isNaN(files)) return undefined
  const texts = Buffer.byteLength(text) + Buffer.byteLength(html)
  return Math.ceil((files + texts) * BASE64_GROWTH + 4096 + 1024 * attachments.length)
}
