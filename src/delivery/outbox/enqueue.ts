/** Enqueues work in the transaction of the change that causes it: the work exists only if the change does. */
import { config } from '../../base/config'
import type { Sql } from '../../base/db/transact'
import { afterCommit, type Scope } from '../../base/scope'
import { currentTraceparent } from '../../base/tracing/trace'
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
  afterCommit(scope, () => wake(kind, [{ organization_id, lane_id }]))
}

/**
 * Queues an email that was sent or given up, or what is left of it, as if it were new.
 * @param locked_at the time of the change
 * @returns false when an attempt is under way: its outcome would end this one, too
 */
export async function requeueEmail(scope: Scope, id: string, lane_id: string, locked_at: string): Promise<boolean> {
  const { sql, organization_id } = scope
  const { count } = await sql`
    insert into outbox as o (organization_id, id, kind, lane_id, run_at, queued_at, traceparent)
    values (${organization_id}, ${id}, 'email', ${lane_id}, ${locked_at}, ${locked_at}, ${currentTraceparent()})
    on conflict (organization_id, id) do update
      set lane_id = excluded.lane_id, run_at = excluded.run_at, queued_at = excluded.queued_at, attempts = 0, claims = 0
      where o.lease_until <= excluded.run_at`
  afterCommit(scope, () => wake('email', [{ organization_id, lane_id }]))
  return count > 0
}

/** SQL for the time of the first attempt to send: now, or later when `RETRY_SCHEDULE_SECONDS` begins with a delay. */
export function firstAttemptAt(sql: Sql) {
  return sql`now() + ${config.RETRY_SCHEDULE_SECONDS[0] ?? 0}::float8 * interval '1 second'`
}
