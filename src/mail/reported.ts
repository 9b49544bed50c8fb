/** Which message of ours a report about delivery is about (decisions.md section 7). */
import type { Scope } from '../scope'
import type { Inbound } from './inbound'
import { readBounceTag, readMessageId, readReplyTag } from './message-id'
import type { Bounce, MailHeaders } from './parse'
import { destinationsOf } from './thread'

export type Reported = { ticket_id: string; message_id: string }

/** A report quotes one message and what that one refers to. */
const MAX_IDS = 100

/**
 * The message that was not delivered. Only anchors of ours count: the bounce address that the report came to, the
 * Message-IDs that it quotes, and, when nobody is to be answered, the reply address of a ticket.
 */
export async function findReported(scope: Scope, inbound: Inbound, bounce: Bounce): Promise<Reported | undefined> {
  const addresses = destinationsOf(inbound.headers, inbound.recipient)
  const named = await findNamed(scope, addresses.map(readBounceTag).filter(isPresent), bounce.about.message_ids)
  if (named || inbound.envelope_sender) return named
  return findLatest(scope, addresses.map(readReplyTag).filter(isPresent), bounce)
}

/** Whether it came to an address that only our emails name. */
export function isTagged(headers: MailHeaders, recipient: string): boolean {
  return destinationsOf(headers, recipient).some((address) => readBounceTag(address) ?? readReplyTag(address))
}

/** @param tagged messages whose bounce address it is @param ids Message-IDs of ours, or that a server gave in their place */
async function findNamed({ sql, organization_id }: Scope, tagged: string[], ids: string[]) {
  const wanted = ids.slice(0, MAX_IDS)
  const [message] = await sql<Reported[]>`
    with given as (
      select id, true as is_tagged from unnest(${tagged}::uuid[]) as id
      union all
      select id, false from unnest(${wanted.map(readMessageId).filter(isPresent)}::uuid[]) as id
      union all
      select message_id, false from email_anchors
      where organization_id = ${organization_id} and email_message_id = any(${wanted})
    )
    select m.ticket_id, m.id as message_id
    from given join messages m on m.organization_id = ${organization_id} and m.id = given.id
    join tickets t on t.organization_id = m.organization_id and t.id = m.ticket_id
    where m.direction = 'outbound' and t.deleted_at is null
    order by is_tagged desc, m.id desc limit 1`
  return message
}

/** The latest email of a ticket, to whom the report names when there is such a one. */
async function findLatest({ sql, organization_id }: Scope, ticket_ids: string[], { recipients }: Bounce) {
  if (ticket_ids.length === 0) return undefined
  const failed = recipients.map(({ address }) => address.toLowerCase())
  const [message] = await sql<Reported[]>`
    select m.ticket_id, m.id as message_id
    from messages m join tickets t on t.organization_id = m.organization_id and t.id = m.ticket_id
    where m.organization_id = ${organization_id} and m.ticket_id = any(${ticket_ids}::uuid[])
      and m.direction = 'outbound' and m.email_status not in ('none', 'failed') and t.deleted_at is null
    order by exists (
      select from message_recipients r
      where r.organization_id = m.organization_id and r.message_id = m.id and lower(r.email) = any(${failed})
    ) desc, m.id desc
    limit 1`
  return message
}

function isPresent<T>(value: T | null): value is T {
  return value !== null
}
