/** The conditions and the order of a ticket list as parts of SQL, the same for its rows and for their number. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { type Conditions, filters } from './conditions'
import type { TicketSort } from './model'

export type Selection = {
  /** `from tickets t where …`: all that match. More conditions may follow. */
  matching: Fragment
  /** The ticket's id as a column. */
  id: Fragment
  /** The column of the order: another one, or `id` itself. Ties are broken by id in the same direction. */
  sort_key: Fragment
} & Order

export type Order = { by: 'id' | 'updated_at' | 'rank'; direction: 'asc' | 'desc' }

/** The column of each sort. An id begins with the time of its creation. */
const SORTS: Record<TicketSort, Order> = {
  created_at: { by: 'id', direction: 'asc' },
  '-created_at': { by: 'id', direction: 'desc' },
  updated_at: { by: 'updated_at', direction: 'asc' },
  '-updated_at': { by: 'updated_at', direction: 'desc' },
  priority: { by: 'rank', direction: 'asc' },
  '-priority': { by: 'rank', direction: 'desc' },
}

/** Writes conditions and order as SQL. */
export function selection(scope: Scope, conditions: Conditions, sort?: TicketSort): Selection {
  const { sql, organization_id } = scope
  const id = sql`t.id`
  const { by, direction } = sortOf(sort)
  const matching = sql`
    from tickets t where t.organization_id = ${organization_id} and t.deleted_at is null
    ${filters(scope, id, conditions)}`
  return { matching, id, sort_key: keyOf(scope, id, by), by, direction }
}

/** The order of a list, newest first unless it has a sort. */
function sortOf(sort: TicketSort = '-created_at'): Order {
  return SORTS[sort]
}

/** SQL for what a list is sorted by, on `tickets t`. @param id its id */
export function keyOf({ sql }: Scope, id: Fragment, by: Order['by']): Fragment {
  return { id, updated_at: sql`t.updated_at`, rank: sql`ticket_rank(t.priority)` }[by]
}

/**
 * For labels: `from` and `where` of a statement that reads the tickets of each, by `hit.id`. A ticket with several of
 * the labels comes several times.
 * @param head ends the statement for one label
 */
export function ofEachLabel(
  scope: Scope,
  label_ids: string[],
  conditions: Conditions,
  columns: Fragment,
  head: Fragment,
): Fragment {
  const { sql, organization_id } = scope
  // With `offset 0` each ticket is looked up. A join may walk all tickets of the organization beside those of a rare
  // label. As rows, not as an array: the server knows how many there are, and keeps the plan.
  const parts = label_ids.map((id, index) => (index > 0 ? sql`, (${id}::uuid)` : sql`(${id}::uuid)`))
  return sql`
    from (values ${parts}) as part (label_id), lateral (
      select ${columns} from ticket_labels hit (organization_id, id, label_id), lateral (
        select * from tickets t
        where t.organization_id = ${organization_id} and t.id = hit.id and t.deleted_at is null
          ${filters(scope, sql`hit.id`, conditions, 'row', 'words')}
        offset 0
      ) as t
      where hit.organization_id = ${organization_id} and hit.label_id = part.label_id
        ${filters(scope, sql`hit.id`, conditions, 'id')} ${head}
    ) as hit`
}
