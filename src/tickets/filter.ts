/** The conditions and the order of a ticket list as parts of SQL, the same for its rows and for their number. */
import { TICKET_PRIORITIES } from '../db/schema'
import type { Fragment } from '../db/transact'
import type { Scope } from '../scope'
import { organizationNumber } from '../search/ticket-document'
import { toTsquery } from '../search/words'
import { firstIdAt } from '../shapes/ids'
import type { TicketConditions, TicketSort } from './model'

export type Selection = {
  /** `tickets t`. For a search `ticket_search s`, to which `tickets t` is joined. */
  from: Fragment
  where: Fragment
  /** The ticket's id as a column of `from`. */
  id: Fragment
  /** What the list is sorted by: another column of `from`, or `id` itself. Ties are broken by id in the same direction. */
  sort_key: Fragment
} & Order

type Order = { by: 'id' | 'updated_at' | 'rank'; direction: 'asc' | 'desc' }

/** The column of each sort. An id begins with the time of its creation. */
const SORTS: Record<TicketSort, Order> = {
  created_at: { by: 'id', direction: 'asc' },
  '-created_at': { by: 'id', direction: 'desc' },
  updated_at: { by: 'updated_at', direction: 'asc' },
  '-updated_at': { by: 'updated_at', direction: 'desc' },
  priority: { by: 'rank', direction: 'asc' },
  '-priority': { by: 'rank', direction: 'desc' },
}

/** Writes conditions and order as SQL. A search that holds no word matches nothing. */
export async function selection(
  scope: Scope,
  conditions: TicketConditions,
  sort: TicketSort = '-created_at',
): Promise<Selection> {
  const { sql, organization_id } = scope
  const tsquery = conditions.search ? toTsquery(await organizationNumber(scope), conditions.search) : undefined
  const id = tsquery ? sql`s.ticket_id` : sql`t.id`
  // The planner leaves the tickets out when a search asks for nothing of theirs.
  const from = tsquery
    ? sql`ticket_search s left join tickets t on t.organization_id = s.organization_id and t.id = s.ticket_id`
    : sql`tickets t`
  // A deleted ticket has no search document.
  const visible = tsquery
    ? sql`s.organization_id = ${organization_id} and s.document @@ ${tsquery}::tsquery`
    : sql`t.organization_id = ${organization_id} and t.deleted_at is null ${conditions.search ? sql`and false` : sql``}`
  const { by, direction } = SORTS[sort]
  const sort_key = { id, updated_at: sql`t.updated_at`, rank: sql`ticket_rank(t.priority)` }[by]
  return { from, where: sql`${visible} ${filters(scope, id, conditions)}`, id, sort_key, by, direction }
}

/** All conditions but the search. Times of creation are bounds of ids: every index on (organization_id, X, id) serves them. */
function filters({ sql, organization_id }: Scope, id: Fragment, conditions: TicketConditions): Fragment {
  const { status, priority, assignee_id, contact_id, company_id, label_ids, created_after, created_before } = conditions
  return sql`
    ${status ? sql`and t.status = ${status}` : sql``}
    ${priority ? sql`and ticket_rank(t.priority) = ${TICKET_PRIORITIES.indexOf(priority) + 1}` : sql``}
    ${assignee_id ? sql`and t.assignee_id = ${assignee_id}` : sql``}
    ${contact_id ? sql`and t.contact_id = ${contact_id}` : sql``}
    ${company_id ? sql`and t.company_id = ${company_id}` : sql``}
    ${created_after === undefined ? sql`` : sql`and ${id} >= ${firstIdAt(created_after + 1)}`}
    ${created_before === undefined ? sql`` : sql`and ${id} < ${firstIdAt(created_before)}`}
    ${
      label_ids
        ? sql`and ${id} in (
            select ticket_id from ticket_labels
            where organization_id = ${organization_id} and label_id = any(${label_ids}::uuid[])
          )`
        : sql``
    }`
}
