/**
 * Finds the ticket that a message belongs to. The first rule that hits wins: In-Reply-To, References, a message that
 * referred to this one, the signed address that it came to, the ticket's code in the subject. The words of a subject never lead to a ticket.
 */
import { domainsOf } from '../../address/domains'
import { addressKey } from '../../address/email'
import type { THREADING_RULES } from '../../db/schema'
import { readBounceTag, readMessageId, readReplyTag } from '../../messages/anchors'
import type { Scope } from '../../scope'
import { endsOf, type MailHeaders } from '../parse/parse'
import type { AnchorKind, Trust } from './trust'

export type Rule = (typeof THREADING_RULES)[number]

type Thread = {
  ticket_id: string
  rule: Rule
  /** True when the sender belongs to the ticket; false when an anchor of ours is all that leads there. */
  is_known: boolean
  anchor: AnchorKind
}

/** Addresses of one message that are looked up; a message that needs more is an attack. */
const MAX_ADDRESSES = 50
/** Ids of each header field that are looked up. */
const MAX_IDS = 100
/** Codes of one subject that are looked up. */
const MAX_CODES = 5

/**
 * Finds the ticket of a message; undefined when the message starts a new one. Anchors that the service issued (signed)
 * lead there for everybody who holds them. Anchors of others, and the code in the subject, lead there only for people of
 * the ticket: its contact, its company, its confirmed participants. A forged sender is nobody of them.
 * @param recipient the address at RCPT, with its `+tag`
 * @param sender_email address of the writer, null when the message has none
 */
export async function findThread(
  scope: Scope,
  headers: MailHeaders,
  recipient: string,
  sender_email: string | null,
  trust: Trust,
): Promise<Thread | undefined> {
  const person = trust.threads_by_foreign_ids ? sender_email : null
  return (
    (await byAnchor(scope, headers, person)) ??
    (await byTag(scope, destinationsOf(headers, recipient), person)) ??
    (trust.threads_by_code ? await bySubjectCode(scope, headers.subject ?? '', person) : undefined)
  )
}

/** The addresses that a message came to. Relays that do not keep the `+tag` in the envelope leave it in the header. */
export function destinationsOf({ to, cc }: MailHeaders, recipient: string): string[] {
  return [recipient, ...[...to, ...cc].map(({ address }) => address)].slice(0, MAX_ADDRESSES)
}

/** True when a message came to an address that only our emails name. */
export function isTagged(headers: MailHeaders, recipient: string): boolean {
  return destinationsOf(headers, recipient).some((address) => readBounceTag(address) ?? readReplyTag(address))
}

type Found = Pick<Thread, 'ticket_id' | 'is_known'>

/**
 * Joins to ticket `t` what an address is to it: `is_customer` (its contact, or of its company) or `is_participant`
 * (confirmed). The two are kept apart because any contact's Cc makes a participant, but only the team makes a customer,
 * or the customer's own mail.
 */
function relation({ sql }: Scope, email: string | null) {
  const key = email === null ? null : addressKey(email)
  return sql`
    left join contacts c on c.organization_id = t.organization_id and c.id = t.contact_id
    left join companies co on co.organization_id = t.organization_id and co.id = t.company_id
    cross join lateral (
      select
        coalesce(
          c.email_key = ${key}
          or co.domains && ${email === null ? [] : domainsOf(email)}::text[]
          or exists (
            select from contacts x
            where x.organization_id = t.organization_id and x.email_key = ${key}
              and x.company_id = t.company_id
          ), false
        ) as is_customer,
        exists (
          select from participants p
          where p.organization_id = t.organization_id and p.ticket_id = t.id and p.confirmed
            and p.email_key = ${key}
        ) as is_participant
    ) related`
}

/**
 * Finds the ticket of the first id that leads to one: the ids of In-Reply-To, then those of References, the last one
 * first, because it is the nearest; then its own, to which an answer may have referred that arrived before it. An id that others issued may lead to several tickets. The sender's own comes before
 * one that somebody made them a participant of, perhaps to catch their mail; then the ticket that has the message before
 * those that only refer to it; then the newest.
 */
async function byAnchor(
  scope: Scope,
  { message_id, in_reply_to, references }: MailHeaders,
  sender_email: string | null,
): Promise<Thread | undefined> {
  const { sql, organization_id } = scope
  const named = (rule: Rule, ids: string[]) => ids.map((id) => ({ rule, email_message_id: id }))
  const wanted = [
    ...named('in_reply_to', in_reply_to.slice(0, MAX_IDS)),
    ...named('references', endsOf(references, MAX_IDS).toReversed()),
    ...named('message_id', message_id === null ? [] : [message_id]),
  ].map((one, position) => ({
    ...one,
    position,
    message_id: one.rule === 'message_id' ? null : readMessageId(one.email_message_id),
  }))
  if (wanted.length === 0) return undefined
  // Our own ids are found by the message that they name, because relays change their case and their domain.
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
      -- Devices use one id for many messages: its own id counts only while no message has it.
      where g.rule <> 'message_id' or not exists (
        select from email_anchors taken
        where taken.organization_id = ${organization_id} and taken.email_message_id = g.email_message_id
          and taken.message_id is not null
      )
    )
    select t.id as ticket_id, a.rule, is_customer or is_participant as is_known,
      case when is_issued then 'issued' else 'foreign' end as anchor
    from anchors a join tickets t on t.organization_id = ${organization_id} and t.id = a.ticket_id
    ${relation(scope, sender_email)}
    where t.deleted_at is null and (is_issued or is_customer or is_participant)
    order by position, is_issued desc, is_customer desc, is_message desc, t.id desc
    limit 1`
  return found
}

/** Reads signed addresses: a reply address names its ticket, a bounce address (people write to it by mistake) its message. */
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
    if (found) return { ...found, rule: 'reply_tag', anchor: 'issued' }
  }
  return undefined
}

async function bySubjectCode(scope: Scope, subject: string, sender_email: string | null): Promise<Thread | undefined> {
  const { sql, organization_id } = scope
  const codes = [...subject.matchAll(/\[([A-Z][A-Z0-9]{0,9}-\d{1,10})\]/gi)].map(([, code]) => code!.toUpperCase())
  // Our code is added at the end; a code before it may be what the ticket is about.
  for (const code of codes.toReversed().slice(0, MAX_CODES)) {
    const [found] = await sql<Found[]>`
      select t.id as ticket_id, true as is_known
      from tickets t ${relation(scope, sender_email)}
      where t.organization_id = ${organization_id} and t.number = ${numberOf(code)} and t.code = ${code}
        and t.deleted_at is null and (is_customer or is_participant)`
    if (found) return { ...found, rule: 'subject_code', anchor: 'foreign' }
  }
  return undefined
}

/** 0, which no ticket has, for a number larger than a ticket can have. */
function numberOf(code: string): number {
  const number = Number(code.slice(code.lastIndexOf('-') + 1))
  return number <= 2_147_483_647 ? number : 0
}
