/** Finds the tickets that rules of retention apply to. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { isHeld } from '../holds/holds'
import type { Retention, RetentionRule } from './model'

type DueScope = Pick<Scope, 'sql' | 'organization_id'>

/**
 * SQL: the tickets that are due, with the place of their rule and whether they are on hold. The first active rule
 * whose status, labels and company fit decides, however long ago the ticket was changed: so a rule that keeps some
 * tickets longer stands before the others. Merged tickets go with the one that has their messages. What was erased
 * stays until it is changed.
 * @param more conditions on `tickets t`, and their order: `and … order by …`
 */
export function dueTickets(scope: DueScope, { rules, hold_label_ids }: Retention, more?: Fragment): Fragment {
  const { sql, organization_id } = scope
  const active = rules.flatMap((rule, place) => (rule.active ? [{ ...rule, place }] : []))
  if (active.length === 0)
    return sql`select null::uuid as id, null::timestamptz as updated_at, 0 as place, false as is_held where false`
  const places = active.map((rule) => sql`when ${fits(scope, rule)} then ${rule.place}::int`)
  const [days, actions] = [rules.map((rule) => rule.days), rules.map((rule) => rule.action)]
  const soonest = Math.min(...active.map((rule) => rule.days))
  // The words of `tickets_resting` stand here as they are: a parameter would hide that the index has all that is due.
  // The offset keeps the rules from being looked at once for each use of the place.
  return sql`
    select g.id, g.updated_at, g.place, ${isHeld(scope, hold_label_ids, sql`g.id`)} as is_held from (
      select t.id, t.updated_at, t.erased_at, case ${places} end as place from tickets t
      where t.organization_id = ${organization_id} and t.deleted_at is null and t.merged_into_id is null
        and t.status in ('resolved', 'closed') and t.status = any(${[...new Set(active.map((rule) => rule.status))]}::text[])
        and t.updated_at < now() - make_interval(days => ${soonest}::int) ${more ?? sql``}
      offset 0
    ) g
    where g.place is not null and g.updated_at < now() - make_interval(days => (${days}::int[])[g.place + 1])
      and ((${actions}::text[])[g.place + 1] = 'delete' or g.erased_at is null or g.erased_at < g.updated_at)`
}

function fits({ sql, organization_id }: DueScope, { status, label_ids, company_ids }: RetentionRule): Fragment {
  const labelled = sql`
    and exists (
      select 1 from ticket_labels l
      where l.organization_id = ${organization_id} and l.ticket_id = t.id and l.label_id = any(${label_ids}::uuid[])
    )`
  return sql`
    t.status = ${status} ${label_ids.length > 0 ? labelled : sql``}
    ${company_ids.length > 0 ? sql`and t.company_id = any(${company_ids}::uuid[])` : sql``}`
}
