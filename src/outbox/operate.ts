/** What operators see of the outbox, and what they may do with it. */

import { OUTBOX_KINDS } from '../db/schema'
import type { Connection } from '../db/transact'
import type { OutboxKind } from './wake'

export type OutboxStats = {
  kind: OutboxKind
  /** Due and not leased. */
  due: number
  leased: number
  /** Waiting for a later attempt. */
  scheduled: number
  /** Held until somebody sets them free: of failed webhooks, or given up. */
  parked: number
  /** Seconds since the oldest due row came due; null when none is. */
  oldest_due_s: number | null
}

/** Work that is left, by kind. Counts the small hot table only. */
export async function outboxStats({ sql }: Connection): Promise<OutboxStats[]> {
  return sql<OutboxStats[]>`
    select kind,
      count(*) filter (where run_at <= now() and lease_until <= now()) as due,
      count(*) filter (where lease_until > now()) as leased,
      count(*) filter (where run_at > now() and run_at < 'infinity') as scheduled,
      count(*) filter (where run_at = 'infinity') as parked,
      round(extract(epoch from now() - min(run_at) filter (where run_at <= now())))::float8 as oldest_due_s
    from unnest(${[...OUTBOX_KINDS]}::text[]) as kind
    left join outbox using (kind)
    group by kind order by kind`
}

/**
 * Makes everything that an organization has waiting due now, but what waits for a failed webhook (enable that instead).
 * Who works it off sees it within a second.
 * @returns how many rows
 */
export async function retryOutbox({ sql }: Connection, organization_id: string): Promise<number> {
  const { count } = await sql`
    update outbox o set run_at = now(), claims = attempts
    where organization_id = ${organization_id} and lease_until <= now() and run_at > now()
      and not exists (
        select from webhooks w
        where w.organization_id = o.organization_id and w.id = o.lane_id and w.status = 'failed'
      )`
  return count
}

/**
 * Ends every lease. Only for the one process that can be using this database, before it begins to work: whoever held
 * a lease is dead then, and its work need not wait for the lease to run out.
 */
export async function endAllLeases({ sql }: Connection): Promise<void> {
  await sql`update outbox set lease_until = '-infinity', lease_token = null where lease_token is not null`
}
