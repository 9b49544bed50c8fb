/** Writes new tickets of an organization: as many round trips for a hundred as for one. */
import { insertAuditRows } from '../audit-log/audit'
import { withChangeTime } from '../db/change-time'
import { insertRows } from '../db/insert-rows'
import type { Fragment, Sql } from '../db/transact'
import { messageEntry } from '../messages/add-messages'
import type { DraftWithId } from '../messages/draft'
import { insertMessages } from '../messages/insert-messages'
import { type AuditRow, type Scope, together } from '../scope'
import { newDocument } from '../search/ticket-document'
import { recordActivities, type TicketActivity } from '../timeline/activity'
import type { Ticket } from './model'
import { getTicketSummary } from './queries'
import type { NewTicketReferences } from './references'

/** A ticket that is to be written, with all that it names. */
export type TicketToInsert = Pick<Ticket, 'id' | 'subject' | 'priority'> & {
  /** In whose name, and in which organization. */
  scope: Scope
  number: number
  references: NewTicketReferences
  /** The first message. */
  message: DraftWithId | undefined
  /** The entry of the audit log that is written with it. */
  audit_row?: AuditRow | undefined
  /** The trace of the request. */
  traceparent: string | null
}

/** What the database says of a ticket that was written. */
export type Inserted = Pick<Ticket, 'id' | 'created_at' | 'updated_at'> & { company_id: string | null }

/** What to do about tickets whose contact, or one of whose labels, others have locked. */
type LockedRows = 'wait' | 'leave out'

/**
 * Writes tickets with their labels, first messages, search documents, timelines and audit entries, in the caller's
 * transaction. It locks the rows of their contacts, so that a company that a contact gets at the same time reaches these
 * tickets too.
 * @param tickets of the scope's organization
 * @returns them in their order; undefined for one that is left out or whose contact is missing
 */
export async function insertTickets(
  scope: Scope,
  tickets: TicketToInsert[],
  locked_rows: LockedRows,
): Promise<(Inserted | undefined)[]> {
  const [[contacts, locked_at], labels] = await lockNamed(scope, tickets, locked_rows)
  const written = tickets.filter(({ references: { contact, labels: named } }) => {
    return contacts.has(contact.id) && named.every(({ id }) => labels.has(id))
  })
  const inserted = await writeTickets(scope, written, contacts, locked_at)
  const found = new Map(inserted.map((row) => [row.id, row]))
  return tickets.map(({ id }) => found.get(id))
}

/** The ticket as answers show it. Its contact may have got another company since it was looked up. */
export async function showInserted(
  scope: Scope,
  { id, subject, priority, number, references }: TicketToInsert,
  { company_id, created_at, updated_at }: Inserted,
): Promise<Ticket> {
  const { prefix, contact, company, assignee, labels } = references
  if (company_id !== (company?.id ?? null)) return getTicketSummary(scope, id)
  const code = `${prefix}-${number}`
  return { id, code, subject, status: 'open', priority, contact, company, assignee, labels, created_at, updated_at }
}

/** SQL for the time of change of a new ticket: it is not before the time of its creation, which is that of its id. */
export function changedAt(sql: Sql, locked_at: string, id: string): Fragment {
  return sql`greatest(${locked_at}, uuid_time(${id}))`
}

/**
 * Locks the contacts of tickets, and their labels as foreign keys do.
 * @returns the companies of those contacts that it has locked, with the time; and the labels
 */
function lockNamed(scope: Scope, tickets: TicketToInsert[], locked_rows: LockedRows) {
  const contact_ids = new Set(tickets.map(({ references }) => references.contact.id))
  const label_ids = new Set(tickets.flatMap(({ references }) => references.labels.map(({ id }) => id)))
  return together([
    withChangeTime(scope.sql, lockContacts(scope, contact_ids, locked_rows)),
    lockLabels(scope, label_ids, locked_rows),
  ])
}

async function lockContacts({ sql, organization_id }: Scope, ids: Set<string>, locked_rows: LockedRows) {
  const contacts = await sql<{ id: string; company_id: string | null }[]>`
    select id, company_id from contacts
    where organization_id = ${organization_id} and id = any(${[...ids]}::uuid[])
    order by id for share ${locked_rows === 'leave out' ? sql`skip locked` : sql``}`
  return new Map(contacts.map(({ id, company_id }) => [id, company_id]))
}

/** A ticket that may wait is left to its foreign keys: they refuse a label that was deleted meanwhile. */
async function lockLabels({ sql, organization_id }: Scope, ids: Set<string>, locked_rows: LockedRows) {
  if (ids.size === 0 || locked_rows === 'wait') return ids
  const labels = await sql<{ id: string }[]>`
    select id from labels
    where organization_id = ${organization_id} and id = any(${[...ids]}::uuid[])
    for key share skip locked`
  return new Set(labels.map(({ id }) => id))
}

/** @param contacts their companies, by id */
async function writeTickets(
  scope: Scope,
  tickets: TicketToInsert[],
  contacts: Map<string, string | null>,
  locked_at: string,
): Promise<Inserted[]> {
  const { sql, organization_id } = scope
  const rows = tickets.map(({ id, number, subject, priority, references: { prefix, contact, assignee } }) => ({
    organization_id,
    ...{ id, number, code: `${prefix}-${number}`, subject, priority },
    contact_id: contact.id,
    company_id: contacts.get(contact.id),
    assignee_id: assignee?.id,
    updated_at: changedAt(sql, locked_at, id),
  }))
  const labels = tickets.flatMap(({ id: ticket_id, references }) =>
    references.labels.map(({ id: label_id }) => ({ organization_id, ticket_id, label_id })),
  )
  const messages = tickets.flatMap(({ id, message }) => (message ? { ticket_id: id, draft: message } : []))
  const [inserted] = await together([
    insertRows<Inserted>(sql, 'tickets', rows, sql`returning id, company_id, created_at, updated_at`),
    insertRows(
      sql,
      'ticket_search',
      tickets.map((ticket) => ({ organization_id, ticket_id: ticket.id, ...documentOf(ticket) })),
    ),
    insertRows(sql, 'ticket_labels', labels),
    insertMessages(scope, messages),
    recordActivities(scope, tickets.flatMap(activitiesOf)),
    insertAuditRows(
      sql,
      tickets.flatMap(({ audit_row }) => audit_row ?? []),
    ),
  ])
  return inserted
}

function documentOf({ subject, priority, number, message, references }: TicketToInsert) {
  const { prefix, organization_number, assignee, labels } = references
  const facets = ['open', priority, assignee?.id ?? [], labels.map(({ id }) => id)].flat()
  const { vector, size } = newDocument(organization_number, `${prefix}-${number}`, subject, message?.text ?? '', facets)
  return { document: vector, size }
}

function activitiesOf({ scope: { actor }, id: ticket_id, message }: TicketToInsert): TicketActivity[] {
  const created = { ticket_id, actor, entry: { type: 'created', data: {} } as const }
  return message ? [created, { ticket_id, actor, entry: messageEntry(message) }] : [created]
}
