/**
 * Totals of the ticket list, exact however many tickets there are. A row that every request updates would make them
 * wait for each other, so a trigger on `tickets` only adds a row for each change, in the transaction of the change, and
 * a job folds these rows into the counts. Both are read together, by one statement.
 */
import type { Connection } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { fold } from '../tallies/fold-changes'
import { inStatus } from './condition'
import { CONDITIONS, type TicketConditions } from './conditions'

/** SQL for the number of tickets that match, as a scalar expression; it knows status, priority and assignee. */
export function countOf(scope: Scope, { status, priority, assignee_id }: TicketConditions) {
  const { sql, organization_id } = scope
  const matching = () => sql`
    organization_id = ${organization_id}
    ${status ? sql`and ${inStatus(sql, status)}` : sql``}
    ${priority ? sql`and priority = any(${priority}::text[])` : sql``}
    ${assignee_id ? CONDITIONS.assignee_id.sql(scope, assignee_id, sql``) : sql``}`
  return sql`(
    select coalesce(sum(n), 0)::bigint from (
      select n from ticket_counts t where ${matching()}
      union all
      select n from ticket_count_changes t where ${matching()}
    ) as counted
  )`
}

/**
 * Folds the changes into the counts. For a background job, every few seconds, in any number of processes.
 * @returns how many rows were folded
 */
export function foldTicketCounts(connection: Connection): Promise<number> {
  const columns = ['status', 'priority', 'assignee_id']
  return fold(connection, { counts: 'ticket_counts', changes: 'ticket_count_changes', columns })
}
