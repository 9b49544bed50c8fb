/** A message that came in, as every decision about it sees it. */
import { isEmailAddress } from '../../address/email'
import { storable } from '../../search/fold'
import { type Bounce, type MailHeaders, type ParsedMail, readHeaders } from '../parse/parse'
import { type Fingerprint, fingerprintOf } from './fingerprint'
import { isTagged } from './reported'

/** What the listener took, or somebody imports. */
export type Arrived = {
  /** The address at RCPT. */
  recipient: string
  /** Empty for the null sender; null when it did not come over SMTP. */
  envelope_sender: string | null
  raw: Uint8Array
}

export type Sender = { name: string; email: string }

export type Inbound = Arrived & {
  headers: MailHeaders
  /** Null when the message could not be parsed. */
  mail: Omit<ParsedMail, keyof MailHeaders> | null
  /** Who wrote it. */
  sender: Sender | undefined
  /** What it reports about the delivery of another message. */
  bounce: Bounce | null
  fingerprint: Fingerprint
}

/** @param mail null when it could not be parsed: then it keeps its header */
export function inboundOf(arrived: Arrived, mail: ParsedMail | null): Inbound {
  const headers = withStorableIds(mail ?? readHeaders(arrived.raw))
  const sender = senderOf(headers, arrived.envelope_sender)
  return {
    ...arrived,
    headers,
    mail,
    sender,
    bounce: mail && bounceOf(arrived, headers, mail),
    fingerprint: fingerprintOf(headers, arrived.raw, sender),
  }
}

/** Keys of an index have at most some 2,700 bytes; no mail system makes ids of a thousand. */
const MAX_ID_BYTES = 1000

function withStorableIds({ message_id, in_reply_to, references, ...rest }: MailHeaders): MailHeaders {
  const usable = (ids: string[]) => ids.filter((id) => Buffer.byteLength(id) <= MAX_ID_BYTES).map((id) => storable(id))
  return {
    ...rest,
    message_id: usable(message_id === null ? [] : [message_id])[0] ?? null,
    in_reply_to: usable(in_reply_to),
    references: usable(references),
  }
}

/**
 * Who wrote: From (an address, when it is there at all), else the envelope sender, else Sender. Never Reply-To, which
 * says where answers are wanted, not whose words these are.
 */
function senderOf({ from, sender }: MailHeaders, envelope_sender: string | null): Sender | undefined {
  if (from) return { name: from.name, email: from.address }
  if (envelope_sender && isEmailAddress(envelope_sender)) return { name: '', email: envelope_sender }
  return sender ? { name: sender.name, email: sender.address } : undefined
}

const DAEMON = /^(?:mailer-daemon|postmaster)@/i

/**
 * A delivery report, or whatever else came with the null sender, unless it is an automatic answer, which RFC 3834 wants
 * sent so.
 */
function bounceOf({ recipient, envelope_sender }: Arrived, headers: MailHeaders, mail: ParsedMail): Bounce | null {
  if (mail.bounce || envelope_sender !== '') return mail.bounce
  if (mail.auto_reply && !DAEMON.test(headers.from?.address ?? '')) return null
  const message_ids = [...headers.in_reply_to, ...headers.references]
  if (message_ids.length === 0 && !isTagged(headers, recipient)) return null
  const { subject } = headers
  const about = { message_ids, return_addresses: [] }
  return { kind: 'failed', recipients: [], about, diagnostic: subject ?? '' }
}
