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

/** Whether an address belongs to a ticket: its contact, someone of its company, a confirmed participant. */
export async function isKnownTo(scope: Scope, ticket_id: string, email: string | null): Promise<boolean> {
  if (email === null) return false
  const { sql, organization_id } = scope
  const found = await sql`
    select from tickets t
    left join contacts c on c.organization_id = t.organization_id and c.id = t.contact_id
    left join companies co on co.organization_id = t.organization_id and co.id = t.company_id
    where t.organization_id = ${organization_id} and t.id = ${ticket_id} and (
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
  return found.length > 0
}

type Anchor = { email_message_id: string; ticket_id: string; message_id: string | null }

async function byAnchor(
  scope: Scope,
  rule: Rule,
  ids: string[],
  sender_email: string | null,
): Promise<Thread | undefined> {
  if (ids.length === 0) return undefined
  const { sql, organization_id } = scope
  const wanted = ids.slice(0, MAX_IDS)
  const anchors = await sql<Anchor[]>`
    select a.email_message_id, a.ticket_id, a.message_id
    from email_anchors a join tickets t on t.organization_id = a.organization_id and t.id = a.ticket_id
    where a.organization_id = ${organization_id} and a.email_message_id = any(${wanted}) and t.deleted_at is null
    order by a.ticket_id desc`
  for (const id of wanted) {
    for (const anchor of anchors) {
      if (anchor.email_message_id !== id) continue
      const { ticket_id } = anchor
      const is_known = await isKnownTo(scope, ticket_id, sender_email)
      if (is_known || isIssued(anchor)) return { ticket_id, rule, is_known }
    }
  }
  return undefined
}

/** Our own Message-ID, signed, and for the ticket that its message is on. */
function isIssued({ email_message_id, message_id }: Anchor): boolean {
  return message_id !== null && readMessageId(email_message_id) === message_id
}

async function byReplyTag(scope: Scope, addresses: string[], sender_email: string | null): Promise<Thread | undefined> {
  const { sql, organization_id } = scope
  for (const address of addresses.slice(0, MAX_IDS)) {
    const ticket_id = readReplyTag(address)
    if (!ticket_id) continue
    const found = await sql`
      select from tickets where organization_id = ${organization_id} and id = ${ticket_id} and deleted_at is null`
    if (found.length === 0) continue
    return { ticket_id, rule: 'reply_tag', is_known: await isKnownTo(scope, ticket_id, sender_email) }
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
    if (ticket && (await isKnownTo(scope, ticket.id, sender_email))) {
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
