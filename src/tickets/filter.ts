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
  const { label_ids } = conditions
  // As a scalar, which the planner cannot turn into a join: a walk that ends early asks each ticket for its labels.
  const is_labelled = label_ids
    ? sql`and (
        select true from ticket_labels where organization_id = ${organization_id} and ticket_id = ${id}
          and label_id = any(${label_ids}::uuid[]) limit 1
      )`
    : sql``
  return { from, where: sql`${visible} ${filters(scope, id, conditions)} ${is_labelled}`, id, sort_key, by, direction }
}

/**
 * For labels: `from` and `where` of a statement that reads the tickets of each, by `hit.id`. A ticket with several of the
 * labels comes several times.
 * @param head ends the statement for one label
 */
export function ofEachLabel(
  scope: Scope,
  label_ids: string[],
  conditions: TicketConditions,
  columns: Fragment,
  head: Fragment,
): Fragment {
  const { sql, organization_id } = scope
  return sql`
    from unnest(${label_ids}::uuid[]) as part (label_id), lateral (
      select ${columns} from ticket_labels hit (organization_id, id, label_id)
      join tickets t on t.organization_id = hit.organization_id and t.id = hit.id
      where hit.organization_id = ${organization_id} and hit.label_id = part.label_id and t.deleted_at is null
        ${filters(scope, sql`hit.id`, conditions)} ${head}
    ) as hit`
}

/**
 * All conditions but search and labels. Times of creation are bounds of ids: every index on (organization_id, X, id)
 * serves them.
 */
export function filters({ sql }: Scope, id: Fragment, conditions: TicketConditions): Fragment {
  const { status, priority, assignee_id, contact_id, company_id, created_after, created_before } = conditions
  return sql`
    ${status ? sql`and t.status = ${status}` : sql``}
    ${priority ? sql`and ticket_rank(t.priority) = ${TICKET_PRIORITIES.indexOf(priority) + 1}` : sql``}
    ${assignee_id ? sql`and t.assignee_id = ${assignee_id}` : sql``}
    ${contact_id ? sql`and t.contact_id = ${contact_id}` : sql``}
    ${company_id ? sql`and t.company_id = ${company_id}` : sql``}
    ${created_after === undefined ? sql`` : sql`and ${id} >= ${firstIdAt(created_after + 1)}`}
    ${created_before === undefined ? sql`` : sql`and ${id} < ${firstIdAt(created_before)}`}`
}
