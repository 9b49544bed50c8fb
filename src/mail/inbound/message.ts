/**
 * Joins what the ledger knows of a message with what the message says: everything that is decided on.
 *
 * A message has one type at each step of its way in: `Envelope` (SMTP), `LedgerEntry` (accepted), `ParsedMail` (what it
 * says), `InboundMail` (both together), `MessageDraft` (what becomes a message of a ticket).
 */
import { isEmailAddress } from '../../base/address/email'
import type { Actor } from '../../base/scope'
import { storable } from '../../base/shapes/fold'
import { readBounceTag } from '../../desk/messages/anchors'
import { type Bounce, type MailHeaders, type ParsedMail, readHeaders } from '../parse/parse'
import type { Proof } from '../sender/check'
import type { Authentication } from '../sender/results'
import type { SpamVerdict } from '../spam/judge'
import { type Fingerprint, fingerprintOf } from './fingerprint'
import { destinationsOf } from './thread'
import type { SenderSource } from './trust'

/** A message that was accepted, over SMTP or by an import, as the ledger has it before it is filed. */
export type LedgerEntry = {
  /** Id of its row. */
  id: string
  /** Null once the mailbox is deleted. */
  mailbox_id: string | null
  /** The address at RCPT with its `+tag`; of an import the address of the mailbox. */
  recipient: string
  /** Empty for the null sender; null when it did not come over SMTP. */
  envelope_sender: string | null
  /** As in `Envelope`; null when it did not come over SMTP, or to a release that did not keep it. */
  remote_address: string | null
  helo: string | null
  relay_address: string | null
}

export type InboundMail = LedgerEntry & {
  /** The original, byte by byte. */
  raw: Uint8Array
  headers: MailHeaders
  /** Body and attachments; null when the message could not be parsed. */
  content: Omit<ParsedMail, keyof MailHeaders> | null
  /** The person or machine that wrote it; undefined when no usable address says so. */
  sender: Sender | undefined
  sender_source: SenderSource
  /** The member of the organization whose address is in From; null when it is nobody's of them. */
  member: Member | null
  /** Mail that the member passes on is that of a customer, and the member's words are a note about it. */
  passed_on: { by: Member; note: string; note_html: string } | null
  /** From is an address of a mailbox of the organization. */
  is_from_mailbox: boolean
  /** The Reply-To that may count, until the sender is checked; null without one. */
  reply: ReplyAddress | null
  /** Where the sender wants answers, when that is another address; null without one. */
  reply_to: string | null
  /** When answers go to `reply_to`. */
  directs: Directs
  /** Its report about the delivery of another message; null when it is not a report. */
  bounce: Bounce | null
  /** Mail that we sent, or words of others under our Message-ID or our reply address; null for all other mail. */
  ours: 'sent' | 'copied id' | 'copied address' | null
  fingerprint: Fingerprint
  /** True when the sender is proven, false when From is forged, null when nobody can tell, or it was not checked. */
  sender_verified: boolean | null
  /** The same of From, which may not be the sender. */
  from_verified: boolean | null
  /** The part that a proven sender has written. */
  proof: Proof
  /** Null: not checked. */
  authentication: Authentication | null
  /** DNS could not tell who wrote it, for a passing reason: it may do no more than forged mail. */
  is_undecided: boolean
  /** The verdict of a judge; null without one. */
  spam: SpamVerdict | null
  /** Somebody released it: it is filed whatever it is. */
  is_released: boolean
}

export type Sender = { name: string; email: string }

/** An address in Reply-To, and when it is that of the writer, should it be of another organization than From. */
export type ReplyAddress = { name: string; address: string; writes: 'always' | 'unless forged' | 'never' }

/** When answers go to Reply-To: always, only while nobody else has written on the ticket before, or never. */
export type Directs = 'always' | 'at first' | 'never'

/** A member of the organization, as an actor. */
export type Member = Extract<Actor, { type: 'user' }>

/** Keys of an index have at most some 2,700 bytes; no mail system makes ids of a thousand. */
const MAX_ID_BYTES = 1000

/**
 * Joins them. The sender is not checked yet.
 * @param parsed null when the message could not be parsed: then only its header is read
 */
export function inboundMail(entry: LedgerEntry, raw: Uint8Array, parsed: ParsedMail | null): InboundMail {
  const headers = withStorableIds(parsed ?? readHeaders(raw))
  const sender = senderOf(headers, entry.envelope_sender)
  const bounce = parsed && bounceOf(entry, headers, parsed)
  const said = parsed && { digest: parsed.digest, is_report: bounce !== null }
  const fingerprint = fingerprintOf(headers, raw, said, sender)
  return {
    ...entry,
    raw,
    headers,
    content: parsed,
    sender,
    sender_source: 'from',
    member: null,
    passed_on: null,
    is_from_mailbox: false,
    reply: null,
    reply_to: null,
    directs: 'never',
    bounce,
    ours: null,
    fingerprint,
    sender_verified: null,
    from_verified: null,
    proof: [],
    authentication: null,
    is_undecided: false,
    spam: null,
    is_released: false,
  }
}

/** Gives the ids that the database can hold and find; those that are too long are left out. */
export function storableIds(ids: string[]): string[] {
  return ids.filter((id) => Buffer.byteLength(id) <= MAX_ID_BYTES).map((id) => storable(id))
}

function withStorableIds({ message_id, in_reply_to, references, ...rest }: MailHeaders): MailHeaders {
  return {
    ...rest,
    message_id: storableIds(message_id === null ? [] : [message_id])[0] ?? null,
    in_reply_to: storableIds(in_reply_to),
    references: storableIds(references),
  }
}

/**
 * The writer as the message alone says: From, when it has an address at all, else the envelope sender, else Sender.
 * `author.ts` looks further when From is no customer.
 */
function senderOf({ from, sender }: MailHeaders, envelope_sender: string | null): Sender | undefined {
  if (from) return { name: from.name, email: from.address }
  if (envelope_sender && isEmailAddress(envelope_sender)) return { name: '', email: envelope_sender }
  return sender ? { name: sender.name, email: sender.address } : undefined
}

const DAEMON = /^(?:mailer-daemon|postmaster)@/i

/**
 * A delivery report. Other mail with the null sender is one too when a mail system wrote it, or when it came to a
 * bounce address. Fax gateways, forms and automatic answers (RFC 3834) have the null sender, too, and report nothing.
 */
function bounceOf({ recipient, envelope_sender }: LedgerEntry, headers: MailHeaders, mail: ParsedMail): Bounce | null {
  if (mail.bounce || envelope_sender !== '') return mail.bounce
  const is_addressed = destinationsOf(headers, recipient).some(readBounceTag)
  if (!DAEMON.test(headers.from?.address ?? '') && (mail.auto_reply || !is_addressed)) return null
  const { subject, in_reply_to, references } = headers
  const message_ids = [...in_reply_to, ...references]
  const about = { message_ids, return_addresses: [] }
  return { kind: 'failed', is_formal: false, recipients: [], about, diagnostic: subject ?? '' }
}
