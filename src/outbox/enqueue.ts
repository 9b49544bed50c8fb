/** Enqueues work in the transaction of the change that causes it: the work exists only if the change does. */
import { config } from '../config'
import type { Sql } from '../db/transact'
import { afterCommit, type Scope } from '../scope'
import { currentTraceparent } from '../tracing/trace'
import type { OutboxKind } from './job'
import { wake } from './wake'

/**
 * Inserts an outbox row, and wakes the workers after the commit.
 * @param id of the message (`email`), of the ledger row (`inbound`) or of the letter
 * @param lane_id the mailbox (`email`), else the organization
 */
export async function enqueueWork(
  scope: Scope,
  kind: Exclude<OutboxKind, 'webhook'>,
  id: string,
  lane_id: string,
): Promise<void> {
  const { sql, organization_id } = scope
  await sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at, traceparent)
    values (${organization_id}, ${id}, ${kind}, ${lane_id}, ${kind === 'inbound' ? sql`now()` : firstAttemptAt(sql)},
      ${currentTraceparent()})`
  afterCommit(scope, () => wake(kind))
}

/** SQL for the time of the first attempt to send: now, or later when `RETRY_SCHEDULE_SECONDS` begins with a delay. */
export function firstAttemptAt(sql: Sql) {
  return sql`now() + ${config.RETRY_SCHEDULE_SECONDS[0] ?? 0}::float8 * interval '1 second'`
}
