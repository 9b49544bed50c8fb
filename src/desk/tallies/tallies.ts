/**
 * Tallies: numbers of tickets and contacts that are read without counting rows, exact however many there are. Triggers
 * add a row for each change, in the transaction of the change (`drizzle/0017_tallies.sql`, changed by
 * `0022_all_tickets.sql`), and a job folds these rows into the numbers. Both are read together, by one statement. A row
 * that every write updated would make writes wait for each other.
 *
 * Deleted tickets are not counted. Each other ticket is counted by status, five times: among all tickets, and for its
 * contact, its company, each label and its day of creation. A contact is counted for its company.
 */
import type { TALLY_KINDS } from '../../base/db/schema'
import type { Connection, Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { fold } from './fold-changes'

export type TallyKind = (typeof TALLY_KINDS)[number]

/**
 * SQL for rows `(key, status, n)` of one kind, for `from`. A key may come in several rows: their `n` are to be added.
 * @param condition more conditions, which begin with `and`
 */
export function talliesOf({ sql, organization_id }: Scope, kind: TallyKind, condition: Fragment = sql``): Fragment {
  // As a literal: with a parameter the server takes the kinds for equally frequent, finds that a plan for this one is
  // cheaper, and so plans the statement anew each time. That took 0.7 ms of the 1.1 ms of a ticket list.
  const literal = sql.unsafe(`'${kind}'`)
  return sql`(
    select key, status, n from tallies where organization_id = ${organization_id} and kind = ${literal} ${condition}
    union all
    select key, status, n from tally_changes where organization_id = ${organization_id} and kind = ${literal} ${condition}
  ) as tallied`
}

/** SQL for the sum of these rows, as a scalar expression. */
export function tally(scope: Scope, kind: TallyKind, condition?: Fragment): Fragment {
  return scope.sql`(select coalesce(sum(n), 0)::bigint from ${talliesOf(scope, kind, condition)})`
}

/**
 * Folds the changes into the numbers. For a background job, every few seconds, in any number of processes.
 * @returns how many rows were folded
 */
export function foldTallies(connection: Connection): Promise<number> {
  return fold(connection, { counts: 'tallies', changes: 'tally_changes', columns: ['kind', 'key', 'status'] })
}
