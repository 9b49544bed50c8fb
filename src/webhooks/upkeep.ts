/** Repairs, cancels and removes deliveries, by timers and in all organizations. */
import type { Connection, Sql } from '../db/transact'
import { inBatches } from '../flow/batches'
import { log } from '../log'
import { cancelQueued, releaseQueued } from './queue'

/** Rows of one statement. */
const BATCH = 1000
/** Pause between statements, so that deleting much leaves the disk to others now and then. */
const PAUSE_MS = 50

/**
 * Repairs the queue; to be called each minute, by any number of processes. Releases deliveries that are parked although
 * their webhook is active (their event was being written while the webhook was enabled again). Cancels deliveries of
 * webhooks that were switched off or deleted during an attempt, and those that have waited longer than `hold_days` for
 * their failed webhook.
 */
export async function sweepDeliveries({ sql }: Connection, hold_days: number): Promise<void> {
  const released = await inBatches(BATCH, () => releaseForgotten(sql), PAUSE_MS)
  const cancelled = await inBatches(BATCH, () => cancelInactive(sql), PAUSE_MS)
  const expired = await inBatches(BATCH, () => cancelExpired(sql, hold_days), PAUSE_MS)
  if (released > 0) log.warn({ released }, 'deliveries waited although their webhook was active')
  if (cancelled + expired > 0) log.info({ cancelled, expired }, 'deliveries were cancelled')
}

/**
 * Removes finished deliveries that are older than `days` with their attempts, then events without deliveries, then
 * deleted webhooks without deliveries. Each step commits for itself.
 */
export async function purgeDeliveries({ sql }: Connection, days: number): Promise<void> {
  await inBatches(BATCH, () => removeDeliveries(sql, days), PAUSE_MS)
  await inBatches(BATCH, () => removeEvents(sql, days), PAUSE_MS)
  await sql`
    delete from webhooks w
    where deleted_at < now() - ${days} * interval '1 day' and not exists (
      select from deliveries d where d.organization_id = w.organization_id and d.webhook_id = w.id
    )`
}

/** Removes secrets that were replaced and whose 24 hours beside the new one are over. */
export async function forgetSecrets({ sql }: Connection): Promise<void> {
  await sql`
    update webhooks set previous_secret = null, previous_secret_until = null where previous_secret_until <= now()`
}

function releaseForgotten(sql: Sql): Promise<number> {
  return releaseQueued(
    sql,
    sql`
      select o.organization_id, o.id
      from outbox o join webhooks w on w.organization_id = o.organization_id and w.id = o.lane_id
      where o.kind = 'webhook' and o.run_at = 'infinity' and o.lease_until <= now()
        and w.active and w.status = 'active' and w.deleted_at is null
      limit ${BATCH} for update of o skip locked`,
  )
}

function cancelInactive(sql: Sql): Promise<number> {
  return cancelQueued(
    sql,
    sql`
      select o.organization_id, o.id
      from webhooks w join outbox o on o.organization_id = w.organization_id and o.lane_id = w.id
      where (not w.active or w.deleted_at is not null) and o.kind = 'webhook' and o.lease_until <= now()
      limit ${BATCH} for update of o skip locked`,
  )
}

function cancelExpired(sql: Sql, hold_days: number): Promise<number> {
  return cancelQueued(
    sql,
    sql`
      select organization_id, id from outbox
      where kind = 'webhook' and run_at = 'infinity' and id < ${oldestId(sql, hold_days)} and lease_until <= now()
      limit ${BATCH} for update skip locked`,
  )
}

/** Spares a delivery that is just being sent again: its row is locked, or has its new status once the lock is free. */
async function removeDeliveries(sql: Sql, days: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select organization_id, id from deliveries d
      where id < ${oldestId(sql, days)} and status not in ('pending', 'retrying') and not exists (
        select from outbox o where o.organization_id = d.organization_id and o.id = d.id
      )
      order by id limit ${BATCH} for update skip locked
    )
    delete from deliveries d using old where d.organization_id = old.organization_id and d.id = old.id`
  return count
}

async function removeEvents(sql: Sql, days: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select organization_id, id from events e
      where id < ${oldestId(sql, days)} and not exists (
        select from deliveries d where d.organization_id = e.organization_id and d.event_id = e.id
      )
      order by id limit ${BATCH} for update skip locked
    )
    delete from events e using old where e.organization_id = old.organization_id and e.id = old.id`
  return count
}

/** The lowest id of a row that is at most so many days old: ids begin with their time (UUIDv7). */
function oldestId(sql: Sql, days: number) {
  return sql`(
    rpad(lpad(to_hex((extract(epoch from now() - ${days} * interval '1 day') * 1000)::bigint), 12, '0'), 32, '0')
  )::uuid`
}
