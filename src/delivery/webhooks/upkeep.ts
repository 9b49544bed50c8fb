/** Repairs, cancels and removes deliveries, by timers. */
import { type Old, sweep, visit } from '../../base/db/sweep'
import type { Connection, Fragment, Sql } from '../../base/db/transact'
import { log } from '../../base/log'
import { inTransaction, SYSTEM } from '../../base/scope'
import { giveTurns } from './in-turn'
import { cancelQueued, releaseQueued } from './queue'

/** Pause between transactions, so that deleting much leaves the disk to others now and then. */
const PAUSE_MS = 50

/**
 * Repairs the queue; to be called each minute, by any number of processes. Releases deliveries that are parked although
 * their webhook is active (their event was being written while the webhook was enabled again). Cancels deliveries of
 * webhooks that were switched off or deleted during an attempt, and those that have waited longer than `hold_days` for
 * their failed webhook. Gives turns to ordered webhooks whose process died.
 */
export async function sweepDeliveries(connection: Connection, hold_days: number): Promise<void> {
  const { sql } = connection
  const is_parked = sql`t.run_at = 'infinity'`
  const works = sql`w.active and w.status = 'active' and w.deleted_at is null`
  const released = await sweep(connection, queued(sql, sql`${works} and not w.ordered`, is_parked), (batch, old) =>
    releaseQueued(batch, old),
  )
  const cancel = (webhook: Fragment, delivery = sql`true`) =>
    sweep(connection, queued(sql, webhook, delivery), (batch, old) => cancelQueued(batch, old))
  const cancelled = await cancel(sql`(not w.active or w.deleted_at is not null)`)
  const expired = await cancel(
    sql`w.status = 'failed'`,
    sql`${is_parked} and t.queued_at < now() - ${hold_days} * interval '1 day'`,
  )
  const is_old = sql`ordered and active and status = 'active' and deleted_at is null`
  await visit(connection, { table: 'webhooks', key: ['id'], is_old }, (organization_id, rows) =>
    inTransaction({ ...connection, organization_id, actor: SYSTEM }, (scope) =>
      giveTurns(
        scope,
        rows.map(({ id }) => id),
      ),
    ),
  )
  if (released > 0) log.warn({ released }, 'deliveries waited although their webhook was active')
  if (cancelled + expired > 0) log.info({ cancelled, expired }, 'deliveries were cancelled')
}

/** Deliveries that wait in the outbox, and that no process attempts now. `webhook` is of `w`, `delivery` of `t`. */
function queued(sql: Sql, webhook: Fragment, delivery: Fragment): Old {
  return {
    table: 'outbox',
    is_old: (own) => sql`
      t.kind = 'webhook' and t.lease_until <= now() and ${delivery}
      and exists (select 1 from webhooks w where ${own('w')} and w.id = t.lane_id and ${webhook})`,
    pause_ms: PAUSE_MS,
  }
}

/**
 * Removes finished deliveries that are older than `days` with their attempts, then events without deliveries that have
 * left the feed, then deleted webhooks without deliveries. Each step commits for itself.
 * @param event_days how long the feed keeps events
 */
export async function purgeDeliveries(connection: Connection, days: number, event_days = 0): Promise<void> {
  const { sql } = connection
  // A delivery that is just being sent again is spared: its row is locked, or has its new status once the lock is free.
  await sweep(connection, {
    table: 'deliveries',
    is_old: (own) => sql`
      t.id < ${oldestId(sql, days)} and t.status not in ('pending', 'retrying')
      and not exists (select 1 from outbox o where ${own('o')} and o.id = t.id)`,
    order: 'id',
    pause_ms: PAUSE_MS,
  })
  await sweep(connection, {
    table: 'events',
    is_old: (own) => sql`
      t.id < ${oldestId(sql, Math.max(days, event_days))}
      and not exists (select 1 from deliveries d where ${own('d')} and d.event_id = t.id)
      and not exists (select 1 from event_places p where ${own('p')} and p.event_id = t.id)`,
    order: 'id',
    pause_ms: PAUSE_MS,
  })
  await sweep(connection, {
    table: 'webhooks',
    is_old: (own) => sql`
      t.deleted_at < now() - ${days} * interval '1 day'
      and not exists (select 1 from deliveries d where ${own('d')} and d.webhook_id = t.id)`,
  })
}

/** Removes secrets that were replaced and whose 24 hours beside the new one are over. */
export async function forgetSecrets(connection: Connection): Promise<void> {
  const is_old = connection.sql`previous_secret_until <= now()`
  await sweep(connection, { table: 'webhooks', is_old }, async ({ sql, organization_id }, old) => {
    const { count } = await sql`
      with old as materialized (${old})
      update webhooks w set previous_secret = null, previous_secret_until = null from old
      where w.organization_id = ${organization_id} and w.id = old.id`
    return count
  })
}

/** The lowest id of a row that is at most so many days old: ids begin with their time (UUIDv7). */
function oldestId(sql: Sql, days: number) {
  return sql`(
    rpad(lpad(to_hex((extract(epoch from now() - ${days} * interval '1 day') * 1000)::bigint), 12, '0'), 32, '0')
  )::uuid`
}
