/** Which ticket a message belongs to (decisions.md section 7, Threading): the first rule that hits wins. */
import { domainsOf } from '../companies/domains'
import type { THREADING_RULES } from '../db/schema'
import type { Scope } from '../scope'
import { readMessageId, readReplyTag } from './message-id'
import type { ParsedMail } from './parse'

export type Rule = (typeof THREADING_RULES)[number]

export type Thread = {
  ticket_id: string
  rule: Rule
  /** Whether the sender belongs to the ticket, and does not only hold an anchor of ours. */
  is_known: boolean
}

type Clues = Pick<ParsedMail, 'in_reply_to' | 'references' | 'subject' | 'to' | 'cc'>

/** Ids that are looked up of one message; a thread that needs more is an attack. */
const MAX_IDS = 50
/** Tickets that these ids may lead to; messages of many tickets may refer to one ancestor. */
const MAX_ANCHORS = 1000

/**
 * The ticket of a message, undefined when it starts a new one. Anchors that the service issued (signed) lead there for
 * whoever holds them; those of others, and the code in the subject, only for people of the ticket.
 * @param recipient the address at RCPT, with its `+tag`
 * @param sender_email of the message, null when it has none
 */
export async function findThread(
  scope: Scope,
  mail: Clues,
  recipient: string,
  sender_email: string | null,
): Promise<Thread | undefined> {
  const references = mail.references.toReversed()
  return (
    (await byAnchor(scope, 'in_reply_to', mail.in_reply_to, sender_email)) ??
    (await byAnchor(scope, 'references', references, sender_email)) ??
    (await byReplyTag(scope, [recipient, ...[...mail.to, ...mail.cc].map(({ address }) => address)], sender_email)) ??
    (await bySubjectCode(scope, mail.subject ?? '', sender_email))
  )
}

/** Those of the tickets that an address belongs to: as their contact, of their company, as a confirmed participant. */
async function findKnown(scope: Scope, ticket_ids: string[], email: string | null): Promise<Set<string>> {
  if (email === null || ticket_ids.length === 0) return new Set()
  const { sql, organization_id } = scope
  const known = await sql<{ id: string }[]>`
    select t.id from tickets t
    left join contacts c on c.organization_id = t.organization_id and c.id = t.contact_id
    left join companies co on co.organization_id = t.organization_id and co.id = t.company_id
    where t.organization_id = ${organization_id} and t.id = any(${ticket_ids}::uuid[]) and (
      lower(c.email) = lower(${email})
      or co.domains && ${domainsOf(email)}::text[]
      or exists (
        select from contacts x
        where x.organization_id = t.organization_id and lower(x.email) = lower(${email}) and x.company_id = t.company_id
      )
      or exists (
        select from participants p
        where p.organization_id = t.organization_id and p.ticket_id = t.id and p.confirmed
          and lower(p.email) = lower(${email})
      )
    )`
  return new Set(known.map(({ id }) => id))
}

type Anchor = { email_message_id: string; ticket_id: string; is_issued: boolean }

async function byAnchor(
  scope: Scope,
  rule: Rule,
  ids: string[],
  sender_email: string | null,
): Promise<Thread | undefined> {
  if (ids.length === 0) return undefined
  const { sql, organization_id } = scope
  const wanted = ids.slice(0, MAX_IDS).map((id) => ({ email_message_id: id, message_id: readMessageId(id) }))
  // Our own ids are found by the message that they name: relays change their case, and their domain.
  const anchors = await sql<Anchor[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(wanted)}::text::json)
        as x (email_message_id text, message_id uuid)
    ), found as (
      select g.email_message_id, m.ticket_id, true as is_issued
      from given g join messages m on m.organization_id = ${organization_id} and m.id = g.message_id
      where m.direction = 'outbound'
      union all
      select g.email_message_id, a.ticket_id, false
      from given g join email_anchors a
        on a.organization_id = ${organization_id} and a.email_message_id = g.email_message_id
    )
    select f.email_message_id, f.ticket_id, f.is_issued
    from found f join tickets t on t.organization_id = ${organization_id} and t.id = f.ticket_id
    where t.deleted_at is null
    order by f.is_issued desc, f.ticket_id desc
    limit ${MAX_ANCHORS}`
  const ticket_ids = anchors.map(({ ticket_id }) => ticket_id)
  const known = await findKnown(scope, ticket_ids, sender_email)
  for (const { email_message_id } of wanted) {
    const anchor = anchors.find(
      (one) => one.email_message_id === email_message_id && (one.is_issued || known.has(one.ticket_id)),
    )
    if (anchor) return { ticket_id: anchor.ticket_id, rule, is_known: known.has(anchor.ticket_id) }
  }
  return undefined
}

async function byReplyTag(scope: Scope, addresses: string[], sender_email: string | null): Promise<Thread | undefined> {
  const { sql, organization_id } = scope
  for (const address of addresses.slice(0, MAX_IDS)) {
    const ticket_id = readReplyTag(address)
    if (!ticket_id) continue
    const found = await sql`
      select from tickets where organization_id = ${organization_id} and id = ${ticket_id} and deleted_at is null`
    if (found.length === 0) continue
    const known = await findKnown(scope, [ticket_id], sender_email)
    return { ticket_id, rule: 'reply_tag', is_known: known.has(ticket_id) }
  }
  return undefined
}

async function bySubjectCode(scope: Scope, subject: string, sender_email: string | null): Promise<Thread | undefined> {
  const { sql, organization_id } = scope
  const codes = [...subject.matchAll(/\[([A-Z][A-Z0-9]{0,9}-\d{1,10})\]/gi)].map(([, code]) => code!.toUpperCase())
  for (const code of codes.slice(0, 5)) {
    const [ticket] = await sql<{ id: string }[]>`
      select id from tickets
      where organization_id = ${organization_id} and number = ${numberOf(code)} and code = ${code}
        and deleted_at is null`
    if (ticket && (await findKnown(scope, [ticket.id], sender_email)).has(ticket.id)) {
      return { ticket_id: ticket.id, rule: 'subject_code', is_known: true }
    }
  }
  return undefined
}

/** Larger ones than a ticket can have name none. */
function numberOf(code: string): number {
  const number = Number(code.slice(code.lastIndexOf('-') + 1))
  return number <= 2_147_483_647 ? number : 0
}
