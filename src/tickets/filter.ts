/** Which tickets a list shows, and in which order: fragments of SQL over `tickets t`. */
import type { Sql } from '../db/client'
import { TICKET_PRIORITIES } from '../db/schema'
import type { Scope } from '../scope'
import type { TicketFilter } from './model'

/** @property words the search as a literal of a tsquery */
export type TicketQuery = Omit<TicketFilter, 'search'> & { words: string | undefined }

/** The condition. The times of creation are bounds of the ids, so that every index on (organization, X, id) serves them. */
export function matches({ sql, organization_id }: Scope, query: TicketQuery) {
  const { status, priority, assignee_id, contact_id, company_id, label_ids, words, created_after, created_before } =
    query
  return sql`t.organization_id = ${organization_id} and t.deleted_at is null
    ${status ? sql`and t.status = ${status}` : sql``}
    ${priority ? sql`and ticket_rank(t.priority) = ${TICKET_PRIORITIES.indexOf(priority) + 1}` : sql``}
    ${assignee_id ? sql`and t.assignee_id = ${assignee_id}` : sql``}
    ${contact_id ? sql`and t.contact_id = ${contact_id}` : sql``}
    ${company_id ? sql`and t.company_id = ${company_id}` : sql``}
    ${created_after ? sql`and t.id >= ${firstIdAt(Date.parse(created_after) + 1)}` : sql``}
    ${created_before ? sql`and t.id < ${firstIdAt(Date.parse(created_before))}` : sql``}
    ${
      label_ids
        ? sql`and t.id in (
            select ticket_id from ticket_labels
            where organization_id = ${organization_id} and label_id = any(${label_ids}::uuid[])
          )`
        : sql``
    }
    ${
      words
        ? sql`and t.id in (
            select ticket_id from ticket_search
            where organization_id = ${organization_id} and document @@ ${words}::tsquery
          )`
        : sql``
    }`
}

/** The order, ties broken by id in the direction of the list. */
export function orderOf(sql: Sql, sort: TicketFilter['sort'] = '-created_at') {
  const direction = sort.startsWith('-') ? sql`desc` : sql``
  if (sort.endsWith('created_at')) return sql`t.id ${direction}`
  const column = sort.endsWith('priority') ? sql`ticket_rank(t.priority)` : sql`t.updated_at`
  return sql`${column} ${direction}, t.id ${sort.startsWith('-') ? sql`desc` : sql``}`
}

/** The lowest UUID that an id made in that millisecond can be (RFC 9562: 48 bits of time come first). */
function firstIdAt(time_ms: number): string {
  const hex = Math.max(time_ms, 0).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
