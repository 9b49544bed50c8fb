/** Which ticket a message belongs to (decisions.md section 7, Threading): the first rule that hits wins. */
import { domainsOf } from '../../address/domains'
import { spellings } from '../../address/spellings'
import type { THREADING_RULES } from '../../db/schema'
import { readBounceTag, readMessageId, readReplyTag } from '../../messages/anchors'
import type { Scope } from '../../scope'
import { endsOf, type MailHeaders } from '../parse/parse'

export type Rule = (typeof THREADING_RULES)[number]

export type Thread = {
  ticket_id: string
  rule: Rule
  /** Whether the sender belongs to the ticket, and does not only hold an anchor of ours. */
  is_known: boolean
}

/** Addresses of one message, and ids of each of its fields, that are looked up; one that needs more is an attack. */
const MAX_ADDRESSES = 50
const MAX_IDS = 100

/**
 * The ticket of a message, undefined when it starts a new one. Anchors that the service issued (signed) lead there for
 * whoever holds them; those of others, and the code in the subject, only for people of the ticket.
 * @param recipient the address at RCPT, with its `+tag`
 * @param sender_email of the message, null when it has none
 */
export async function findThread(
  scope: Scope,
  headers: MailHeaders,
  recipient: string,
  sender_email: string | null,
): Promise<Thread | undefined> {
  return (
    (await byAnchor(scope, headers, sender_email)) ??
    (await byTag(scope, destinationsOf(headers, recipient), sender_email)) ??
    (await bySubjectCode(scope, headers.subject ?? '', sender_email))
  )
}

/** Where a message came to: relays that do not keep the `+tag` in the envelope leave it in the header. */
export function destinationsOf({ to, cc }: MailHeaders, recipient: string): string[] {
  return [recipient, ...[...to, ...cc].map(({ address }) => address)].slice(0, MAX_ADDRESSES)
}

type Found = Omit<Thread, 'rule'>

/**
 * Joins to ticket `t` what an address is to it: a customer, as its contact or of its company, or a confirmed
 * participant. Customers are made by themselves or the team; a participant by any contact's Cc.
 */
function relation({ sql }: Scope, email: string | null) {
  return sql`
    left join contacts c on c.organization_id = t.organization_id and c.id = t.contact_id
    left join companies co on co.organization_id = t.organization_id and co.id = t.company_id
    cross join lateral (
      select
        coalesce(
          lower(c.email) in ${spellings(sql, email)}
          or co.domains && ${email === null ? [] : domainsOf(email)}::text[]
          or exists (
            select from contacts x
            where x.organization_id = t.organization_id and lower(x.email) in ${spellings(sql, email)}
              and x.company_id = t.company_id
          ), false
        ) as is_customer,
        exists (
          select from participants p
          where p.organization_id = t.organization_id and p.ticket_id = t.id and p.confirmed
            and lower(p.email) in ${spellings(sql, email)}
        ) as is_participant
    ) related`
}

/**
 * The ticket of the first id that leads to one: those of In-Reply-To, then those of References, the last one first, as
 * it is the nearest. Of several that an id of others leads to: the sender's own before one
 * that somebody made them a participant of, which could be there to catch their mail; the one that has the message
 * before those that only refer to it; the newest.
 */
async function byAnchor(
  scope: Scope,
  { in_reply_to, references }: MailHeaders,
  sender_email: string | null,
): Promise<Thread | undefined> {
  const { sql, organization_id } = scope
  const named = (rule: Rule, ids: string[]) => ids.map((id) => ({ rule, email_message_id: id }))
  const wanted = [
    ...named('in_reply_to', in_reply_to.slice(0, MAX_IDS)),
    ...named('references', endsOf(references, MAX_IDS).toReversed()),
  ].map((one, position) => ({ ...one, position, message_id: readMessageId(one.email_message_id) }))
  if (wanted.length === 0) return undefined
  // Our own ids are found by the message that they name: relays change their case, and their domain.
  const [found] = await sql<Thread[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(wanted)}::text::json)
        as x (rule text, position integer, email_message_id text, message_id uuid)
    ), anchors as (
      select g.rule, g.position, m.ticket_id, true as is_issued, true as is_message
      from given g join messages m on m.organization_id = ${organization_id} and m.id = g.message_id
      where m.direction = 'outbound'
      union all
      select g.rule, g.position, a.ticket_id, false, a.message_id is not null
      from given g join email_anchors a
        on a.organization_id = ${organization_id} and a.email_message_id = g.email_message_id
    )
    select t.id as ticket_id, a.rule, is_customer or is_participant as is_known
    from anchors a join tickets t on t.organization_id = ${organization_id} and t.id = a.ticket_id
    ${relation(scope, sender_email)}
    where t.deleted_at is null and (is_issued or is_customer or is_participant)
    order by position, is_issued desc, is_customer desc, is_message desc, t.id desc
    limit 1`
  return found
}

/** A reply address names its ticket; a bounce address, which people write to by mistake, the ticket of its message. */
async function byTag(scope: Scope, addresses: string[], sender_email: string | null): Promise<Thread | undefined> {
  const { sql, organization_id } = scope
  for (const address of addresses) {
    const [ticket_id, message_id] = [readReplyTag(address), readBounceTag(address)]
    if (!ticket_id && !message_id) continue
    const [found] = await sql<Found[]>`
      select t.id as ticket_id, is_customer or is_participant as is_known
      from tickets t ${relation(scope, sender_email)}
      where t.organization_id = ${organization_id} and t.deleted_at is null and t.id = coalesce(${ticket_id}::uuid, (
        select ticket_id from messages
        where organization_id = ${organization_id} and id = ${message_id} and direction = 'outbound'
      ))`
    if (found) return { ...found, rule: 'reply_tag' }
  }
  return undefined
}

async function bySubjectCode(scope: Scope, subject: string, sender_email: string | null): Promise<Thread | undefined> {
  const { sql, organization_id } = scope
  const codes = [...subject.matchAll(/\[([A-Z][A-Z0-9]{0,9}-\d{1,10})\]/gi)].map(([, code]) => code!.toUpperCase())
  // Ours is added at the end; a code before it may be what the ticket is about.
  for (const code of codes.toReversed().slice(0, 5)) {
    const [found] = await sql<Found[]>`
      select t.id as ticket_id, true as is_known
      from tickets t ${relation(scope, sender_email)}
      where t.organization_id = ${organization_id} and t.number = ${numberOf(code)} and t.code = ${code}
        and t.deleted_at is null and (is_customer or is_participant)`
    if (found) return { ...found, rule: 'subject_code' }
  }
  return undefined
}

/** Larger ones than a ticket can have name none. */
function numberOf(code: string): number {
  const number = Number(code.slice(code.lastIndexOf('-') + 1))
  return number <= 2_147_483_647 ? number : 0
}
