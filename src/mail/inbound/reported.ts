/** Finds the message of ours that a report about delivery is about. */
import { addressKey } from '../../base/address/email'
import type { Scope } from '../../base/scope'
import { readBounceTag, readMessageId, readReplyTag } from '../../desk/messages/anchors'
import type { Bounce } from '../parse/parse'
import type { InboundMail } from './message'
import { destinationsOf } from './thread'

export type Reported = {
  ticket_id: string
  message_id: string
  /** The report came to the bounce address of the message, which only its recipients and their servers know. */
  is_addressed: boolean
}

type Found = Omit<Reported, 'is_addressed'>

/** Ids that are looked up: a report quotes one message and what that one refers to. */
const MAX_IDS = 100
/** Return addresses that a report quotes, and whose tags are read. */
const MAX_ADDRESSES = 50

/**
 * Finds the message that was not delivered. Only anchors of ours count, in this order: the bounce address that the
 * report came to; the Message-IDs and return addresses that it quotes; a reply address that it quotes, which everybody
 * in the conversation knows, and which therefore leads only to mail to a recipient that the report names; for a report
 * with the null sender the reply address that it came to.
 */
export async function findReported(scope: Scope, mail: InboundMail, bounce: Bounce): Promise<Reported | undefined> {
  const addresses = destinationsOf(mail.headers, mail.recipient)
  const { message_ids, return_addresses } = bounce.about
  const quoted = return_addresses.slice(0, MAX_ADDRESSES)
  const ids = [...message_ids.slice(0, MAX_IDS).map(readMessageId), ...quoted.map(readBounceTag)].filter(isPresent)
  const tagged = addresses.map(readBounceTag).filter(isPresent)
  const found =
    (await findNamed(scope, tagged, ids, message_ids.slice(0, MAX_IDS))) ??
    (await findLatest(scope, quoted.map(readReplyTag).filter(isPresent), bounce, 'to those it names')) ??
    (mail.envelope_sender
      ? undefined
      : await findLatest(scope, addresses.map(readReplyTag).filter(isPresent), bounce, 'to anybody'))
  return found && { ...found, is_addressed: tagged.includes(found.message_id) }
}

/**
 * @param tagged messages whose bounce address the report came to
 * @param quoted messages whose id or bounce address it quotes
 * @param email_message_ids ids that it quotes: a server may have given one in place of ours
 */
async function findNamed(
  { sql, organization_id }: Scope,
  tagged: string[],
  quoted: string[],
  email_message_ids: string[],
) {
  const [message] = await sql<Found[]>`
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
    join tickets t on t.organization_id = ${organization_id} and t.id = m.ticket_id
    where m.direction = 'outbound' and t.deleted_at is null
    order by is_tagged desc, m.id desc limit 1`
  return message
}

/**
 * Finds the latest email of a ticket that went to a recipient that the report names.
 * @param sent `to anybody`: the latest email of all stands in when none did
 */
async function findLatest(
  { sql, organization_id }: Scope,
  ticket_ids: string[],
  { kind, recipients }: Bounce,
  sent: 'to those it names' | 'to anybody',
) {
  if (ticket_ids.length === 0) return undefined
  const named = recipients.filter(({ action }) => action === kind).map(({ address }) => addressKey(address))
  const [message] = await sql<Found[]>`
    select m.ticket_id, m.id as message_id
    from messages m join tickets t on t.organization_id = ${organization_id} and t.id = m.ticket_id
    cross join lateral (
      select exists (
        select 1 from message_recipients r
        where r.organization_id = ${organization_id} and r.message_id = m.id and r.status in ('sent', 'bounced')
          and r.email_key = any(${named})
      ) as is_named
    ) recipients
    where m.organization_id = ${organization_id} and m.ticket_id = any(array(
        select coalesce(n.merged_into_id, n.id) from tickets n
        where n.organization_id = ${organization_id} and n.id = any(${ticket_ids}::uuid[])
      ))
      and m.direction = 'outbound' and m.email_status not in ('none', 'failed') and t.deleted_at is null
      and (is_named or ${sent === 'to anybody'})
    order by is_named desc, m.id desc
    limit 1`
  return message
}

function isPresent<T>(value: T | null): value is T {
  return value !== null
}
