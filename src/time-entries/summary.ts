import type { Fragment, Sql } from '../db/transact'
import type { Scope } from '../scope'
import type { SummaryGroup, SummaryItem, SummaryQuery } from './model'
import { matches } from './queries'

/** Sums up time: one item for each group and currency, most minutes first. */
export function summarizeTime(scope: Scope, { group_by = 'company', ...period }: SummaryQuery): Promise<SummaryItem[]> {
  const { sql } = scope
  const { key, label } = GROUPS[group_by]
  return sql<SummaryItem[]>`
    select ${label(sql)}, sum(e.duration_minutes) as total_minutes,
      coalesce(sum(e.duration_minutes) filter (where e.billable), 0) as billable_minutes,
      coalesce(sum(e.amount) filter (where e.billable), 0) as total_amount, e.currency
    from time_entries e
    join tickets t on t.organization_id = e.organization_id and t.id = e.ticket_id
    left join companies co on co.organization_id = t.organization_id and co.id = t.company_id
    join users u on u.id = e.user_id
    where ${matches(scope, period)}
    group by ${key(sql)}, e.currency
    order by total_minutes desc, ${key(sql)}, e.currency`
}

type Part = (sql: Sql) => Fragment

/** The columns of each grouping, and how the response shows them. */
const GROUPS: Record<SummaryGroup, { key: Part; label: Part }> = {
  company: {
    key: (sql) => sql`co.id, co.name`,
    label: (sql) =>
      sql`case when co.id is not null then json_build_object('id', co.id, 'name', co.name) end as company`,
  },
  user: {
    key: (sql) => sql`u.id, u.name`,
    label: (sql) => sql`json_build_object('id', u.id, 'name', u.name) as user`,
  },
  ticket: {
    key: (sql) => sql`t.id, t.code, t.subject`,
    label: (sql) => sql`json_build_object('id', t.id, 'code', t.code, 'subject', t.subject) as ticket`,
  },
  day: { key: (sql) => sql`e.date`, label: (sql) => sql`e.date as day` },
}
