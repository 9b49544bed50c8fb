/**
 * Keeps the deliveries of an ordered webhook in the order of their events, one at a time. Each row of the outbox comes
 * due as any other. Whoever claims one asks `isFirst`, and parks it while an earlier one is left. Each settle that
 * ends or parks one calls `giveTurns`, which makes the first due. So nothing but `isFirst` decides about the order, and
 * a turn that is given too early costs only a claim.
 *
 * A retry by hand, and a test, go out of turn: they do not ask.
 */
import type { Connection, Sql } from '../../base/db/transact'
import { inTransaction, type Scope, SYSTEM } from '../../base/scope'
import type { OutboxJob } from '../outbox/job'
import { wake } from '../outbox/wake'
import { releaseQueued } from './queue'

/** A commit takes milliseconds: one that takes longer waits for a disk or a standby. */
const LOCK_MOST_MS = 3000
/** Rows that are released at once. The others follow. */
const RELEASE_MOST = 1000

/** Turns are given in a transaction of one organization. */
type Settling = { sql: Sql; organization_id: string; after_commit?: (() => void)[] }

/**
 * Tells whether no earlier delivery of the webhook is left. Who has the lock of the organization's events alone sees
 * all whose place was chosen before (the trigger of `events`), so none with an earlier place appears later.
 * @returns undefined when commits under way do not end: it is to be asked again
 */
export async function isFirst(connection: Connection, job: OutboxJob): Promise<boolean | undefined> {
  const scope: Scope = { ...connection, organization_id: job.organization_id, actor: SYSTEM }
  return inTransaction(scope, async ({ sql, organization_id }) => {
    await sql.unsafe(`set local lock_timeout = ${LOCK_MOST_MS}`)
    await sql`select pg_advisory_xact_lock(hashtextextended(${`events of ${organization_id}`}, 0))`
    const [asked] = await sql<{ is_first: boolean }[]>`
      with own as materialized (
        select coalesce(p.place, 0) as place, coalesce(p.nth, 0) as nth from deliveries d
        left join event_places p on p.organization_id = ${organization_id} and p.event_id = d.event_id
        where d.organization_id = ${organization_id} and d.id = ${job.id}
      )
      select not exists (
        select 1 from own join outbox o on o.organization_id = ${organization_id} and o.lane_id = ${job.lane_id}
          and o.kind = 'webhook' and o.run_at = 'infinity' and o.place <= own.place
          and (o.place, o.nth, o.id) < (own.place, own.nth, ${job.id}::uuid)
      ) and not exists (
        select 1 from own join outbox o on o.organization_id = ${organization_id} and o.lane_id = ${job.lane_id}
          and o.kind = 'webhook' and (o.run_at < 'infinity' or o.place is null)
        join deliveries d on d.organization_id = ${organization_id} and d.id = o.id and d.event <> 'test.ping'
        left join event_places p on p.organization_id = ${organization_id} and p.event_id = d.event_id
        where (coalesce(p.place, 0), coalesce(p.nth, 0), o.id) < (own.place, own.nth, ${job.id}::uuid)
      ) as is_first`
    return asked!.is_first
  }).catch((error: { code?: string }) => {
    if (error.code === '55P03') return undefined
    throw error
  })
}

type Waiting = { id: string; webhook_id: string }

/** Notes the places of deliveries that were parked because earlier ones are left. */
export async function parkForTurn(settlement: Settling, rows: Waiting[]): Promise<void> {
  const { sql, organization_id } = settlement
  const ids = rows.map(({ id }) => id)
  await sql`
    with given as materialized (
      select d.id, coalesce(p.place, 0) as place, coalesce(p.nth, 0) as nth from deliveries d
      left join event_places p on p.organization_id = ${organization_id} and p.event_id = d.event_id
      where d.organization_id = ${organization_id} and d.id = any(${ids}::uuid[])
    )
    update outbox o set place = given.place, nth = given.nth from given
    where o.organization_id = ${organization_id} and o.id = given.id`
  await sql`
    update deliveries set next_attempt_at = null
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  await giveTurns(
    settlement,
    rows.map(({ webhook_id }) => webhook_id),
  )
}

/**
 * Makes the first waiting delivery of each webhook due, unless an earlier one is not over. Webhooks that are not
 * ordered, or not to be sent to, are left. It locks webhooks in the order of their ids, so that of two settles the
 * second sees what the first has written.
 */
export async function giveTurns(settlement: Settling, webhook_ids: string[]): Promise<void> {
  if (webhook_ids.length === 0) return
  const { sql, organization_id, after_commit } = settlement
  const lanes = await sql<{ id: string }[]>`
    select id from webhooks
    where organization_id = ${organization_id} and id = any(${[...new Set(webhook_ids)]}::uuid[])
      and ordered and active and status = 'active' and deleted_at is null
    order by id for no key update`
  for (const { id } of lanes) {
    const released = (await releasePlaceless(settlement, id)) + (await releaseFirst(settlement, id))
    if (released > 0) after_commit?.push(() => wake('webhook', [{ organization_id, lane_id: id }]))
  }
}

/** Rows without a place were parked for another reason. They get one when they are claimed. */
function releasePlaceless({ sql, organization_id }: Settling, webhook_id: string): Promise<number> {
  return releaseQueued(
    { sql, organization_id },
    sql`
      select id from outbox
      where organization_id = ${organization_id} and lane_id = ${webhook_id} and kind = 'webhook'
        and run_at = 'infinity' and place is null and lease_until <= now()
      limit ${RELEASE_MOST} for update skip locked`,
  )
}

function releaseFirst({ sql, organization_id }: Settling, webhook_id: string): Promise<number> {
  return releaseQueued(
    { sql, organization_id },
    sql`
      select o.id from (
        select id, place, nth from outbox
        where organization_id = ${organization_id} and lane_id = ${webhook_id} and kind = 'webhook'
          and run_at = 'infinity' and place is not null
        order by place, nth, id limit 1
      ) as head join outbox o on o.organization_id = ${organization_id} and o.id = head.id
      where o.lease_until <= now() and not exists (
        select 1 from outbox b
        join deliveries d on d.organization_id = ${organization_id} and d.id = b.id and d.event <> 'test.ping'
        left join event_places p on p.organization_id = ${organization_id} and p.event_id = d.event_id
        where b.organization_id = ${organization_id} and b.lane_id = ${webhook_id} and b.kind = 'webhook'
          and b.run_at < 'infinity'
          and (coalesce(p.place, 0), coalesce(p.nth, 0), b.id) < (head.place, head.nth, head.id)
      )
      for update of o skip locked`,
  )
}
