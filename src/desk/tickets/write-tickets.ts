/** Writes new tickets, whichever way they come: as many round trips for a hundred as for one. */
import { insertAuditRows } from '../../base/audit/audit'
import { timeOfId } from '../../base/db/columns'
import { isOneOf } from '../../base/db/few-rows'
import { insertRows } from '../../base/db/insert-rows'
import { type AuditRow, type Scope, SYSTEM, together } from '../../base/scope'
import { requireNotErased } from '../deeds/deeds'
import { insertWhole, messageEntry } from '../messages/add-messages'
import type { DraftWithId } from '../messages/draft'
import { insertPromises, type promiseNew, slaColumns } from '../promises/keep'
import { newDocument } from '../search/ticket-document'
import type { Assignee } from '../teams/assign'
import { type ActivityEntry, type EntryActor, recordActivities } from '../timeline/activity'
import { turnOfNew } from '../turn/turn'
import { changedEntry } from './changes'
import { columnsOf, type Written } from './ticket-fields'

/** A ticket that is to be written, with all that is written with it. */
export type TicketToWrite = {
  id: string
  number: number
  code: string
  fields: Written
  /** Columns that no field has. */
  beside?: { split_from_id?: string; sla_from?: string }
  /** The time of its last change (`changedAt`). */
  updated_at: string
  organization_number: number
  /** In whose name. */
  actor: EntryActor
  /** The first message. */
  first: DraftWithId | null | undefined
  /** Set when its team gave it to a member. */
  given_to?: Assignee | undefined
  /** Its promises, unless the caller keeps them behind this. */
  promised?: ReturnType<typeof promiseNew>
  /** Its timeline, unless that tells of the ticket and the first message. */
  entries?: ActivityEntry[]
  /** The entry of the audit log that is written with it. */
  audit_row?: AuditRow | undefined
}

/** The deed about tickets whose contact, or one of whose labels, others have locked. */
export type LockedRows = 'wait' | 'leave out'

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

/**
 * Locks labels or teams for new tickets, as foreign keys do. A ticket that may wait is left to its keys: they refuse a
 * row that was deleted meanwhile.
 * @returns those that are there
 */
export async function lockAsKeys(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  table: 'labels' | 'teams',
  ids: string[],
  locked_rows: LockedRows,
): Promise<string[]> {
  if (ids.length === 0 || locked_rows === 'wait') return ids
  const rows = await sql<{ id: string }[]>`
    select id from ${sql(table)}
    where organization_id = ${organization_id} and id ${isOneOf(sql, ids)}
    for key share skip locked`
  return rows.map(({ id }) => id)
}

/** The time of change of a new ticket: it is not before the time of its creation, which is that of its id. */
export function changedAt(locked_at: string, id: string): string {
  const created_at = timeOfId(id)
  return created_at > locked_at ? created_at : locked_at
}

/**
 * Writes tickets with their labels, first messages, search documents, timelines and audit entries, in the transaction
 * that locked what they name.
 * @param also work whose first statements are sent together with these, behind them
 * @throws ATTACHMENT_NOT_FOUND
 */
export async function writeTickets<Also>(
  scope: Scope,
  tickets: TicketToWrite[],
  also: () => Promise<Also>,
): Promise<Also> {
  const { sql, organization_id } = scope
  const rows = tickets.map(({ id, number, code, fields, beside, updated_at, first, promised }) => {
    const columns = { ...columnsOf(organization_id, fields), ...turnOfNew(first) }
    return { organization_id, id, number, code, ...columns, ...beside, ...slaColumns(promised), updated_at }
  })
  const documents = await Promise.all(
    tickets.map(async ({ id: ticket_id, organization_number, fields, first }, index) => {
      const row = { ...rows[index]!, label_ids: fields.labels.map(({ id }) => id) }
      const { vector, size } = await newDocument(organization_number, row, first?.text ?? '')
      return { organization_id, ticket_id, document: vector, size }
    }),
  )
  const labels = tickets.flatMap(({ id: ticket_id, fields }) =>
    fields.labels.map(({ id: label_id }) => ({ organization_id, ticket_id, label_id })),
  )
  const messages = tickets.flatMap(({ id: ticket_id, first }) => (first ? { ticket_id, draft: first } : []))
  const activities = tickets.flatMap(({ id: ticket_id, actor, first, given_to, entries = entriesOf(first) }) => [
    ...entries.map((entry) => ({ organization_id, ticket_id, actor, entry })),
    ...(given_to
      ? [{ organization_id, ticket_id, actor: SYSTEM, entry: changedEntry('assignee', null, given_to) }]
      : []),
  ])
  const written = together([
    insertRows(sql, 'tickets', rows),
    insertRows(sql, 'ticket_search', documents),
    insertRows(sql, 'ticket_labels', labels),
    insertWhole(scope, messages, 'new'),
    recordActivities(sql, activities),
    insertPromises(
      scope,
      tickets.flatMap(({ promised }) => promised ?? []),
    ),
    insertAuditRows(
      sql,
      tickets.flatMap(({ audit_row }) => audit_row ?? []),
    ),
  ])
  const [, result] = await together([written, also()])
  return result
}

/** The parts of a new ticket that choose its policy and begin its promises. */
export function promisedParts(id: string, { priority, company, team, mailbox, labels }: Written, first: Firstly) {
  return {
    ...{ id, priority, label_ids: labels.map((label) => label.id), waiting_id: turnOfNew(first).waiting_message_id },
    ...{ company_id: company?.id ?? null, team_id: team?.id ?? null, mailbox_id: mailbox?.id ?? null },
  }
}

type Firstly = DraftWithId | null | undefined

function entriesOf(first: DraftWithId | null | undefined): ActivityEntry[] {
  const created: ActivityEntry = { type: 'created', data: {} }
  return first ? [created, messageEntry(first)] : [created]
}
