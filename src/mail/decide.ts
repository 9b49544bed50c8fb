/** What is to become of a message: read-only, so that a dry run can ask it too. */
import { isEmailAddress } from '../contacts/email'
import type { Scope } from '../scope'
import { type Fingerprint, isFiled } from './fingerprint'
import { readMessageId } from './message-id'
import type { Bounce, MailHeaders, ParsedMail } from './parse'
import { findReported, isTagged, type Reported } from './reported'
import { findThread, type Rule } from './thread'

/** A message as the ledger knows it, with what the parser made of it. */
export type Inbound = {
  /** The address at RCPT. */
  recipient: string
  /** Empty for the null sender; null when it did not come over SMTP. */
  envelope_sender: string | null
  raw: Uint8Array
  headers: MailHeaders
  fingerprint: Fingerprint
  /** Null when the message could not be parsed. */
  mail: ParsedMail | null
}

export type Sender = { name: string; email: string }

export type Decision =
  | { outcome: 'duplicate' | 'own' | 'unmatched_bounce' }
  | ({ outcome: 'bounce' } & Reported)
  | { outcome: 'message'; rule: Rule; ticket_id: string; is_known: boolean }
  | { outcome: 'ticket' | 'unparsed'; rule: 'new' }

/** The first that holds, in the order of decisions.md section 7. */
export async function decide(scope: Scope, inbound: Inbound): Promise<Decision> {
  const { headers, mail } = inbound
  const [is_filed, is_own] = await Promise.all([isFiled(scope, inbound.fingerprint), isOwn(scope, headers.message_id)])
  if (is_filed) return { outcome: 'duplicate' }
  if (is_own) return { outcome: 'own' }
  if (!mail) return { outcome: 'unparsed', rule: 'new' }
  const bounce = bounceOf(inbound)
  if (bounce) {
    const about = await findReported(scope, inbound, bounce)
    return about ? { outcome: 'bounce', ...about } : { outcome: 'unmatched_bounce' }
  }
  const thread = await findThread(scope, mail, inbound.recipient, senderOf(inbound)?.email ?? null)
  if (thread) return { outcome: 'message', ...thread }
  // Nobody is to be answered, and nothing says which conversation it is about.
  if (inbound.envelope_sender === '') return { outcome: 'unmatched_bounce' }
  return { outcome: 'ticket', rule: 'new' }
}

/**
 * What a message reports about another: a delivery report, or whatever else came with the null sender, unless it is an
 * automatic answer, which RFC 3834 wants sent so.
 */
export function bounceOf(inbound: Inbound): Bounce | null {
  const { mail, headers, envelope_sender } = inbound
  if (!mail || mail.bounce || envelope_sender !== '') return mail?.bounce ?? null
  if (mail.auto_reply && !DAEMON.test(headers.from?.address ?? '')) return null
  const message_ids = [...headers.in_reply_to, ...headers.references]
  if (message_ids.length === 0 && !isTagged(inbound)) return null
  const { subject } = headers
  return { kind: 'failed', recipients: [], about: { message_ids, subject }, diagnostic: subject ?? '' }
}

const DAEMON = /^(?:mailer-daemon|postmaster)@/i

/**
 * Who wrote: From (an address, when it is there at all), else the envelope sender, else Sender. Never Reply-To, which
 * says where answers are wanted, not whose words these are.
 */
export function senderOf({
  headers,
  envelope_sender,
}: Pick<Inbound, 'headers' | 'envelope_sender'>): Sender | undefined {
  const { from, sender } = headers
  if (from) return { name: from.name, email: from.address }
  if (envelope_sender && isEmailAddress(envelope_sender)) return { name: '', email: envelope_sender }
  return sender ? { name: sender.name, email: sender.address } : undefined
}

/**
 * Sent by this organization, under our Message-ID or that of its relay; another organization of the service may write
 * to us like anybody else.
 */
async function isOwn({ sql, organization_id }: Scope, email_message_id: string | null): Promise<boolean> {
  if (!email_message_id) return false
  const ours = readMessageId(email_message_id)
  const found = await sql`
    select from messages
    where organization_id = ${organization_id} and id = ${ours} and direction = 'outbound'
    union all
    select from email_anchors a
    left join messages m on m.organization_id = a.organization_id and m.id = a.message_id
    where a.organization_id = ${organization_id} and a.email_message_id = ${email_message_id}
      and (m.direction = 'outbound' or m.id is null and ${ours !== null})
    limit 1`
  return found.length > 0
}
