/** Counts, retries and frees work of the outbox, for operators. */

import { readOfAll } from '../../base/db/all-organizations'
import { OUTBOX_KINDS } from '../../base/db/schema'
import { sweep } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import type { OutboxKind } from './job'

export type OutboxStats = {
  kind: OutboxKind
  /** Due and not leased. */
  due: number
  leased: number
  /** Waiting for a later attempt. */
  scheduled: number
  /** Held until somebody sets them free: their webhook is failed, or they were given up. */
  parked: number
  /** Seconds since the oldest due row came due; null when no row is due. */
  oldest_due_s: number | null
  /** Seconds since the oldest row was queued, due or not; null when there is none. */
  oldest_queued_s: number | null
}

/** Counts the work that is left, by kind. Reads the outbox only, which has no finished work. */
export async function outboxStats({ sql }: Connection): Promise<OutboxStats[]> {
  const counted = await readOfAll(
    sql,
    (among) => sql<OutboxStats[]>`
      select kind,
        count(*) filter (where run_at <= now() and lease_until <= now()) as due,
        count(*) filter (where lease_until > now()) as leased,
        count(*) filter (where run_at > now() and run_at < 'infinity') as scheduled,
        count(*) filter (where run_at = 'infinity') as parked,
        round(extract(epoch from now() - min(run_at) filter (where run_at <= now())))::float8 as oldest_due_s,
        round(extract(epoch from now() - min(queued_at)))::float8 as oldest_queued_s
      from outbox where true ${among()} group by kind`,
  )
  return OUTBOX_KINDS.toSorted().map((kind) => {
    return counted.filter((stats) => stats.kind === kind).reduce(added, { kind, ...NOTHING })
  })
}

const NOTHING = { due: 0, leased: 0, scheduled: 0, parked: 0, oldest_due_s: null, oldest_queued_s: null }

/** Adds figures of another node. */
function added(sum: OutboxStats, one: OutboxStats): OutboxStats {
  const { due, leased, scheduled, parked, oldest_due_s, oldest_queued_s } = one
  const older = (age_s: number | null, other_s: number | null) =>
    age_s === null ? other_s : Math.max(age_s, other_s ?? 0)
  return {
    kind: sum.kind,
    due: sum.due + due,
    leased: sum.leased + leased,
    scheduled: sum.scheduled + scheduled,
    parked: sum.parked + parked,
    oldest_due_s: older(sum.oldest_due_s, oldest_due_s),
    oldest_queued_s: older(sum.oldest_queued_s, oldest_queued_s),
  }
}

/**
 * Makes all waiting work of an organization due now, except deliveries of failed webhooks (enable the webhook instead).
 * A running service begins it within a second.
 * @returns how many rows became due
 */
export async function retryOutbox({ sql }: Connection, organization_id: string): Promise<number> {
  await sql`delete from lane_faults where organization_id = ${organization_id}`
  const { count } = await sql`
    update outbox o set run_at = now(), claims = attempts
    where o.organization_id = ${organization_id} and lease_until <= now() and run_at > now()
      and not exists (
        select 1 from webhooks w
        where w.organization_id = ${organization_id} and w.id = o.lane_id and w.status = 'failed'
      )`
  return count
}

/**
 * Ends every lease. Only for a process that has the database to itself, before it begins to work: all holders of leases
 * are dead then, and their work need not wait until the leases run out.
 */
export async function endAllLeases(connection: Connection): Promise<void> {
  const held = { table: 'outbox', is_old: connection.sql`t.lease_token is not null` }
  await sweep(connection, held, async ({ sql, organization_id }, old) => {
    const { count } = await sql`
      with old as materialized (${old})
      update outbox o set lease_until = '-infinity', lease_token = null from old
      where o.organization_id = ${organization_id} and o.id = old.id`
    return count
  })
}
