/**
 * Cancels, releases or parks deliveries of an organization that wait in the outbox, many at a time. `chosen` selects
 * `id` of outbox rows and locks them with `for update … skip locked`. Rows that are being settled are left out: to wait
 * for a settle could deadlock, because the settle may wait for the webhook. Their webhook is read again before the next
 * attempt.
 */
import type { Fragment, Sql } from '../../base/db/transact'

type Organization = { sql: Sql; organization_id: string }

/** Ends deliveries without another attempt. @returns how many */
export async function cancelQueued({ sql, organization_id }: Organization, chosen: Fragment): Promise<number> {
  const { count } = await sql`
    with chosen as materialized (${chosen}), removed as (
      delete from outbox o using chosen c where o.organization_id = ${organization_id} and o.id = c.id
      returning o.id
    )
    update deliveries d set status = 'cancelled', next_attempt_at = null from removed r
    where d.organization_id = ${organization_id} and d.id = r.id`
  return count
}

/** Makes deliveries due now. @returns how many */
export async function releaseQueued({ sql, organization_id }: Organization, chosen: Fragment): Promise<number> {
  const { count } = await sql`
    with chosen as materialized (${chosen}), released as (
      update outbox o set run_at = now() from chosen c where o.organization_id = ${organization_id} and o.id = c.id
      returning o.id
    )
    update deliveries d set next_attempt_at = now() from released r
    where d.organization_id = ${organization_id} and d.id = r.id`
  return count
}

/** Holds deliveries until their webhook is enabled again. */
export async function parkQueued({ sql, organization_id }: Organization, chosen: Fragment): Promise<void> {
  await sql`
    with chosen as materialized (${chosen}), parked as (
      update outbox o set run_at = 'infinity' from chosen c
      where o.organization_id = ${organization_id} and o.id = c.id
      returning o.id
    )
    update deliveries d set next_attempt_at = null from parked p
    where d.organization_id = ${organization_id} and d.id = p.id`
}
