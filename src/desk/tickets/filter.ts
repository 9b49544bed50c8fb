/** The conditions and the order of a ticket list as parts of SQL, the same for its rows and for their number. */
import { TICKET_PRIORITIES } from '../../base/db/schema'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { hasWords, wordsOfFilter } from '../custom/custom-words'
import type { TicketConditions, TicketSort } from './model'

/** The conditions of a list, with that of its search (`isFound`) unless it holds no word. */
export type Conditions = TicketConditions & { found?: Fragment }

export type Selection = {
  /** `from tickets t where …`: all that match. More conditions may follow. */
  matching: Fragment
  /** The ticket's id as a column. */
  id: Fragment
  /** What the list is sorted by: another column, or `id` itself. Ties are broken by id in the same direction. */
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

/** Writes conditions and order as SQL. A search that holds no word matches nothing. */
export function selection(scope: Scope, conditions: Conditions, sort?: TicketSort): Selection {
  const { sql, organization_id } = scope
  const id = sql`t.id`
  const { by, direction } = sortOf(sort)
  const matching = sql`
    from tickets t where t.organization_id = ${organization_id} and t.deleted_at is null ${
      conditions.search && !conditions.found ? sql`and false` : sql``
    }
    ${filters(scope, id, conditions)} ${isLabelled(scope, id, conditions.label_ids)}`
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
 * The condition of labels as a scalar, which the planner cannot turn into a join: a walk asks each ticket for its
 * labels. With `coalesce` the labels are compared one by one: an index that is searched for 50 labels took 40 us for
 * each ticket.
 */
export function isLabelled({ sql, organization_id }: Scope, id: Fragment, label_ids: string[] | undefined): Fragment {
  return label_ids
    ? sql`and (
        select true from ticket_labels where organization_id = ${organization_id} and ticket_id = ${id}
          and coalesce(label_id, label_id) = any(${label_ids}::uuid[]) limit 1
      )`
    : sql``
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
  const { created_after, created_before, ...others } = conditions
  // With `offset 0` each ticket is looked up. A join may walk all tickets of the organization beside those of a rare
  // label. As rows, not as an array: the server knows how many there are, and keeps the plan.
  const parts = label_ids.map((id, index) => (index > 0 ? sql`, (${id}::uuid)` : sql`(${id}::uuid)`))
  return sql`
    from (values ${parts}) as part (label_id), lateral (
      select ${columns} from ticket_labels hit (organization_id, id, label_id), lateral (
        select * from tickets t
        where t.organization_id = ${organization_id} and t.id = hit.id and t.deleted_at is null
          ${filters(scope, sql`hit.id`, others)}
        offset 0
      ) as t
      where hit.organization_id = ${organization_id} and hit.label_id = part.label_id
        ${filters(scope, sql`hit.id`, { created_after, created_before })} ${head}
    ) as hit`
}

/** The condition of an assignee, or of none, on `tickets t`. */
export function assigneeIs({ sql }: Pick<Scope, 'sql'>, assignee_id: string | undefined): Fragment {
  if (!assignee_id) return sql``
  return assignee_id === 'none' ? sql`and t.assignee_id is null` : sql`and t.assignee_id = ${assignee_id}`
}

/**
 * All conditions but labels. Times of creation are bounds of ids: every index on (organization_id, X, id)
 * serves them.
 */
export function filters({ sql, organization_id }: Scope, id: Fragment, conditions: Conditions): Fragment {
  const { status, priority, assignee_id, contact_id, company_id, merged, created_after, created_before, found } =
    conditions
  return sql`
    ${status ? sql`and t.status = ${status}` : sql``}
    ${priority ? sql`and ticket_rank(t.priority) = ${TICKET_PRIORITIES.indexOf(priority) + 1}` : sql``}
    ${assigneeIs({ sql }, assignee_id)}
    ${contact_id ? sql`and t.contact_id = ${contact_id}` : sql``}
    ${company_id ? sql`and t.company_id = ${company_id}` : sql``}
    ${merged === undefined ? sql`` : merged ? sql`and t.merged_into_id is not null` : sql`and t.merged_into_id is null`}
    ${hasWords(sql, sql`t.custom_words`, wordsOfFilter(organization_id, conditions.custom))}
    ${created_after === undefined ? sql`` : sql`and ${id} >= ${firstIdAt(created_after + 1)}`}
    ${created_before === undefined ? sql`` : sql`and ${id} < ${firstIdAt(created_before)}`}
    ${conditions.external_id === undefined ? sql`` : sql`and t.external_id = ${conditions.external_id}`}
    ${found ?? sql``}`
}
