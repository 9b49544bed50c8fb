/** What is to become of a message: read-only, so that a dry run can ask it too. */
import { type Scope, together } from '../scope'
import { isFiled } from './fingerprint'
import type { Inbound } from './inbound'
import { readMessageId } from './message-id'
import type { Bounce } from './parse'
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
    isOwn(scope, headers.message_id),
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
