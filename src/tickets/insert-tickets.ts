/** Writes new tickets: as many statements for a hundred as for one. */
import { insertAuditRows } from '../audit-log/audit'
import { hasFewRows } from '../db/few-rows'
import type { Fragment, Sql } from '../db/transact'
import { messageEntry } from '../messages/add-messages'
import type { DraftWithId } from '../messages/draft'
import { insertMessages } from '../messages/insert-messages'
import type { AuditRow, Scope } from '../scope'
import { newDocument } from '../search/ticket-document'
import { insertTimelinesOf } from '../timeline/activity'
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

/**
 * Writes tickets with their labels, first messages, search documents, timelines and audit entries in one statement. It locks
 * the rows of their contacts, so that a company that a contact gets at the same time reaches these tickets too.
 * @param locked_rows what to do about tickets whose contact, or one of whose labels, others have locked
 * @returns them in their order; undefined for one that is left out or whose contact is missing
 */
export async function insertTickets(
  sql: Sql,
  tickets: TicketToInsert[],
  locked_rows: 'wait' | 'leave out',
): Promise<(Inserted | undefined)[]> {
  const rows = tickets.map(rowOf)
  const has_labels = tickets.some(({ references }) => references.labels.length > 0)
  const leaves_out = locked_rows === 'leave out'
  const inserted = await sql<Inserted[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (place integer, organization_id uuid,
        id uuid, number integer, code text, subject text, priority text, contact_id uuid, assignee_id uuid,
        label_ids uuid[], vector text, size integer)
      where ${hasFewRows(sql)}
    ), contact as materialized (
      select g.id as ticket_id, c.company_id
      from given g join contacts c on c.organization_id = g.organization_id and c.id = g.contact_id
      for share of c ${leaves_out ? sql`skip locked` : sql``}
    )
    ${leaves_out && has_labels ? freeLabels(sql) : sql``}, t as (
      insert into tickets (organization_id, id, number, code, subject, priority,
        contact_id, company_id, assignee_id, updated_at)
      select g.organization_id, g.id, g.number, g.code, g.subject, g.priority,
        g.contact_id, contact.company_id, g.assignee_id, greatest(clock_timestamp(), uuid_time(g.id))
      from given g join contact on contact.ticket_id = g.id
      ${leaves_out && has_labels ? sql`where ${hasFreeLabels(sql)}` : sql``}
      returning id, company_id, created_at, updated_at
    ), searchable as (
      insert into ticket_search (organization_id, ticket_id, document, size)
      select g.organization_id, g.id, g.vector::tsvector, g.size from given g join t using (id)
    ), timeline as (
      ${insertTimelinesOf(sql, tickets.flatMap(activitiesOf), sql`join t on t.id = e.ticket_id`)}
    )
    ${has_labels ? withLabels(sql) : sql``} ${withMessages(sql, tickets)} ${withAudit(sql, tickets)}
    select * from t`
  const found = new Map(inserted.map((row) => [row.id, row]))
  return tickets.map(({ id }) => found.get(id))
}

/** The ticket as answers show it. Its contact may have got another company since it was looked up. */
export async function showInserted(
  sql: Sql,
  { scope, id, subject, priority, number, references }: TicketToInsert,
  { company_id, created_at, updated_at }: Inserted,
): Promise<Ticket> {
  const { prefix, contact, company, assignee, labels } = references
  if (company_id !== (company?.id ?? null)) return getTicketSummary({ ...scope, sql }, id)
  const code = `${prefix}-${number}`
  return { id, code, subject, status: 'open', priority, contact, company, assignee, labels, created_at, updated_at }
}

function rowOf({ scope, references, message, ...ticket }: TicketToInsert, place: number) {
  const { id, number, subject, priority } = ticket
  const { prefix, organization_number, contact, assignee, labels } = references
  const code = `${prefix}-${number}`
  const label_ids = labels.map((label) => label.id)
  const facets = ['open', priority, assignee?.id ?? [], label_ids].flat()
  return {
    place,
    organization_id: scope.organization_id,
    ...{ id, number, code, subject, priority },
    contact_id: contact.id,
    assignee_id: assignee?.id,
    label_ids,
    ...newDocument(organization_number, code, subject, message?.text ?? '', facets),
  }
}

function activitiesOf({ scope: { organization_id, actor }, id: ticket_id, message }: TicketToInsert) {
  const by = { organization_id, actor, ticket_id }
  const created = { ...by, entry: { type: 'created', data: {} } as const }
  return message ? [created, { ...by, entry: messageEntry(message) }] : [created]
}

/** Locks the labels of the tickets, as their foreign keys would, except those that others are deleting. */
function freeLabels(sql: Sql): Fragment {
  return sql`, label as materialized (
    select g.id as ticket_id
    from given g join labels l on l.organization_id = g.organization_id and l.id = any(g.label_ids)
    for key share of l skip locked
  )`
}

function hasFreeLabels(sql: Sql): Fragment {
  return sql`cardinality(g.label_ids) = (select count(*) from label where label.ticket_id = g.id)`
}

function withLabels(sql: Sql): Fragment {
  return sql`, labelled as (
    insert into ticket_labels (organization_id, ticket_id, label_id)
    select g.organization_id, g.id, unnest(g.label_ids) from given g join t using (id)
  )`
}

function withMessages(sql: Sql, tickets: TicketToInsert[]): Fragment {
  const messages = tickets.flatMap(({ scope: { organization_id }, id, message }) =>
    message ? { organization_id, ticket_id: id, draft: message } : [],
  )
  if (messages.length === 0) return sql``
  return sql`, message as (${insertMessages(sql, messages, sql`join t on t.id = x.ticket_id`)})`
}

function withAudit(sql: Sql, tickets: TicketToInsert[]): Fragment {
  const rows = tickets.flatMap(({ id, audit_row }) => (audit_row ? { ...audit_row, ticket_id: id } : []))
  if (rows.length === 0) return sql``
  return sql`, audited as (${insertAuditRows(sql, rows, sql`join t on t.id = e.ticket_id`)})`
}
