/**
 * Decides what a message becomes. Reads only, so that it can be asked at any time. Three callers do:
 *
 * - `POST /inbound-messages?dry_run=true`, which shows the answer.
 * - `filing.ts`, before it stores attachments: a message that was filed already needs none. `overtaking.ts` asks at the
 *   same stage, and only when an older message still waits: would this one start a ticket?
 * - `filing.ts` again, in the transaction that files the message, once it holds the locks of its conversation. This
 *   answer counts: between the two, another process may have filed the same message, or the one that it answers.
 */
import type { SENDER_POLICIES } from '../../db/schema'
import { readMessageId, readReplyTag } from '../../messages/anchors'
import { type Scope, together } from '../../scope'
import type { Bounce, MailHeaders } from '../parse/parse'
import { isFiled } from './fingerprint'
import type { InboundMail } from './message'
import { findReported, type Reported } from './reported'
import { findThread, type Rule } from './thread'
import { type AnchorKind, type Trust, trustIn } from './trust'

export type Decision =
  | { outcome: 'duplicate' | 'own' | 'unmatched_bounce' }
  | ({ outcome: 'bounce'; bounce: Bounce } & Reported)
  | { outcome: 'message'; rule: Rule; ticket_id: string; is_known: boolean; anchor: AnchorKind; trust: Trust }
  | { outcome: 'ticket' | 'unparsed'; rule: 'new'; trust: Trust }

/** Addresses of Reply-To whose tags are read; our own mail has one. */
const MAX_REPLY_TO = 50

/**
 * The first outcome that holds: a duplicate, our own mail, mail that cannot be parsed, a report about delivery, a message
 * of a conversation that exists, else a new ticket.
 */
export async function decide(scope: Scope, mail: InboundMail): Promise<Decision> {
  const { headers, content, bounce, fingerprint } = mail
  const [is_filed, is_own, { trust, thread }] = await together([
    isFiled(scope, fingerprint),
    isOwn(scope, headers, content?.bounce ?? null),
    findTrustedThread(scope, mail),
  ])
  if (is_filed) return { outcome: 'duplicate' }
  if (is_own) return { outcome: 'own' }
  if (!content) return { outcome: 'unparsed', rule: 'new', trust }
  if (bounce) {
    const about = await findReported(scope, mail, bounce)
    return about ? { outcome: 'bounce', bounce, ...about } : { outcome: 'unmatched_bounce' }
  }
  if (thread) return { outcome: 'message', ...thread, trust }
  // The null sender wants no answer, and nothing says which conversation this is about.
  if (mail.envelope_sender === '') return { outcome: 'unmatched_bounce' }
  return { outcome: 'ticket', rule: 'new', trust }
}

/** Finds the ticket, and says what the mail may do there. A report belongs to no conversation. */
async function findTrustedThread(scope: Scope, mail: InboundMail) {
  const { headers, content, bounce, sender, recipient, sender_verified, sender_source } = mail
  const trust = trustIn(sender_verified, await getSenderPolicy(scope), sender_source)
  if (!content || bounce) return { trust }
  return { trust, thread: await findThread(scope, headers, recipient, sender?.email ?? null, trust) }
}

async function getSenderPolicy({ sql, organization_id }: Scope) {
  const [row] = await sql<{ sender_policy: (typeof SENDER_POLICIES)[number] }[]>`
    select sender_policy from organizations where id = ${organization_id}`
  return row?.sender_policy ?? 'flag'
}

/**
 * True for mail of this organization that comes back from mailing lists and forwarders. It has our Message-ID, or the
 * one that our relay gave it, or under any other id our reply address in its Reply-To, which nobody else asks for. A
 * report about delivery may have copied that address, so there it does not count. Another organization of the service
 * may write to us like anybody else.
 */
async function isOwn(
  { sql, organization_id }: Scope,
  { message_id, reply_to }: MailHeaders,
  bounce: Bounce | null,
): Promise<boolean> {
  const tagged = (bounce ? [] : reply_to).slice(0, MAX_REPLY_TO).flatMap(({ address }) => readReplyTag(address) ?? [])
  if (!message_id && tagged.length === 0) return false
  const ours = message_id && readMessageId(message_id)
  const found = await sql`
    select from messages
    where organization_id = ${organization_id} and id = ${ours} and direction = 'outbound'
    union all
    select from email_anchors a
    left join messages m on m.organization_id = a.organization_id and m.id = a.message_id
    where a.organization_id = ${organization_id} and a.email_message_id = ${message_id}
      and (m.direction = 'outbound' or m.id is null and ${ours !== null})
    union all
    select from tickets where organization_id = ${organization_id} and id = any(${tagged}::uuid[])
    limit 1`
  return found.length > 0
}
