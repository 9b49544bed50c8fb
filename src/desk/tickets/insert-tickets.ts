/** Writes new tickets: as many round trips for a hundred as for one. */
import { insertAuditRows } from '../../base/audit/audit'
import { withChangeTime } from '../../base/db/change-time'
import { isOneOf } from '../../base/db/few-rows'
import { insertRows } from '../../base/db/insert-rows'
import type { Fragment, Sql } from '../../base/db/transact'
import { type AuditRow, type Scope, together } from '../../base/scope'
import { wordsOfCustom } from '../custom/custom-words'
import { messageEntry } from '../messages/add-messages'
import type { DraftWithId } from '../messages/draft'
import { insertMessages, showNew } from '../messages/insert-messages'
import type { Message } from '../messages/model'
import { newDocument } from '../search/ticket-document'
import { recordActivities, type TicketActivity } from '../timeline/activity'
import type { Ticket } from './model'
import { getTicketSummary } from './queries'
import type { NewTicketReferences } from './references'

/** A ticket that is to be written, with all that it names. */
export type TicketToInsert = Pick<Ticket, 'id' | 'subject' | 'priority' | 'custom'> & {
  /** In whose name, and in which organization. */
  scope: Scope
  number: number
  external_id?: string | undefined
  references: NewTicketReferences
  /** The first message. */
  message: DraftWithId | undefined
  /** The entry of the audit log that is written with it. */
  audit_row?: AuditRow | undefined
  /** The trace of the request. */
  traceparent: string | null
}

type InsertedRow = Pick<Ticket, 'id' | 'created_at' | 'updated_at'> & { company_id: string | null }

/** What the database says of a ticket that was written, and its first message. */
export type Inserted = InsertedRow & { message: Message | undefined }

/** What to do about tickets whose contact, or one of whose labels, others have locked. */
type LockedRows = 'wait' | 'leave out'

/** Rows that tickets name and that are locked for them: contacts with their companies, and labels. */
type NamedRows = { contacts: Map<string, string | null>; labels: Set<string> }

/** The locked rows, and the time at which they were locked. */
type Locked = NamedRows & { locked_at: string }

/**
 * Locks what tickets name, in the caller's transaction: their contacts, so that a company that a contact gets at the
 * same time reaches these tickets too, and their labels as foreign keys do.
 */
export async function lockNamed(
  scope: Scope,
  tickets: Pick<TicketToInsert, 'references'>[],
  locked_rows: LockedRows,
): Promise<Locked> {
  const contact_ids = new Set(tickets.map(({ references }) => references.contact.id))
  const label_ids = new Set(tickets.flatMap(({ references }) => references.labels.map(({ id }) => id)))
  const locks = together([
    lockContacts(scope, [...contact_ids], locked_rows),
    lockLabels(scope, [...label_ids], locked_rows),
  ])
  const [[contacts, labels], locked_at] = await withChangeTime(scope.sql, locks)
  return { contacts, labels: new Set(labels), locked_at }
}

/**
 * Locks contacts for new tickets. Companies do not change below such a lock.
 * @param ids not none
 * @returns the companies of those that exist, or that it could lock
 */
export async function lockContacts(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  ids: string[],
  locked_rows: LockedRows,
): Promise<Map<string, string | null>> {
  const contacts = await sql<{ id: string; company_id: string | null }[]>`
    select id, company_id from contacts
    where organization_id = ${organization_id} and id ${isOneOf(sql, ids)}
    order by id for share ${locked_rows === 'leave out' ? sql`skip locked` : sql``}`
  return new Map(contacts.map(({ id, company_id }) => [id, company_id]))
}

/** A ticket that may wait is left to its foreign keys: they refuse a label that was deleted meanwhile. */
async function lockLabels(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  ids: string[],
  locked_rows: LockedRows,
): Promise<string[]> {
  if (ids.length === 0 || locked_rows === 'wait') return ids
  const labels = await sql<{ id: string }[]>`
    select id from labels
    where organization_id = ${organization_id} and id ${isOneOf(sql, ids)}
    for key share skip locked`
  return labels.map(({ id }) => id)
}

/**
 * Writes tickets with their labels, first messages, search documents, timelines and audit entries, in the transaction
 * that locked what they name.
 * @returns what the database says of each, by id; nothing of one that names a row which is not locked
 */
export async function insertTickets(
  scope: Scope,
  tickets: TicketToInsert[],
  { contacts, labels, locked_at }: Locked,
): Promise<Map<string, Inserted>> {
  const written = tickets.flatMap((ticket) => {
    const { contact, labels: wanted } = ticket.references
    const company_id = contacts.get(contact.id)
    return company_id !== undefined && wanted.every(({ id }) => labels.has(id)) ? { ...ticket, company_id } : []
  })
  const [inserted, messages] = await writeTickets(scope, written, locked_at)
  const first_of = new Map(written.map(({ id, message }) => [id, message?.id ?? '']))
  return new Map(inserted.map((row) => [row.id, { ...row, message: messages.get(first_of.get(row.id)!) }]))
}

/** The ticket as answers show it. Its contact may have got another company since it was looked up. */
export async function showInserted(
  scope: Scope,
  { id, subject, priority, custom, number, external_id, references }: TicketToInsert,
  { company_id, created_at, updated_at }: InsertedRow,
): Promise<Ticket> {
  const { prefix, contact, company, assignee, labels } = references
  if (company_id !== (company?.id ?? null)) return getTicketSummary(scope, id)
  const code = `${prefix}-${number}`
  // In the order of `present`, so that both have one tag.
  const own = { id, code, subject, status: 'open', priority, contact, company, assignee, labels } as const
  const rest = { external_id: external_id ?? null, custom, merged_into: null, split_from: null }
  return { ...own, ...rest, created_at, updated_at }
}

/** SQL for the time of change of a new ticket: it is not before the time of its creation, which is that of its id. */
export function changedAt(sql: Sql, locked_at: string, id: string): Fragment {
  return sql`greatest(${locked_at}, uuid_time(${id}))`
}

async function writeTickets(
  { sql }: Scope,
  tickets: (TicketToInsert & { company_id: string | null })[],
  locked_at: string,
): Promise<[InsertedRow[], Map<string, Message>]> {
  const rows = tickets.map(
    ({ scope: { organization_id }, id, number, subject, priority, custom, external_id, company_id, references }) => ({
      organization_id,
      ...{ id, number, code: `${references.prefix}-${number}`, subject, priority },
      contact_id: references.contact.id,
      company_id,
      assignee_id: references.assignee?.id,
      external_id,
      custom: JSON.stringify(custom),
      custom_words: wordsOfCustom(organization_id, custom),
      updated_at: changedAt(sql, locked_at, id),
    }),
  )
  const labels = tickets.flatMap(({ scope: { organization_id }, id: ticket_id, references }) =>
    references.labels.map(({ id: label_id }) => ({ organization_id, ticket_id, label_id })),
  )
  const messages = tickets.flatMap(({ scope: { organization_id }, id: ticket_id, message: draft }) =>
    draft ? { organization_id, ticket_id, draft } : [],
  )
  const documents = await Promise.all(tickets.map(documentOf))
  const [inserted, , , first] = await together([
    insertRows<InsertedRow>(sql, 'tickets', rows, sql`returning id, company_id, created_at, updated_at`),
    insertRows(sql, 'ticket_search', documents),
    insertRows(sql, 'ticket_labels', labels),
    insertMessages(sql, messages),
    recordActivities(sql, tickets.flatMap(activitiesOf)),
    insertAuditRows(
      sql,
      tickets.flatMap(({ audit_row }) => audit_row ?? []),
    ),
  ])
  const made = new Map(first.map(({ id, created_at }) => [id, created_at]))
  const shown = messages.map((message) => showNew(message, made.get(message.draft.id)!))
  return [inserted, new Map(shown.map((message) => [message.id, message]))]
}

async function documentOf({ scope, id, subject, priority, custom, number, message, references }: TicketToInsert) {
  const { prefix, organization_number, assignee, labels } = references
  const words = wordsOfCustom(scope.organization_id, custom) ?? []
  const facets = ['open', priority, assignee?.id ?? [], labels.map(({ id }) => id), words].flat()
  const { vector, size } = await newDocument(
    organization_number,
    `${prefix}-${number}`,
    subject,
    message?.text ?? '',
    facets,
  )
  return { organization_id: scope.organization_id, ticket_id: id, document: vector, size }
}

function activitiesOf({ scope: { organization_id, actor }, id: ticket_id, message }: TicketToInsert): TicketActivity[] {
  const by = { organization_id, ticket_id, actor }
  const created = { ...by, entry: { type: 'created', data: {} } as const }
  return message ? [created, { ...by, entry: messageEntry(message) }] : [created]
}
