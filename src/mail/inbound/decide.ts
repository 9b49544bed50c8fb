/** What is to become of a message: read-only, so that a dry run can ask it too. */

import { readMessageId, readReplyTag } from '../../messages/anchors'
import { type Scope, together } from '../../scope'
import type { Bounce, MailHeaders } from '../parse/parse'
import { isFiled } from './fingerprint'
import type { Inbound } from './message'
import { findReported, type Reported } from './reported'
import { findThread, type Rule } from './thread'

export type Decision =
  | { outcome: 'duplicate' | 'own' | 'unmatched_bounce' }
  | ({ outcome: 'bounce'; bounce: Bounce } & Reported)
  | { outcome: 'message'; rule: Rule; ticket_id: string; is_known: boolean }
  | { outcome: 'ticket' | 'unparsed'; rule: 'new' }

/** The first that holds, in the order of decisions.md section 7. */
export async function decide(scope: Scope, inbound: Inbound): Promise<Decision> {
  const { headers, mail, bounce, sender, recipient, fingerprint } = inbound
  const [is_filed, is_own, thread] = await together([
    isFiled(scope, fingerprint),
    isOwn(scope, headers, mail?.bounce ?? null),
    mail && !bounce ? findThread(scope, headers, recipient, sender?.email ?? null) : undefined,
  ])
  if (is_filed) return { outcome: 'duplicate' }
  if (is_own) return { outcome: 'own' }
  if (!mail) return { outcome: 'unparsed', rule: 'new' }
  if (bounce) {
    const about = await findReported(scope, inbound, bounce)
    return about ? { outcome: 'bounce', bounce, ...about } : { outcome: 'unmatched_bounce' }
  }
  if (thread) return { outcome: 'message', ...thread }
  // Nobody is to be answered, and nothing says which conversation it is about.
  if (inbound.envelope_sender === '') return { outcome: 'unmatched_bounce' }
  return { outcome: 'ticket', rule: 'new' }
}

/** Addresses of Reply-To whose tags are read; our own mail has one. */
const MAX_REPLY_TO = 50

/**
 * Sent by this organization, under our Message-ID or that of its relay, or under any other with our reply address as
 * where answers are wanted, which nobody else asks for: so it comes back from mailing lists and forwarders. Another
 * organization of the service may write to us like anybody else. A report may have copied it.
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
