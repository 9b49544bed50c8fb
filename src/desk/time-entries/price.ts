/**
 * Rate and amount of a time entry as the database has them. Columns of release 0.2.0 hold two decimals: where the
 * currency has not two, others beside them hold the rate and the decimals of the amount. What was logged before has
 * none of them, so that its amount stays.
 */
import type { Fragment, Sql } from '../../base/db/transact'
import { decimalsOf } from '../../base/shapes/money'

/** The columns of a price. */
export function priceColumns({ rate, currency }: { rate: number | null; currency: string }) {
  const decimals = decimalsOf(currency)
  const is_usual = decimals === 2
  return { rate, currency, exact_rate: is_usual ? null : rate, decimals: is_usual ? null : decimals }
}

/** SQL for the rate of `time_entries e`. */
export function rateOf(sql: Sql): Fragment {
  return sql`coalesce(e.exact_rate, e.rate)`
}

/** SQL for the amount of `time_entries e`, rounded half up. The trigger function `sum_up_time` says the same. */
export function amountOf(sql: Sql): Fragment {
  return sql`coalesce(round(e.duration_minutes * e.exact_rate / 60, e.decimals), e.amount)`
}
