/** Which tickets a list shows, and in which order: fragments of SQL over `tickets t` and, for words, `ticket_search s`. */

import { TICKET_PRIORITIES } from '../db/schema'
import type { Sql } from '../db/transact'
import type { Scope } from '../scope'
import type { TicketFilter } from './model'

/** `words`: the search as a literal of a tsquery. */
export type TicketQuery = Omit<TicketFilter, 'search'> & { words: string | undefined }

/** The planner leaves the tickets out when a search asks for nothing of theirs. */
export function tablesOf(sql: Sql, { words }: TicketQuery) {
  return words
    ? sql`ticket_search s left join tickets t on t.organization_id = s.organization_id and t.id = s.ticket_id`
    : sql`tickets t`
}

/** The condition. Times of creation are bounds of ids, so that every index on (organization_id, X, id) serves them. */
export function matches({ sql, organization_id }: Scope, query: TicketQuery) {
  const { status, priority, assignee_id, contact_id, company_id, label_ids, words, created_after, created_before } =
    query
  const id = () => idOf(sql, query)
  // A deleted ticket has no search document.
  return sql`
    ${
      words
        ? sql`s.organization_id = ${organization_id} and s.document @@ ${words}::tsquery`
        : sql`t.organization_id = ${organization_id} and t.deleted_at is null`
    }
    ${status ? sql`and t.status = ${status}` : sql``}
    ${priority ? sql`and ticket_rank(t.priority) = ${TICKET_PRIORITIES.indexOf(priority) + 1}` : sql``}
    ${assignee_id ? sql`and t.assignee_id = ${assignee_id}` : sql``}
    ${contact_id ? sql`and t.contact_id = ${contact_id}` : sql``}
    ${company_id ? sql`and t.company_id = ${company_id}` : sql``}
    ${created_after === undefined ? sql`` : sql`and ${id()} >= ${firstIdAt(created_after + 1)}`}
    ${created_before === undefined ? sql`` : sql`and ${id()} < ${firstIdAt(created_before)}`}
    ${
      label_ids
        ? sql`and ${id()} in (
            select ticket_id from ticket_labels
            where organization_id = ${organization_id} and label_id = any(${label_ids}::uuid[])
          )`
        : sql``
    }`
}

export function idOf(sql: Sql, { words }: TicketQuery) {
  return words ? sql`s.ticket_id` : sql`t.id`
}

/** What the list is sorted by. */
export function sortKeyOf(sql: Sql, query: TicketQuery) {
  if (query.sort?.endsWith('updated_at')) return sql`t.updated_at`
  return query.sort?.endsWith('priority') ? sql`ticket_rank(t.priority)` : idOf(sql, query)
}

export function directionOf(sql: Sql, sort: TicketFilter['sort'] = '-created_at') {
  return sort.startsWith('-') ? sql`desc` : sql`asc`
}

/** The order over `tickets t`; ties are broken by id in the direction of the list. */
export function orderOf(sql: Sql, sort: TicketFilter['sort']) {
  const query = { sort, words: undefined }
  return sql`${sortKeyOf(sql, query)} ${directionOf(sql, sort)}, t.id ${directionOf(sql, sort)}`
}

/** The lowest UUID that an id made in that millisecond can be (RFC 9562: 48 bits of time come first). */
function firstIdAt(time_ms: number): string {
  const hex = Math.max(time_ms, 0).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
