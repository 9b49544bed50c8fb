/**
 * Sums of time entries, exact however many there are. The sums of each day are kept in rows of their own: 300,000
 * entries are added up in 1 ms instead of 110 ms. A row that every request updates would make them wait for each other,
 * so a trigger on `time_entries` only adds a row for each change, in the transaction of the change, and a job folds
 * these rows into the sums. Both are read together, by one statement.
 */
import type { Connection, Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { fold } from '../tallies/fold-changes'
import type { Period, TimeEntryFilter, Totals } from './model'
import { amountOf } from './price'

type Sums = { currency: string; total: number; minutes: number; amounts: number; billable_amount: number }

/**
 * Adds up the entries of a filter. The database adds up the money, each currency separately: sums of JavaScript numbers
 * would be inexact.
 * @param conditions of the filter, on `time_entries e`, each with `and` before it
 */
export async function totalsOf(
  scope: Scope,
  filter: Omit<TimeEntryFilter, 'page' | 'per_page'>,
  conditions: Fragment,
): Promise<{ total: number; totals: Totals }> {
  const { ticket_id, user_id, company_id } = filter
  const rows = await (ticket_id || user_id || company_id ? sumsOf(scope, conditions) : sumsOfDays(scope, filter))
  const by_currency = rows
    .filter((row) => row.amounts > 0)
    .map(({ currency, billable_amount }) => ({ currency, billable_amount }))
  return {
    total: rows.reduce((sum, row) => sum + row.total, 0),
    totals: {
      duration_minutes: rows.reduce((sum, row) => sum + row.minutes, 0),
      billable_amount: by_currency.length > 1 ? null : (by_currency[0]?.billable_amount ?? 0),
      by_currency,
    },
  }
}

/** Reads the index whose included columns are summed up, and no row. */
function sumsOf({ sql, organization_id }: Scope, conditions: Fragment) {
  return sql<Sums[]>`
    select e.currency, count(*) as total, sum(e.duration_minutes) as minutes,
      count(e.amount) filter (where e.billable) as amounts,
      sum(${amountOf(sql)}) filter (where e.billable) as billable_amount
    from time_entries e
    where e.organization_id = ${organization_id} ${conditions}
    group by e.currency order by e.currency`
}

function sumsOfDays(scope: Scope, filter: Period & { billable?: boolean }) {
  return scope.sql<Sums[]>`
    select d.currency, sum(d.entries)::bigint as total, sum(d.minutes)::bigint as minutes,
      coalesce(sum(d.priced) filter (where d.billable), 0)::bigint as amounts,
      sum(d.amount) filter (where d.billable) as billable_amount
    from ${daysOf(scope, filter)} d
    group by d.currency having sum(d.entries) > 0 order by d.currency`
}

/** SQL for the sums of each day, currency and `billable`: a table in brackets, whose rows are to be added up. */
export function daysOf(
  { sql, organization_id }: Scope,
  { billable, date_from, date_to }: Period & { billable?: boolean },
) {
  const matching = () => sql`
    organization_id = ${organization_id}
    ${billable === undefined ? sql`` : sql`and billable = ${billable}`}
    ${date_from ? sql`and date >= ${date_from}::date` : sql``}
    ${date_to ? sql`and date <= ${date_to}::date` : sql``}`
  const columns = sql`date, currency, billable, entries, minutes, priced, amount`
  return sql`(
    select ${columns} from time_totals where ${matching()}
    union all
    select ${columns} from time_total_changes where ${matching()}
  )`
}

/**
 * Folds the changes into the sums. For a background job, every few seconds, in any number of processes.
 * @returns how many rows were folded
 */
export function foldTimeTotals(connection: Connection): Promise<number> {
  return fold(connection, {
    counts: 'time_totals',
    changes: 'time_total_changes',
    columns: ['date', 'currency', 'billable'],
    sums: ['entries', 'minutes', 'priced', 'amount'],
  })
}
