/** Finds the tickets that rules of retention apply to. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { heldTickets } from '../holds/holds'
import { ERASED } from '../privacy/traces'
import type { Retention, Rule } from './model'

type DueScope = Pick<Scope, 'sql' | 'organization_id'>

/**
 * SQL: the tickets that are due, with the place of their rule and whether they are on hold. The first rule whose
 * status, labels and company fit decides, however long ago the ticket was changed: so a rule that keeps some tickets
 * longer stands before the others. Merged tickets go with the one that has their messages, and what was erased stays.
 * @param more conditions on `tickets t`: `and …`
 */
export function dueTickets(scope: DueScope, { rules, hold_label_ids }: Retention, more?: Fragment): Fragment {
  const { sql, organization_id } = scope
  if (rules.length === 0)
    return sql`select null::uuid as id, null::timestamptz as updated_at, 0 as place, false as is_held where false`
  const places = rules.map((rule, place) => sql`when ${fits(scope, rule)} then ${place}::int`)
  const [days, actions] = [rules.map((rule) => rule.days), rules.map((rule) => rule.action)]
  const is_held = hold_label_ids.length > 0 ? sql`t.id in (${heldTickets(scope, hold_label_ids)})` : sql`false`
  const soonest = Math.min(...days)
  return sql`
    select g.id, g.updated_at, g.place, g.is_held from (
      select t.id, t.updated_at, t.subject, case ${places} end as place, ${is_held} as is_held from tickets t
      where t.organization_id = ${organization_id} and t.deleted_at is null and t.merged_into_id is null
        and t.status = any(${[...new Set(rules.map((rule) => rule.status))]}::text[])
        and t.updated_at < now() - make_interval(days => ${soonest}::int) ${more ?? sql``}
    ) g
    where g.place is not null and g.updated_at < now() - make_interval(days => (${days}::int[])[g.place + 1])
      and ((${actions}::text[])[g.place + 1] = 'delete' or g.subject <> ${ERASED})`
}

function fits({ sql, organization_id }: DueScope, { status, label_ids, company_ids }: Rule): Fragment {
  const labelled = sql`
    and t.id in (
      select l.ticket_id from ticket_labels l
      where l.organization_id = ${organization_id} and l.label_id = any(${label_ids}::uuid[])
    )`
  return sql`
    t.status = ${status} ${label_ids.length > 0 ? labelled : sql``}
    ${company_ids.length > 0 ? sql`and t.company_id = any(${company_ids}::uuid[])` : sql``}`
}
