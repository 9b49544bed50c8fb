/**
 * Finds the tickets that messages belong to: of many messages by as many statements as of one. The first rule that hits
 * wins: a letter that a member answers, In-Reply-To, References, a message that referred to this one, the signed
 * address that it came to, the ticket's code in the subject. The words of a subject never lead to a ticket.
 */
import { domainsOf } from '../../base/address/domains'
import { addressKey } from '../../base/address/email'
import type { THREADING_RULES } from '../../base/db/schema'
import type { Fragment } from '../../base/db/transact'
import { type Scope, together } from '../../base/scope'
import { readBounceTag, readLetterAnchor, readMessageId, readReplyTag } from '../../desk/messages/anchors'
import { endsOf, type MailHeaders } from '../parse/parse'
import type { AnchorKind, Trust } from './trust'

type Rule = (typeof THREADING_RULES)[number]

export type Thread = {
  ticket_id: string
  /** The ticket that the anchor names, which may have been merged into that one. */
  named_id: string
  rule: Rule
  /** The Message-ID or code that led there; null for a signed address. */
  led_by: string | null
  /** True when the sender belongs to the ticket; false when an anchor of ours is all that leads there. */
  is_known: boolean
  anchor: AnchorKind
  /** The letter to a member that it answers; null for all others. */
  letter: 'about a note' | 'about a ticket' | null
  /** The message that it answers, as far as an id in In-Reply-To or References names one that is here. */
  answered_id: string | null
}

/** Addresses of one message that are looked up; a message that needs more is an attack. */
const MAX_ADDRESSES = 50
/** Ids of others that are looked up, of each header field. */
const MAX_IDS = 100
/** Codes of one subject that are looked up. */
const MAX_CODES = 5

/** A message whose ticket is asked for. */
type ThreadQuestion = {
  /** Names the message in the answer. */
  place: number
  headers: MailHeaders
  /** The address at RCPT, with its `+tag`. */
  recipient: string
  /** Address of the writer, null when the message has none. */
  sender_email: string | null
  trust: Trust
  /** A member wrote it, as far as anybody can tell: it may answer letters. */
  is_of_member: boolean
  /** It has the Message-ID of a message that is filed: that one's ticket comes first. */
  is_repeated: boolean
}

/**
 * Finds the tickets of messages; a message that starts a new one is not in the answer. Anchors that the service issued
 * (signed) lead there for everybody who holds them. Anchors of others, and the code in the subject, lead there only for
 * people of the ticket: its contact, its company, its confirmed participants. A forged sender is nobody of them.
 * @returns the threads by the places of their messages
 */
export async function findThreads(scope: Scope, asked: ThreadQuestion[]): Promise<Map<number, Thread>> {
  const rules = [
    byLetter(scope, asked),
    byAnchor(scope, asked),
    byTag(scope, asked),
    bySubjectCode(scope, asked),
  ] as const
  const threads = new Map<number, Thread>()
  for (const found of await together(rules)) {
    for (const { place, ...thread } of found) if (!threads.has(place)) threads.set(place, { letter: null, ...thread })
  }
  return threads
}

/** The writer of a message, as far as ids of others lead to tickets for them. */
function personOf({ sender_email, trust }: ThreadQuestion) {
  const email = trust.threads_by_foreign_ids ? sender_email : null
  return {
    sender_key: email === null ? null : addressKey(email),
    sender_domains: email === null ? [] : domainsOf(email),
  }
}

/** The addresses that a message came to. Relays that do not keep the `+tag` in the envelope leave it in the header. */
export function destinationsOf({ to, cc }: MailHeaders, recipient: string): string[] {
  return [recipient, ...[...to, ...cc].map(({ address }) => address)].slice(0, MAX_ADDRESSES)
}

type Found = Omit<Thread, 'letter'> & { place: number; letter?: Thread['letter'] }

/**
 * Joins to ticket `t` what a sender is to it, or to the ticket merged into it that an anchor names: `is_customer` (its
 * contact, or of its company) or `is_participant` (confirmed). The two are kept apart because any contact's Cc makes a
 * participant, but only the team makes a customer, or the customer's own mail.
 * @param given a table with the columns of `personOf`
 * @param named_id the id of the ticket that the anchor names
 */
function relation({ sql, organization_id }: Scope, given: Fragment, named_id: Fragment) {
  return sql`
    left join contact_addresses ca
      on ca.organization_id = ${organization_id} and ca.email_key = ${given}.sender_key
    left join contacts x on x.organization_id = ${organization_id} and x.id = ca.contact_id
    cross join lateral (
      select
        coalesce(bool_or(
          x.id = r.contact_id or x.company_id = r.company_id or co.domains && ${given}.sender_domains
        ), false) as is_customer,
        coalesce(bool_or(exists (
          select 1 from participants p
          where p.organization_id = ${organization_id} and p.ticket_id = r.id and p.confirmed
            and (p.email_key = ${given}.sender_key or p.contact_id = x.id)
        )), false) as is_participant
      from tickets r
      left join companies co on co.organization_id = ${organization_id} and co.id = r.company_id
      where r.organization_id = ${organization_id} and r.id in (t.id, ${named_id})
    ) related`
}

/** The ids at both ends of a long conversation, and ours wherever they are in it. */
function lookedUp(references: string[]): string[] {
  const ends = new Set(endsOf(references, MAX_IDS))
  return references.filter((id) => ends.has(id) || readMessageId(id) !== null)
}

/**
 * Finds the ticket of the first id that leads to one: the ids of In-Reply-To, then those of References, the last one
 * first, because it is the nearest; then its own, to which an answer may have referred that arrived before it, or which
 * comes first when a message of the same sender and date has it. An id that others issued may lead to several tickets.
 * The sender's own comes before one that somebody made them a participant of, perhaps to catch their mail; then the
 * ticket that has the message before those that only refer to it; then the newest. An id leads to the ticket where its
 * message is now; one that was only referred to leads to where its ticket was merged.
 */
async function byAnchor(scope: Scope, asked: ThreadQuestion[]): Promise<Found[]> {
  const { sql, organization_id } = scope
  const wanted = asked.flatMap((one) => {
    const { message_id, in_reply_to, references } = one.headers
    const named = (rule: Rule, ids: string[]) => ids.map((id) => ({ rule, email_message_id: id }))
    const own = named('message_id', message_id === null ? [] : [message_id])
    return [
      ...(one.is_repeated ? own : []),
      ...named('in_reply_to', in_reply_to.slice(0, MAX_IDS)),
      ...named('references', lookedUp(references).toReversed()),
      ...(one.is_repeated ? [] : own),
    ].map((id, position) => ({
      ...id,
      place: one.place,
      position,
      is_repeated: one.is_repeated,
      message_id: id.rule === 'message_id' ? null : readMessageId(id.email_message_id),
      ...personOf(one),
    }))
  })
  if (wanted.length === 0) return []
  // Our own ids are found by the message that they name, because relays change their case and their domain.
  return sql<Found[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(wanted)}::text::json)
        as x (place integer, rule text, position integer, is_repeated boolean, email_message_id text, message_id uuid, sender_key text,
          sender_domains text[])
    ), anchors as (
      select g.*, m.ticket_id, coalesce(m.original_ticket_id, m.ticket_id) as named_id, true as is_issued,
        true as is_message, m.id as answered_id
      from given g join messages m on m.organization_id = ${organization_id} and m.id = g.message_id
      where m.direction = 'outbound'
      union all
      select g.*, coalesce((
          select m.ticket_id from messages m where m.organization_id = ${organization_id} and m.id = a.message_id
        ), (
          select n.merged_into_id from tickets n where n.organization_id = ${organization_id} and n.id = a.ticket_id
        ), a.ticket_id), a.ticket_id, false, a.message_id is not null, a.message_id
      from given g join email_anchors a
        on a.organization_id = ${organization_id} and a.email_message_id = g.email_message_id
      -- Devices use one id for many messages: its own id counts only while no message has it.
      where g.rule <> 'message_id' or g.is_repeated or not exists (
        select 1 from email_anchors taken
        where taken.organization_id = ${organization_id} and taken.email_message_id = g.email_message_id
          and taken.message_id is not null
      )
    )
    select distinct on (a.place) a.place, t.id as ticket_id, a.named_id, a.rule, a.email_message_id as led_by,
      is_customer or is_participant as is_known, case when is_issued then 'issued' else 'foreign' end as anchor,
      case when a.rule <> 'message_id' then a.answered_id end as answered_id
    from anchors a join tickets t on t.organization_id = ${organization_id} and t.id = a.ticket_id
    ${relation(scope, sql`a`, sql`a.named_id`)}
    where t.deleted_at is null and (is_issued or is_customer or is_participant)
    order by a.place, a.position, is_issued desc, is_customer desc, is_message desc, t.id desc`
}

/**
 * Reads signed addresses: a reply address names its ticket, a bounce address (people write to it by mistake) its
 * message.
 */
async function byTag(scope: Scope, asked: ThreadQuestion[]): Promise<Found[]> {
  const wanted = asked.flatMap((one) =>
    destinationsOf(one.headers, one.recipient).flatMap((address, position) => {
      const [ticket_id, message_id] = [readReplyTag(address), readBounceTag(address)]
      return ticket_id || message_id ? { place: one.place, position, ticket_id, message_id, ...personOf(one) } : []
    }),
  )
  return findNamed(scope, wanted)
}

/** The letters that a mail names: by ids in the fields of what it answers, and by the addresses that it came to. */
export function lettersNamedBy(headers: MailHeaders, recipient: string) {
  const { in_reply_to, references } = headers
  const named = [
    ...in_reply_to.slice(0, MAX_IDS).map((id) => ({ rule: 'in_reply_to', led_by: id, anchor: readLetterAnchor(id) })),
    ...endsOf(references, MAX_IDS).map((id) => ({ rule: 'references', led_by: id, anchor: readLetterAnchor(id) })),
    ...destinationsOf(headers, recipient).map((address) => {
      return { rule: 'reply_tag', led_by: null, anchor: readLetterAnchor(address) }
    }),
  ]
  return named.flatMap(({ anchor, ...by }) => (anchor ? { ...by, ...anchor } : []))
}

/** Reads letters that members answer. One about a note goes before others, because its answer must not leave. */
async function byLetter(scope: Scope, asked: ThreadQuestion[]): Promise<Found[]> {
  const about_notes = new Set<number>()
  const wanted = asked.flatMap((one) => {
    const letters = one.is_of_member ? lettersNamedBy(one.headers, one.recipient) : []
    const notes = letters.filter(({ is_about_note }) => is_about_note)
    if (notes.length > 0) about_notes.add(one.place)
    return (notes.length > 0 ? notes : letters).map((letter, position) => {
      return { place: one.place, position, message_id: null, ...letter, ...personOf(one) }
    })
  })
  const found = await findNamed(scope, wanted)
  return found.map((one) => ({ ...one, letter: about_notes.has(one.place) ? 'about a note' : 'about a ticket' }))
}

/** A ticket that a signed anchor names, itself or by a message. */
type Named = { place: number; position: number; ticket_id: string | null; message_id: string | null }

async function findNamed(scope: Scope, wanted: Named[]): Promise<Found[]> {
  if (wanted.length === 0) return []
  const { sql, organization_id } = scope
  return sql<Found[]>`
    select distinct on (g.place) g.place, t.id as ticket_id, n.id as named_id, coalesce(g.rule, 'reply_tag') as rule,
      g.led_by, is_customer or is_participant as is_known, 'issued' as anchor, null as answered_id
    from json_to_recordset(${JSON.stringify(wanted)}::text::json) as g (place integer, position integer, rule text,
      led_by text, ticket_id uuid, message_id uuid, sender_key text, sender_domains text[])
    join tickets n on n.organization_id = ${organization_id} and n.id = coalesce(g.ticket_id, (
      select ticket_id from messages
      where organization_id = ${organization_id} and id = g.message_id and direction = 'outbound'
    ))
    join tickets t on t.organization_id = ${organization_id} and t.deleted_at is null
      and t.id = coalesce(n.merged_into_id, n.id)
    ${relation(scope, sql`g`, sql`n.id`)}
    order by g.place, g.position`
}

/** Reads codes. Ours is added at the end; a code before it may be what the ticket is about. */
async function bySubjectCode(scope: Scope, asked: ThreadQuestion[]): Promise<Found[]> {
  const { sql, organization_id } = scope
  const wanted = asked
    .filter(({ trust }) => trust.threads_by_code)
    .flatMap((one) =>
      codesIn(one.headers.subject ?? '').map((code, position) => {
        return { place: one.place, position, number: numberOf(code), code, ...personOf(one) }
      }),
    )
  if (wanted.length === 0) return []
  return sql<Found[]>`
    select distinct on (g.place) g.place, t.id as ticket_id, n.id as named_id, 'subject_code' as rule, g.code as led_by,
      true as is_known, 'foreign' as anchor, null as answered_id
    from json_to_recordset(${JSON.stringify(wanted)}::text::json)
      as g (place integer, position integer, number integer, code text, sender_key text, sender_domains text[])
    join tickets n on n.organization_id = ${organization_id} and n.number = g.number and n.code = g.code
    join tickets t on t.organization_id = ${organization_id} and t.id = coalesce(n.merged_into_id, n.id)
    ${relation(scope, sql`g`, sql`n.id`)}
    where t.deleted_at is null and (is_customer or is_participant)
    order by g.place, g.position`
}

/** The codes of a subject, the last one first. */
function codesIn(subject: string): string[] {
  const codes = [...subject.matchAll(/\[([A-Z][A-Z0-9]{0,9}-\d{1,10})\]/gi)].map(([, code]) => code!.toUpperCase())
  return codes.toReversed().slice(0, MAX_CODES)
}

/** 0, which no ticket has, for a number larger than a ticket can have. */
function numberOf(code: string): number {
  const number = Number(code.slice(code.lastIndexOf('-') + 1))
  return number <= 2_147_483_647 ? number : 0
}
