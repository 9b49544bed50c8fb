/** Finds the message of ours that a report about delivery is about. */
import { unicodeAddress } from '../../address/email'
import { readBounceTag, readMessageId, readReplyTag } from '../../messages/anchors'
import type { Scope } from '../../scope'
import type { Bounce, MailHeaders } from '../parse/parse'
import type { Inbound } from './message'
import { destinationsOf } from './thread'

export type Reported = { ticket_id: string; message_id: string }

/** A report quotes one message and what that one refers to. */
const MAX_IDS = 100
/** Addresses of a report whose tags are read. */
const MAX_ADDRESSES = 50

/**
 * The message that was not delivered. Only anchors of ours count: the bounce address that the report came to, the
 * Message-IDs and return addresses that it quotes, and, when nobody is to be answered, the reply address of a ticket
 * that it came to. A quoted reply address, which everybody in the conversation knows, tells only of mail to whom the
 * report names.
 */
export async function findReported(scope: Scope, inbound: Inbound, bounce: Bounce): Promise<Reported | undefined> {
  const addresses = destinationsOf(inbound.headers, inbound.recipient)
  const { message_ids, return_addresses } = bounce.about
  const quoted = return_addresses.slice(0, MAX_ADDRESSES)
  const ids = [...message_ids.slice(0, MAX_IDS).map(readMessageId), ...quoted.map(readBounceTag)].filter(isPresent)
  const found =
    (await findNamed(scope, addresses.map(readBounceTag).filter(isPresent), ids, message_ids.slice(0, MAX_IDS))) ??
    (await findLatest(scope, quoted.map(readReplyTag).filter(isPresent), bounce, true))
  if (found || inbound.envelope_sender) return found
  return findLatest(scope, addresses.map(readReplyTag).filter(isPresent), bounce, false)
}

/** Whether it came to an address that only our emails name. */
export function isTagged(headers: MailHeaders, recipient: string): boolean {
  return destinationsOf(headers, recipient).some((address) => readBounceTag(address) ?? readReplyTag(address))
}

/**
 * @param tagged messages whose bounce address it came to
 * @param quoted messages that it quotes
 * @param email_message_ids that it quotes: a server may have given one in place of ours
 */
async function findNamed(
  { sql, organization_id }: Scope,
  tagged: string[],
  quoted: string[],
  email_message_ids: string[],
) {
  const [message] = await sql<Reported[]>`
    with given as (
      select id, true as is_tagged from unnest(${tagged}::uuid[]) as id
      union all
      select id, false from unnest(${quoted}::uuid[]) as id
      union all
      select message_id, false from email_anchors
      where organization_id = ${organization_id} and email_message_id = any(${email_message_ids})
    )
    select m.ticket_id, m.id as message_id
    from given join messages m on m.organization_id = ${organization_id} and m.id = given.id
    join tickets t on t.organization_id = m.organization_id and t.id = m.ticket_id
    where m.direction = 'outbound' and t.deleted_at is null
    order by is_tagged desc, m.id desc limit 1`
  return message
}

/**
 * The latest email of a ticket that went to whom the report names.
 * @param is_strict whether there is none without such a one; else the latest of all stands in
 */
async function findLatest(
  { sql, organization_id }: Scope,
  ticket_ids: string[],
  { kind, recipients }: Bounce,
  is_strict: boolean,
) {
  if (ticket_ids.length === 0) return undefined
  const named = recipients.filter(({ action }) => action === kind).map(({ address }) => address.toLowerCase())
  const [message] = await sql<Reported[]>`
    select m.ticket_id, m.id as message_id
    from messages m join tickets t on t.organization_id = m.organization_id and t.id = m.ticket_id
    cross join lateral (
      select exists (
        select from message_recipients r
        where r.organization_id = m.organization_id and r.message_id = m.id and r.status in ('sent', 'bounced')
          and lower(r.email) = any(${named.flatMap((address) => [address, unicodeAddress(address)])})
      ) as is_named
    ) recipients
    where m.organization_id = ${organization_id} and m.ticket_id = any(${ticket_ids}::uuid[])
      and m.direction = 'outbound' and m.email_status not in ('none', 'failed') and t.deleted_at is null
      and (is_named or not ${is_strict})
    order by is_named desc, m.id desc
    limit 1`
  return message
}

function isPresent<T>(value: T | null): value is T {
  return value !== null
}
