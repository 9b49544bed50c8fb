/** Opens tickets for conversations that begin by email: as many statements for a hundred as for one. */
import { unknownIds } from '../errors'
import { type AddedMessage, addMessages } from '../messages/add-messages'
import type { DraftWithId } from '../messages/draft'
import { type Actor, type Scope, together } from '../scope'
import { newDocument } from '../search/ticket-document'
import { insertTimelines } from '../timeline/activity'
import { takeNumbers } from './code'
import type { Ticket } from './model'
import { fields, present, type TicketRow, withNames } from './row'

export type OpenedTicket = {
  id: string
  subject: string
  contact_id: string
  /** The mailbox that received the conversation. */
  mailbox_id: string | null
  actor: Actor
  first: DraftWithId
}

/** What the code and the search document of a ticket need of its organization. */
type Naming = { contact_id: string; prefix: string; organization_number: number }

/**
 * Creates tickets with their first messages, in the caller's transaction. The caller publishes.
 * @returns them by id
 * @throws CONTACT_NOT_FOUND, ATTACHMENT_NOT_FOUND
 */
export async function openTickets(scope: Scope, opened: OpenedTicket[]): Promise<Map<string, Ticket>> {
  if (opened.length === 0) return new Map()
  const [naming, numbers] = await Promise.all([findNaming(scope, opened), takeNumbers(scope, opened.length)])
  const messages = opened.map(({ id, actor, first }): AddedMessage => {
    return { ticket_id: id, actor, draft: first, is_first: true }
  })
  const [tickets] = await together([
    insertOpened(scope, opened, (ticket, index) => {
      const { prefix, organization_number } = naming.get(ticket.contact_id)!
      const [number, code] = [numbers[index]!, `${prefix}-${numbers[index]!}`]
      return { number, code, ...newDocument(organization_number, code, ticket.subject, ticket.first.text) }
    }),
    addMessages(scope, messages),
  ])
  return new Map(tickets.map((ticket) => [ticket.id, ticket]))
}

/** @returns by contact @throws CONTACT_NOT_FOUND */
async function findNaming({ sql, organization_id }: Scope, opened: OpenedTicket[]): Promise<Map<string, Naming>> {
  const ids = [...new Set(opened.map(({ contact_id }) => contact_id))]
  const found = await sql<Naming[]>`
    select c.id as contact_id, coalesce(co.ticket_prefix, o.ticket_prefix) as prefix, o.number as organization_number
    from organizations o
    join contacts c on c.organization_id = o.id
    left join companies co on co.organization_id = o.id and co.id = c.company_id
    where o.id = ${organization_id} and c.id = any(${ids}::uuid[])`
  if (found.length < ids.length) throw unknownIds('CONTACT_NOT_FOUND', '/contact_id', ids)
  return new Map(found.map((one) => [one.contact_id, one]))
}

type Numbered = { number: number; code: string; vector: string; size: number }

/**
 * Writes tickets, search documents and the first entries of their timelines in one statement. It locks the contacts' rows,
 * so that a company that a contact gets at the same time reaches these tickets too.
 */
async function insertOpened(
  scope: Scope,
  opened: OpenedTicket[],
  numberOf: (ticket: OpenedTicket, index: number) => Numbered,
): Promise<Ticket[]> {
  const { sql, organization_id } = scope
  const rows = opened.map((ticket, index) => {
    const { id, subject, contact_id, mailbox_id } = ticket
    return { id, subject, contact_id, mailbox_id, ...numberOf(ticket, index) }
  })
  const contact_ids = [...new Set(opened.map(({ contact_id }) => contact_id))]
  const entries = opened.map(({ id, actor }) => {
    return { ticket_id: id, actor, entry: { type: 'created', data: {} } as const }
  })
  const written = await sql<TicketRow[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (id uuid, number integer, code text,
        subject text, contact_id uuid, mailbox_id uuid, vector text, size integer)
    ), contact as materialized (
      select id, company_id from contacts
      where organization_id = ${organization_id} and id = any(${contact_ids}::uuid[])
      order by id for share
    ), t as (
      insert into tickets (organization_id, id, number, code, subject, contact_id, company_id, mailbox_id, updated_at)
      select ${organization_id}, g.id, g.number, g.code, g.subject, contact.id, contact.company_id, g.mailbox_id,
        greatest(clock_timestamp(), uuid_time(g.id))
      from given g join contact on contact.id = g.contact_id
      returning *
    ), searchable as (
      insert into ticket_search (organization_id, ticket_id, document, size)
      select ${organization_id}, g.id, g.vector::tsvector, g.size from given g
    ), timeline as (
      ${insertTimelines(scope, entries)}
    )
    select ${fields(scope)} from t ${withNames(scope)}`
  if (written.length < opened.length) throw unknownIds('CONTACT_NOT_FOUND', '/contact_id', contact_ids)
  return written.map(present)
}
