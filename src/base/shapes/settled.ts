/**
 * Times of change that clients can follow. A change may become visible later than a change with a later time, because
 * transactions do not commit in the order of their times. Changes before the settled time are all visible.
 */
import type { Fragment, Sql } from '../db/transact'

/** Changes younger than this are held back even when no transaction is open. */
const HELD_BACK_S = 5

/**
 * The age of a writing transaction whose begin the server does not tell, because it is of a role that this one may not
 * look at, or because `track_activities` is off. Statements of requests end after 30 s.
 */
const HIDDEN_AGE_S = 60

/** A time of change with all its digits, in a form whose order as text is the order of time. */
export function exactTime(sql: Sql, column: Fragment): Fragment {
  return sql`to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
}

/**
 * Reads the settled time: every change with an earlier `updated_at` that a later statement does not see was never
 * committed. It must be read before the rows.
 *
 * `updated_at` is read from the clock by the transaction that writes it (`base/db/change-time.ts`), so it is not before
 * the begin of that transaction. A transaction that is not visible to the later statement was either open at the time
 * of this one, so the settled time is not after its begin; or it read the clock afterwards, and all its times are
 * later. It takes its id (`backend_xid`) before it reads the clock: one that only reads, such as an export, has none
 * and holds nothing back. The five seconds cover small steps of the clock.
 *
 * A fixed limit on the life of transactions would not do: PostgreSQL has `transaction_timeout` only from 17 on, and a
 * statement that changes all tickets of a company may take longer.
 */
export async function settledTime(sql: Sql): Promise<string> {
  const begin = sql`coalesce(xact_start, now() - make_interval(secs => ${HIDDEN_AGE_S}))`
  const [row] = await sql<{ time: string }[]>`
    select ${exactTime(sql, sql`least(now() - make_interval(secs => ${HELD_BACK_S}), min(${begin}))`)} as time
    from pg_stat_activity
    where datname = current_database() and backend_xid is not null`
  return row!.time
}

/**
 * Tells if what began before a moment has ended: no transaction of a request lives longer than a minute.
 * @param moment as `Date.parse` reads it
 */
export async function isOver(sql: Sql, moment: string): Promise<boolean> {
  const open = await sql`
    select 1 from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and xact_start < ${moment}::timestamptz and xact_start > now() - make_interval(secs => ${HIDDEN_AGE_S})
    limit 1`
  return open.length === 0
}
