/** Writes new tickets: as many round trips for a hundred as for one. */
import { insertAuditRows } from '../../base/audit/audit'
import { withChangeTime } from '../../base/db/change-time'
import { timeOfId, toInstant } from '../../base/db/columns'
import { isOneOf } from '../../base/db/few-rows'
import { insertRows } from '../../base/db/insert-rows'
import { type AuditRow, type Scope, together } from '../../base/scope'
import { wordsOfCustom } from '../custom/custom-words'
import { requireNotErased } from '../deeds/deeds'
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

/** The row that the database makes of a written ticket, and its first message. */
export type Inserted = Pick<Ticket, 'created_at' | 'updated_at'> & {
  company_id: string | null
  message: Message | undefined
}

/** The deed about tickets whose contact, or one of whose labels, others have locked. */
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
 * @throws SERVICE_UNAVAILABLE for one that is being erased
 */
export async function lockContacts(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  ids: string[],
  locked_rows: LockedRows,
): Promise<Map<string, string | null>> {
  const contacts = await sql<{ id: string; company_id: string | null; deed_id: string | null }[]>`
    select id, company_id, deed_id from contacts
    where organization_id = ${organization_id} and id ${isOneOf(sql, ids)}
    order by id for share ${locked_rows === 'leave out' ? sql`skip locked` : sql``}`
  await requireNotErased(
    { sql, organization_id },
    contacts.map(({ deed_id }) => deed_id),
  )
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
 * Says what the database will make of tickets, so that nothing has to be read back.
 * @param locked what the transaction that writes them has locked
 * @returns by id; nothing of a ticket that names a row which is not locked
 */
export function insertedBy(tickets: TicketToInsert[], { contacts, labels, locked_at }: Locked): Map<string, Inserted> {
  return new Map(
    tickets.flatMap(({ id, scope: { organization_id }, message: draft, references }): [string, Inserted][] => {
      const company_id = contacts.get(references.contact.id)
      if (company_id === undefined || references.labels.some((label) => !labels.has(label.id))) return []
      const message = draft && showNew({ organization_id, draft })
      const [created_at, updated_at] = [timeOfId(id), changedAt(locked_at, id)].map(toInstant) as [string, string]
      return [[id, { company_id, created_at, updated_at, message }]]
    }),
  )
}

/** The ticket as answers show it. Its contact may have got another company since it was looked up. */
export async function showInserted(
  scope: Scope,
  { id, subject, priority, custom, number, external_id, references }: TicketToInsert,
  { company_id, created_at, updated_at }: Inserted,
): Promise<Ticket> {
  const { prefix, contact, company, assignee, labels } = references
  if (company_id !== (company?.id ?? null)) return getTicketSummary(scope, id)
  const code = `${prefix}-${number}`
  // In the order of `present`, so that both have one tag.
  const own = { id, code, subject, status: 'open', priority, contact, company, assignee, labels } as const
  const rest = { external_id: external_id ?? null, custom, merged_into: null, split_from: null }
  return { ...own, ...rest, created_at, updated_at }
}

/** The time of change of a new ticket: it is not before the time of its creation, which is that of its id. */
export function changedAt(locked_at: string, id: string): string {
  const created_at = timeOfId(id)
  return created_at > locked_at ? created_at : locked_at
}

/**
 * Makes the search documents of tickets. To be called before they are written: the statements of the tickets are sent
 * together then.
 */
export function documentsOf(tickets: TicketToInsert[]): Promise<Document[]> {
  return Promise.all(tickets.map(documentOf))
}

/**
 * Writes tickets with their labels, first messages, search documents, timelines and audit entries, in the transaction
 * that locked what they name.
 * @param inserted of `insertedBy`: only these tickets are written
 */
export async function insertTickets(
  { sql }: Scope,
  all: TicketToInsert[],
  { inserted, documents, locked_at }: { inserted: Map<string, Inserted>; documents: Document[]; locked_at: string },
): Promise<void> {
  const tickets = all.filter(({ id }) => inserted.has(id))
  const rows = tickets.map(
    ({ scope: { organization_id }, id, number, subject, priority, custom, external_id, references }) => ({
      organization_id,
      ...{ id, number, code: `${references.prefix}-${number}`, subject, priority },
      contact_id: references.contact.id,
      company_id: inserted.get(id)!.company_id,
      assignee_id: references.assignee?.id,
      external_id,
      custom: JSON.stringify(custom),
      custom_words: wordsOfCustom(organization_id, custom),
      updated_at: changedAt(locked_at, id),
    }),
  )
  const labels = tickets.flatMap(({ scope: { organization_id }, id: ticket_id, references }) =>
    references.labels.map(({ id: label_id }) => ({ organization_id, ticket_id, label_id })),
  )
  const messages = tickets.flatMap(({ scope: { organization_id }, id: ticket_id, message: draft }) =>
    draft ? { organization_id, ticket_id, draft } : [],
  )
  await together([
    insertRows(sql, 'tickets', rows),
    insertRows(
      sql,
      'ticket_search',
      documents.filter(({ ticket_id }) => inserted.has(ticket_id)),
    ),
    insertRows(sql, 'ticket_labels', labels),
    insertMessages(sql, messages),
    recordActivities(sql, tickets.flatMap(activitiesOf)),
    insertAuditRows(
      sql,
      tickets.flatMap(({ audit_row }) => audit_row ?? []),
    ),
  ])
}

type Document = Awaited<ReturnType<typeof documentOf>>

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
