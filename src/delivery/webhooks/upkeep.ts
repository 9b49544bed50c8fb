/**
 * Repairs, cancels and removes deliveries, by timers. Each `find…` finds the organizations that have some, without
 * locks; what stands below it works in one of them.
 */
import { type Find, LOOK, withRows, workOff } from '../../base/db/all-organizations'
import type { Connection, Sql } from '../../base/db/transact'
import { inBatches } from '../../base/flow/batches'
import { log } from '../../base/log'
import { inTransaction, type Scope, SYSTEM } from '../../base/scope'
import { giveTurns } from './in-turn'
import { cancelQueued, releaseQueued } from './queue'

/** Rows of one statement. */
const BATCH = 1000
/** Pause between statements, so that deleting much leaves the disk to others now and then. */
const PAUSE_MS = 50

/**
 * Repairs the queue; to be called each minute, by any number of processes. Releases deliveries that are parked although
 * their webhook is active (their event was being written while the webhook was enabled again). Cancels deliveries of
 * webhooks that were switched off or deleted during an attempt, and those that have waited longer than `hold_days` for
 * their failed webhook. Gives turns to ordered webhooks whose process died.
 */
export async function sweepDeliveries({ sql, db }: Connection, hold_days: number): Promise<void> {
  const released = await workOff(sql, findForgotten(sql), (id) => repeated(() => releaseForgotten(sql, id)))
  const cancelled = await workOff(sql, findInactive(sql), (id) => repeated(() => cancelInactive(sql, id)))
  const expired = await workOff(sql, findExpired(sql, hold_days), (id) =>
    repeated(() => cancelExpired(sql, id, hold_days)),
  )
  await workOff(sql, findOrdered(sql), (organization_id) => giveAllTurns({ sql, db }, organization_id))
  if (released > 0) log.warn({ released }, 'deliveries waited although their webhook was active')
  if (cancelled + expired > 0) log.info({ cancelled, expired }, 'deliveries were cancelled')
}

/** Runs a statement until it finds less than a full batch. */
function repeated(statement: () => Promise<number>): Promise<number> {
  return inBatches(BATCH, statement, PAUSE_MS)
}

/**
 * Removes finished deliveries that are older than `days` with their attempts, then events without deliveries that have
 * left the feed, then deleted webhooks without deliveries. Each step commits for itself.
 * @param event_days how long the feed keeps events
 */
export async function purgeDeliveries({ sql }: Connection, days: number, event_days = 0): Promise<void> {
  await workOff(sql, findOldDeliveries(sql, days), (id) => repeated(() => removeDeliveries(sql, id, days)))
  const oldest = Math.max(days, event_days)
  await workOff(sql, findOldEvents(sql, oldest), (id) => repeated(() => removeEvents(sql, id, oldest)))
  await workOff(sql, findDeletedWebhooks(sql, days), (id) => removeWebhooks(sql, id, days))
}

/** Removes secrets that were replaced and whose 24 hours beside the new one are over. */
export async function forgetSecrets({ sql }: Connection): Promise<void> {
  const is_over = sql`previous_secret_until <= now()`
  await workOff(sql, withRows(sql, 'webhooks', is_over), async (organization_id) => {
    const { count } = await sql`
      update webhooks set previous_secret = null, previous_secret_until = null
      where organization_id = ${organization_id} and ${is_over}`
    return count
  })
}

function findForgotten(sql: Sql): Find {
  return (among) => sql`
    select distinct o.organization_id from outbox o
    join webhooks w on w.organization_id = o.organization_id and w.id = o.lane_id
    where o.kind = 'webhook' and o.run_at = 'infinity' and o.lease_until <= now()
      and w.active and w.status = 'active' and w.deleted_at is null and not w.ordered
      ${among(sql`o.organization_id`)} ${among(sql`w.organization_id`)}`
}

function releaseForgotten(sql: Sql, organization_id: string): Promise<number> {
  return releaseQueued(
    { sql, organization_id },
    sql`
      select o.id from outbox o join webhooks w on w.organization_id = ${organization_id} and w.id = o.lane_id
      where o.organization_id = ${organization_id} and o.kind = 'webhook' and o.run_at = 'infinity'
        and o.lease_until <= now() and w.active and w.status = 'active' and w.deleted_at is null
        and not w.ordered
      limit ${BATCH} for update of o skip locked`,
  )
}

function findInactive(sql: Sql): Find {
  return (among) => sql`
    select distinct o.organization_id from webhooks w
    join outbox o on o.organization_id = w.organization_id and o.lane_id = w.id
    where (not w.active or w.deleted_at is not null) and o.kind = 'webhook' and o.lease_until <= now()
      ${among(sql`o.organization_id`)} ${among(sql`w.organization_id`)}`
}

function cancelInactive(sql: Sql, organization_id: string): Promise<number> {
  return cancelQueued(
    { sql, organization_id },
    sql`
      select o.id from webhooks w join outbox o on o.organization_id = ${organization_id} and o.lane_id = w.id
      where w.organization_id = ${organization_id} and (not w.active or w.deleted_at is not null)
        and o.kind = 'webhook' and o.lease_until <= now()
      limit ${BATCH} for update of o skip locked`,
  )
}

function findExpired(sql: Sql, days: number): Find {
  return (among) => sql`
    select distinct o.organization_id from webhooks w
    join outbox o on o.organization_id = w.organization_id and o.lane_id = w.id
    where w.status = 'failed' and o.kind = 'webhook' and o.run_at = 'infinity' and o.lease_until <= now()
      and o.queued_at < now() - ${days} * interval '1 day'
      ${among(sql`o.organization_id`)} ${among(sql`w.organization_id`)}`
}

function cancelExpired(sql: Sql, organization_id: string, days: number): Promise<number> {
  return cancelQueued(
    { sql, organization_id },
    sql`
      select o.id from webhooks w join outbox o on o.organization_id = ${organization_id} and o.lane_id = w.id
      where w.organization_id = ${organization_id} and w.status = 'failed' and o.kind = 'webhook'
        and o.run_at = 'infinity' and o.lease_until <= now() and o.queued_at < now() - ${days} * interval '1 day'
      limit ${BATCH} for update of o skip locked`,
  )
}

function findOrdered(sql: Sql): Find {
  return (among) => sql`
    select distinct organization_id from webhooks
    where ordered and active and status = 'active' and deleted_at is null ${among()}`
}

/** Gives the turns that were lost with a process. Nothing is given where deliveries go on. */
async function giveAllTurns(connection: Connection, organization_id: string): Promise<number> {
  const scope: Scope = { ...connection, organization_id, actor: SYSTEM }
  await inTransaction(scope, async (scope) => {
    const ordered = await scope.sql<{ id: string }[]>`
      select id from webhooks where organization_id = ${organization_id} and ordered and deleted_at is null`
    await giveTurns(
      scope,
      ordered.map(({ id }) => id),
    )
  })
  return 0
}

function findOldDeliveries(sql: Sql, days: number): Find {
  return (among) => sql`
    select distinct organization_id from (
      select organization_id from deliveries d
      where id < ${oldestId(sql, days)} and status not in ('pending', 'retrying') and not exists (
        select 1 from outbox o where o.organization_id = d.organization_id and o.id = d.id ${among(sql`o.organization_id`)}
      ) ${among()}
      order by id limit ${LOOK}
    ) as old`
}

/** Spares a delivery that is just being sent again: its row is locked, or has its new status once the lock is free. */
async function removeDeliveries(sql: Sql, organization_id: string, days: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select id from deliveries d
      where organization_id = ${organization_id} and id < ${oldestId(sql, days)}
        and status not in ('pending', 'retrying') and not exists (
          select 1 from outbox o where o.organization_id = ${organization_id} and o.id = d.id
        )
      order by id limit ${BATCH} for update skip locked
    )
    delete from deliveries d using old where d.organization_id = ${organization_id} and d.id = old.id`
  return count
}

function findOldEvents(sql: Sql, days: number): Find {
  return (among) => sql`
    select distinct organization_id from (
      select organization_id from events e
      where id < ${oldestId(sql, days)} and not exists (
        select 1 from deliveries d
        where d.organization_id = e.organization_id and d.event_id = e.id ${among(sql`d.organization_id`)}
      ) and not exists (
        select 1 from event_places p
        where p.organization_id = e.organization_id and p.event_id = e.id ${among(sql`p.organization_id`)}
      ) ${among()}
      order by id limit ${LOOK}
    ) as old`
}

async function removeEvents(sql: Sql, organization_id: string, days: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select id from events e
      where organization_id = ${organization_id} and id < ${oldestId(sql, days)} and not exists (
        select 1 from deliveries d where d.organization_id = ${organization_id} and d.event_id = e.id
      ) and not exists (
        select 1 from event_places p where p.organization_id = ${organization_id} and p.event_id = e.id
      )
      order by id limit ${BATCH} for update skip locked
    )
    delete from events e using old where e.organization_id = ${organization_id} and e.id = old.id`
  return count
}

function findDeletedWebhooks(sql: Sql, days: number): Find {
  return (among) => sql`
    select distinct organization_id from webhooks w
    where deleted_at < now() - ${days} * interval '1 day' and not exists (
      select 1 from deliveries d
      where d.organization_id = w.organization_id and d.webhook_id = w.id ${among(sql`d.organization_id`)}
    ) ${among()}`
}

async function removeWebhooks(sql: Sql, organization_id: string, days: number): Promise<number> {
  const { count } = await sql`
    delete from webhooks w
    where organization_id = ${organization_id} and deleted_at < now() - ${days} * interval '1 day' and not exists (
      select 1 from deliveries d where d.organization_id = ${organization_id} and d.webhook_id = w.id
    )`
  return count
}

/** The lowest id of a row that is at most so many days old: ids begin with their time (UUIDv7). */
function oldestId(sql: Sql, days: number) {
  return sql`(
    rpad(lpad(to_hex((extract(epoch from now() - ${days} * interval '1 day') * 1000)::bigint), 12, '0'), 32, '0')
  )::uuid`
}
