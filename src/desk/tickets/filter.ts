/** The conditions and the order of a ticket list as parts of SQL, the same for its rows and for their number. */
import type { TSchema } from '@sinclair/typebox'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import type { Asks, Condition } from './condition'
import { CONDITIONS, type ConditionName, type TicketConditions } from './conditions'
import { type Order, orderOf, type TicketSort } from './order'

/** The conditions of a list, with that of its search (`isFound`) unless it holds no word. */
export type Conditions = TicketConditions & { found?: Fragment }

/** The conditions that are given, with their entries, in the order of the table. */
export function givenOf(conditions: TicketConditions) {
  return (Object.keys(CONDITIONS) as ConditionName[]).flatMap((name) => {
    const value: unknown = conditions[name]
    return value === undefined || value === '' ? [] : { name, value, entry: CONDITIONS[name] as Condition<TSchema> }
  })
}

/** Reads conditions as a body spells them. */
export function readConditions(given: Record<string, unknown>): TicketConditions {
  const values = Object.entries(given).map(([name, value]) => {
    const { read } = CONDITIONS[name as ConditionName] as Condition<TSchema>
    return [name, read ? read(value as never) : value]
  })
  return Object.fromEntries(values)
}

/**
 * Conditions as SQL, each with `and` before it.
 * @param id of the ticket, as a column
 * @param asks leaves out those that look at something else; without it all are written
 */
export function filters(scope: Scope, id: Fragment, conditions: Conditions, ...asks: Asks[]): Fragment {
  const { sql } = scope
  return givenOf(conditions)
    .filter(({ entry }) => asks.length === 0 || asks.includes(entry.asks))
    .reduce((all, { value, entry }) => {
      const found = entry.asks === 'words' ? conditions.found : undefined
      return sql`${all} ${found ?? entry.sql(scope, value, id)}`
    }, sql``)
}

export type Selection = {
  /** `from tickets t where …`: all that match. More conditions may follow. */
  matching: Fragment
} & Order

/** Writes conditions and order as SQL. */
export function selection(scope: Scope, conditions: Conditions, sort?: TicketSort): Selection {
  const { sql, organization_id } = scope
  const matching = sql`
    from tickets t where t.organization_id = ${organization_id} and t.deleted_at is null
    ${filters(scope, sql`t.id`, conditions)}`
  return { matching, ...orderOf(sort) }
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
