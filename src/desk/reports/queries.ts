/** Reads reports from the facts (`desk/facts`). */
import type { Fragment, Sql } from '../../base/db/transact'
import { inTransaction, type Scope, together } from '../../base/scope'
import { readNames } from './group-names'
import type { Group, ReportQuery, ReportRow } from './model'
import { emptyRow, type Figures, isEmpty, rowOf } from './report-figures'
import { readSpans, requireDays, type Span } from './spans'
import { readWorked, type Worked } from './worked'

/** A group of facts: how many of a kind, and median and 90th percentile of their seconds. */
type Counted = { part: Part; key: string | null; kind: string | null; n: number; seconds: [number, number] | null }

/**
 * - counted: the facts of the report;
 * - sent: replies by their sender;
 * - earlier: tickets that were open when the report begins;
 * - later: how many more tickets are open because of what came after the report;
 * - open: tickets that are open now.
 * There is the third part, or the last two: whichever has fewer facts to count.
 */
type Part = 'counted' | 'sent' | 'earlier' | 'later' | 'open'

/** A report: its days as a whole, and of each row. */
type Whole = Pick<Span, 'begins' | 'ends'> & {
  group_by: Group
  spans: Span[]
  counts: 'earlier' | 'later'
  worked: Worked
}

/** Reads the rows of a report: all days, weeks and priorities, of the other groups those in which something was. */
export async function reportTickets(scope: Scope, query: ReportQuery): Promise<ReportRow[]> {
  requireDays(query)
  const { group_by = 'day' } = query
  const spans = await readSpans(scope, query, group_by === 'week' ? 'week' : 'day')
  const [begins, ends] = [spans[0]!.begins, spans.at(-1)!.ends]
  const { counts, first_year, last_year } = await nearerEnd(scope, begins, ends)
  const whole = { group_by, spans, begins, ends, counts, worked: await readWorked(scope, first_year, last_year) }
  const counted = await inTransaction(scope, async (scope) => {
    const settings = scope.sql`
      select set_config('max_parallel_workers_per_gather', ${WORKERS}, true), set_config('work_mem', ${MEMORY}, true)`
    const [, rows] = await together([settings, readCounts(scope, whole)])
    return rows
  })
  return isOfSpans(group_by)
    ? rowsOfSpans(counted, spans, { counts, group_by })
    : rowsOfGroups(scope, counted, { counts, group_by })
}

function isOfSpans(group_by: Group): group_by is 'day' | 'week' {
  return group_by === 'day' || group_by === 'week'
}

/** Processes that read beside that of the connection. One takes a fifth off a report of a million by company. */
const WORKERS = '1'

/** Memory of each of them: the seconds of a million tickets by company take 12 MB, and went to the disk. */
const MEMORY = '32MB'

/** Tells on which side of a report the time is shorter. Until older tickets are told, only the last side is known. */
async function nearerEnd({ sql, organization_id }: Scope, begins: string, ends: string) {
  const [row] = await sql<{ is_early: boolean | null; first_year: number; last_year: number }[]>`
    select ${begins}::timestamptz - min(at) < now() - ${ends}::timestamptz and not exists (
      select 1 from ticket_fact_fills where organization_id = ${organization_id}
    ) as is_early, coalesce(date_part('year', min(at)), 1970) as first_year,
      coalesce(date_part('year', max(at)), 1970) as last_year
    from ticket_facts where organization_id = ${organization_id}`
  const { is_early, first_year, last_year } = row!
  return { counts: is_early ? ('earlier' as const) : ('later' as const), first_year, last_year }
}

function rowsOfSpans(
  counted: Counted[],
  spans: Span[],
  { counts, group_by }: Pick<Whole, 'counts'> & { group_by: 'day' | 'week' },
): ReportRow[] {
  const figures = spans.map(() => emptyRow())
  for (const one of counted) if (one.part === 'counted') add(figures[Number(one.key)]!, one)
  const more = ({ created, reopened, resolved }: Figures) => created + reopened - resolved
  const in_all = figures.reduce((sum, row) => sum + more(row), 0)
  let backlog =
    counts === 'earlier'
      ? numberOf(counted, 'earlier')
      : numberOf(counted, 'open') - numberOf(counted, 'later') - in_all
  for (const row of figures) {
    backlog += more(row)
    row.backlog = backlog
  }
  return spans.map(({ key }, place) => ({ [group_by]: key, ...rowOf(figures[place]!) }))
}

function numberOf(counted: Counted[], part: Part): number {
  return counted.reduce((sum, one) => (one.part === part ? sum + one.n : sum), 0)
}

async function rowsOfGroups(
  scope: Scope,
  counted: Counted[],
  { counts, group_by }: Pick<Whole, 'counts'> & { group_by: GroupOfTickets },
): Promise<ReportRow[]> {
  const named = await readNames(scope, group_by, [...new Set(counted.map(({ key }) => key))])
  const known = new Set(named.map(({ key }) => key))
  const groups = new Map<string | null, Figures>()
  for (const one of counted) {
    // A sender who was never a member has no name.
    const key = known.has(one.key) ? one.key : null
    const row = groups.get(key) ?? emptyRow()
    groups.set(key, row)
    add(row, one)
  }
  if (counts === 'earlier') {
    for (const row of groups.values()) row.backlog += row.created + row.reopened - row.resolved
  }
  return named.flatMap(({ key, name }) => {
    const figures = groups.get(key) ?? emptyRow()
    return isEmpty(figures) && group_by !== 'priority' ? [] : [{ [group_by]: name, ...rowOf(figures) }]
  })
}

/** Adds what was counted to the figures of its group. */
function add(row: Figures, { part, kind, n, seconds }: Counted): void {
  if (part === 'open' || part === 'earlier') row.backlog += n
  else if (part === 'later') row.backlog -= n
  else if (part === 'sent') row.replies += n
  else if (kind === 'replied') {
    row.replies += n
    row.first_reply_seconds ??= seconds
  } else if (kind === 'resolved') {
    row.resolved += n
    row.resolve_seconds ??= seconds
  } else if (kind !== 'began') row[kind as 'created' | 'reopened' | 'kept' | 'breached' | 'good' | 'bad'] += n
}

type GroupOfTickets = Exclude<Group, 'day' | 'week'>

/** SQL for the group of a fact or of a ticket `t`. */
const KEYS: Record<GroupOfTickets, (sql: Sql) => Fragment> = {
  user: (sql) => sql`t.assignee_id`,
  team: (sql) => sql`t.team_id`,
  mailbox: (sql) => sql`t.mailbox_id`,
  company: (sql) => sql`t.company_id`,
  priority: (sql) => sql`t.priority`,
  label: (sql) => sql`l.label_id`,
}

/**
 * Counts the facts of each group by the index of their times. One statement tells all, as it is at one moment.
 *
 * `told` has the facts of a group, of users by their sender: there `counted` has them as a whole.
 */
function readCounts(scope: Scope, whole: Whole): Promise<Counted[]> {
  const { sql, organization_id } = scope
  const { group_by, spans, begins, ends, worked } = whole
  const is_user = group_by === 'user'
  const given = spans.map((span) => span.begins).join()
  const key = isOfSpans(group_by)
    ? sql`width_bucket(t.at, (select string_to_array(${given}, ',')::timestamptz[])) - 1`
    : KEYS[group_by](sql)
  const labels = group_by === 'label' ? sql`cross join lateral unnest(${labelsOf(sql)}) as l (label_id)` : sql``
  const facts = sql`from ticket_facts t ${labels} where t.organization_id = ${organization_id} and not t.hidden`
  const parts = sql`
    select key, kind, case when kind = 'replied' then 0 else sum(n) end as n, null as seconds from told group by 1, 2
    union all
    select key, kind, 0, array_agg(s) from told cross join lateral unnest(seconds) as s group by 1, 2`
  const sent = sql`
    union all
    select 'sent', user_id::text, null, sum(n), null from told where kind = 'replied' group by user_id`
  const is_kept = isOfSpans(group_by) || is_user || group_by === 'priority'
  return sql<Counted[]>`
    with ${worked.table} told as materialized (
      select ${key} as key, t.kind, ${is_user ? sql`t.user_id` : sql`null::uuid`} as user_id, count(*) as n,
        array_agg(${worked.seconds}) filter (where t.seconds is not null) as seconds
      ${facts} and t.at >= ${begins} and t.at < ${ends}
      group by 1, 2, 3
    ), counted as materialized (
      ${is_user ? parts : sql`select key, kind, n, seconds from told`}
    )
    select 'counted' as part, key::text, kind, n, ${percentiles(sql)} as seconds from counted
    ${is_user ? sent : sql``}
    ${standing(scope, whole, {
      key: isOfSpans(group_by) ? sql`null` : key,
      facts,
      open: is_kept ? countsOfOpen(scope) : openTickets(scope, group_by),
    })}`
}

type Source = { key: Fragment; facts: Fragment; open: Fragment }

/** SQL for the parts that tell how many tickets are open, on one side of a report. */
function standing({ sql }: Scope, { begins, ends, counts }: Whole, { key, facts, open }: Source): Fragment {
  const aside = counts === 'earlier' ? sql`t.at < ${begins}` : sql`t.at >= ${ends}`
  const changes = sql`
    union all
    select ${counts}, (${key})::text, null, sum(case t.kind when 'resolved' then -1 else 1 end), null
    ${facts} and ${aside} and t.kind in ('created', 'resolved', 'reopened')
    group by 2`
  if (counts === 'earlier') return changes
  return sql`
    ${changes}
    union all
    select 'open', (${key})::text, null, sum(t.n), null ${open} group by 2`
}

/** SQL for rows whose `n` are the open tickets: few rows, kept by triggers, which know assignee and priority alone. */
function countsOfOpen({ sql, organization_id }: Scope): Fragment {
  return sql`
    from (
      select assignee_id, priority, status, n from ticket_counts where organization_id = ${organization_id}
      union all
      select assignee_id, priority, status, n from ticket_count_changes where organization_id = ${organization_id}
    ) t where t.status in ('open', 'pending')`
}

/** SQL for the same, one row for each ticket and label: of other groups from the index `tickets_open_groups` alone. */
function openTickets({ sql, organization_id }: Scope, group_by: Group): Fragment {
  const labelled = sql`left join ticket_labels l on l.organization_id = ${organization_id} and l.ticket_id = t.id`
  return sql`
    from (select *, 1 as n from tickets where organization_id = ${organization_id} and deleted_at is null) t
    ${group_by === 'label' ? labelled : sql``} where t.status in ('open', 'pending')`
}

/** A ticket without a label is in the group of none. */
function labelsOf(sql: Sql): Fragment {
  return sql`case when t.label_ids = '{}' then array[null::uuid] else t.label_ids end`
}

/** SQL for median and 90th percentile of an array of seconds. */
function percentiles(sql: Sql): Fragment {
  return sql`case when seconds is not null then (
    select percentile_cont(array[0.5, 0.9]) within group (order by s) from unnest(seconds) s
  ) end`
}
