import type { Fragment, Sql } from '../../base/db/transact'
import { fieldError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import type { Period, SummaryGroup, SummaryItem, SummaryQuery } from './model'
import { amountOf } from './price'
import { matches } from './queries'
import { daysOf } from './totals'

/** Items of a summary by ticket. With more of them a million tickets make an answer of 50 MB. */
const TICKETS_MOST = 10_000

/**
 * Sums up time: one item for each group and currency, most minutes first. The names are read once for each group.
 * @throws VALIDATION_ERROR for a summary by ticket with too many tickets
 */
export async function summarizeTime(
  scope: Scope,
  { group_by = 'company', ...period }: SummaryQuery,
): Promise<SummaryItem[]> {
  const { sql } = scope
  const { label, names } = GROUPS[group_by]
  const sums =
    group_by === 'day'
      ? sumsOfDays(scope, period)
      : sumsBy(scope, { company: sql`e.company_id`, user: sql`e.user_id`, ticket: sql`e.ticket_id` }[group_by], period)
  const items = await sql<SummaryItem[]>`
    with sums as materialized (${sums} ${group_by === 'ticket' ? sql`limit ${TICKETS_MOST + 1}` : sql``})
    select ${label(sql)}, s.total_minutes, s.billable_minutes, s.total_amount, s.currency
    from sums s ${names(scope)}
    order by s.total_minutes desc, s.key, s.currency`
  if (group_by !== 'ticket' || items.length <= TICKETS_MOST) return items
  const fault = `must begin a period in which time was logged on at most ${TICKETS_MOST} tickets`
  throw fieldError('VALIDATION_ERROR', '/query/date_from', fault)
}

/** The statement that adds up, with the columns `key`, `currency` and the sums. */
function sumsBy(scope: Scope, key: Fragment, period: Period): Fragment {
  const { sql, organization_id } = scope
  return sql`
    select ${key} as key, e.currency, sum(e.duration_minutes) as total_minutes,
      coalesce(sum(e.duration_minutes) filter (where e.billable), 0) as billable_minutes,
      coalesce(sum(${amountOf(sql)}) filter (where e.billable), 0) as total_amount
    from time_entries e
    where e.organization_id = ${organization_id} ${matches(scope, period)}
    group by 1, 2`
}

function sumsOfDays(scope: Scope, period: Period): Fragment {
  return scope.sql`
    select d.date as key, d.currency, sum(d.minutes)::bigint as total_minutes,
      coalesce(sum(d.minutes) filter (where d.billable), 0)::bigint as billable_minutes,
      coalesce(sum(d.amount) filter (where d.billable), 0) as total_amount
    from ${daysOf(scope, period)} d
    group by 1, 2 having sum(d.entries) > 0`
}

type Group = {
  /** How the response shows the key. */
  label(sql: Sql): Fragment
  /** Columns that `label` needs beside the sums. */
  names(scope: Scope): Fragment
}

const GROUPS: Record<SummaryGroup, Group> = {
  company: {
    label: (sql) =>
      sql`case when co.id is not null then json_build_object('id', co.id, 'name', co.name) end as company`,
    names: ({ sql, organization_id }) =>
      sql`left join companies co on co.organization_id = ${organization_id} and co.id = s.key`,
  },
  user: {
    label: (sql) => sql`json_build_object('id', u.id, 'name', u.name) as user`,
    names: ({ sql }) => sql`join users u on u.id = s.key`,
  },
  ticket: {
    label: (sql) => sql`json_build_object('id', t.id, 'code', t.code, 'subject', t.subject) as ticket`,
    names: ({ sql, organization_id }) => sql`join tickets t on t.organization_id = ${organization_id} and t.id = s.key`,
  },
  day: { label: (sql) => sql`s.key as day`, names: ({ sql }) => sql`` },
}
