/**
 * Records outcomes of attempts of one organization, many at a time, in the transaction that removes or reschedules
 * their outbox rows.
 */
import { hasFewRows } from '../../base/db/few-rows'
import { insertRows } from '../../base/db/insert-rows'
import type { Settlement } from '../outbox/job'
import { noteFailures } from './failure'
import { giveTurns } from './in-turn'
import { cancelQueued, parkQueued } from './queue'

type AttemptRecord = {
  id: string
  webhook_id: string
  status: 'success' | 'retrying' | 'failed'
  response_code: number | null
  response_time_ms: number
  error: string | null
  response_head: string | null
  /** Seconds until the next attempt; null when there is none. */
  delay_s: number | null
  /** A success after failures: the webhook's count of failures ends. */
  heals: boolean
  /** The last attempt failed, so the webhook becomes failed. */
  exhausts: boolean
  /** The next delivery of an ordered webhook may go. */
  gives_turn: boolean
}

/** Outbox rows that are parked at once when webhooks fail. The others are parked when they come due. */
const PARK_MOST = 1000

/** Writes attempts with their answers, and what they mean for deliveries and webhooks. */
export async function recordAttempts(settlement: Settlement, rows: AttemptRecord[]): Promise<void> {
  const { sql, organization_id } = settlement
  const given = rows.map(({ id, status, response_code, response_time_ms, error, delay_s }, place) => {
    return { place, id, status, response_code, response_time_ms, error, next_s: timeAfter(settlement, delay_s) }
  })
  const updated = await sql<{ id: string; attempts: number }[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(given)}::text::json) as x (
        place integer, id uuid, status text, response_code integer, response_time_ms integer, error text, next_s float8
      )
      where ${hasFewRows(sql)}
    )
    update deliveries d
    set status = given.status, attempts = d.attempts + 1, response_code = given.response_code,
      response_time_ms = given.response_time_ms, error = given.error, next_attempt_at = to_timestamp(given.next_s)
    from given where d.organization_id = ${organization_id} and d.id = given.id
    returning d.id, d.attempts`
  const attempt_of = new Map(updated.map(({ id, attempts }) => [id, attempts]))
  const recorded = rows.filter(({ id }) => attempt_of.has(id))
  await insertAttempts(
    settlement,
    recorded.map((row) => ({ ...row, attempt: attempt_of.get(row.id)! })),
  )
  const changing = rows.filter((row) => row.heals || row.exhausts)
  const giving = rows.filter((row) => row.gives_turn)
  if (giving.length > 0) await lockWebhooks(settlement, [...changing, ...giving])
  if (changing.length > 0) await updateWebhooks(settlement, changing)
  await giveTurns(
    settlement,
    giving.map(({ webhook_id }) => webhook_id),
  )
  const retrying = rows.filter((row) => row.status === 'retrying')
  if (retrying.length > 0) await cancelRetrying(settlement, retrying)
}

type NumberedAttempt = Pick<AttemptRecord, 'id' | 'response_code' | 'response_time_ms' | 'error' | 'response_head'> & {
  attempt: number
}

async function insertAttempts({ sql, organization_id }: Settlement, rows: NumberedAttempt[]): Promise<void> {
  const attempts = rows.map(({ id, attempt, response_code, response_time_ms, error, response_head }) => {
    const started_at = sql`now() - ${response_time_ms} * interval '1 millisecond'`
    return {
      ...{ organization_id, delivery_id: id, attempt, started_at },
      ...{ response_code, response_time_ms, error, response_head },
    }
  })
  // The failure of a node keeps its code only this way, which tells if the outcome can be recorded later.
  await insertRows(sql, 'delivery_attempts', attempts)
}

/** The database's time in seconds, so long after the beginning of the transaction. */
function timeAfter({ now_s }: Settlement, delay_s: number | null): number | null {
  return delay_s === null || now_s === null ? null : now_s + delay_s
}

/** Cancels deliveries whose webhook was switched off or deleted during the attempt. */
async function cancelRetrying(settlement: Settlement, rows: { id: string }[]): Promise<void> {
  const { sql, organization_id } = settlement
  const ids = rows.map(({ id }) => id)
  await cancelQueued(
    settlement,
    sql`
      select o.id from outbox o join webhooks w on w.organization_id = ${organization_id} and w.id = o.lane_id
      where o.organization_id = ${organization_id} and o.id = any(${ids}::uuid[])
        and (not w.active or w.deleted_at is not null)
      for update of o skip locked`,
  )
}

/** Locks webhooks in the order of their ids, before anything locks some of them. */
async function lockWebhooks({ sql, organization_id }: Settlement, rows: { webhook_id: string }[]): Promise<void> {
  const ids = [...new Set(rows.map(({ webhook_id }) => webhook_id))]
  await sql`
    select 1 from webhooks where organization_id = ${organization_id} and id = any(${ids}::uuid[])
    order by id for no key update`
}

type WebhookChange = Pick<AttemptRecord, 'id' | 'webhook_id' | 'heals' | 'error' | 'response_code'>

/** Updates counts and status of webhooks. Locks them in the order of their ids, so that two settles never deadlock. */
async function updateWebhooks(settlement: Settlement, rows: WebhookChange[]): Promise<void> {
  const { sql, organization_id } = settlement
  const ids = rows.map(({ id, webhook_id, heals }) => ({ id: webhook_id, delivery_id: id, heals }))
  const updated = await sql<{ id: string; url: string; is_failed: boolean; is_new: boolean }[]>`
    with given as materialized (
      select id, bool_or(heals) as heals, count(*) filter (where not heals)::integer as failures,
        (array_agg(delivery_id order by delivery_id) filter (where not heals))[1] as failed_delivery_id
      from json_to_recordset(${JSON.stringify(ids)}::text::json) as x (id uuid, delivery_id uuid, heals boolean)
      group by id
    ), locked as materialized (
      select w.id, w.status as was from webhooks w join given using (id)
      where w.organization_id = ${organization_id} order by w.id for no key update of w
    )
    update webhooks w
    set failure_count = case when heals then 0 else failure_count end + failures,
      status = case when failures > 0 then 'failed' else status end,
      failed_delivery_id = case when failures > 0 and locked.was <> 'failed' then given.failed_delivery_id
        else w.failed_delivery_id end
    from given join locked using (id)
    where w.organization_id = ${organization_id} and w.id = given.id
    returning w.id, w.url, failures > 0 as is_failed, failures > 0 and locked.was <> 'failed' as is_new`
  const failed = updated.filter(({ is_failed }) => is_failed).map(({ id }) => id)
  if (failed.length === 0) return
  await sql`
    update webhooks set updated_at = now() where organization_id = ${organization_id} and id = any(${failed}::uuid[])`
  await parkLanes(settlement, failed)
  const newly = updated
    .filter(({ is_new }) => is_new)
    .map(({ id, url }) => {
      const { error, response_code } = rows.find(({ webhook_id, heals }) => webhook_id === id && !heals)!
      return { id, url, error, response_code }
    })
  await noteFailures(settlement, newly)
}

/** Parks what webhooks that have just failed still have to send. */
async function parkLanes(settlement: Settlement, webhook_ids: string[]): Promise<void> {
  const { sql, organization_id } = settlement
  await parkQueued(
    settlement,
    sql`
      select id from outbox
      where organization_id = ${organization_id} and lane_id = any(${webhook_ids}::uuid[]) and kind = 'webhook'
        and run_at < 'infinity' and lease_until <= now()
      limit ${PARK_MOST} for update skip locked`,
  )
}

type Rescheduled = { id: string; delay_s: number | null }

/** Shows when deliveries are tried again; null while they are parked. */
export async function rescheduleDeliveries(settlement: Settlement, rows: Rescheduled[]): Promise<void> {
  const { sql, organization_id } = settlement
  const given = rows.map(({ id, delay_s }) => ({ id, next_s: timeAfter(settlement, delay_s) }))
  await sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(given)}::text::json) as x (id uuid, next_s float8)
    )
    update deliveries d set next_attempt_at = to_timestamp(given.next_s) from given
    where d.organization_id = ${organization_id} and d.id = given.id`
}

/** Cancels deliveries whose webhook was switched off or deleted. */
export async function cancelDeliveries(settlement: Settlement, ids: string[]): Promise<void> {
  await finish(settlement, ids, 'cancelled', null)
}

/**
 * Fails deliveries that the service cannot send by its own fault. An ordered webhook fails with its delivery, because
 * the next one must not overtake it.
 */
export async function failDeliveries(settlement: Settlement, ids: string[]): Promise<void> {
  const { sql, organization_id } = settlement
  await finish(settlement, ids, 'failed', 'internal')
  const ordered = await sql<{ id: string; webhook_id: string }[]>`
    select d.id, d.webhook_id from deliveries d
    join webhooks w on w.organization_id = ${organization_id} and w.id = d.webhook_id and w.ordered
    where d.organization_id = ${organization_id} and d.id = any(${ids}::uuid[]) and d.event <> 'test.ping'`
  if (ordered.length === 0) return
  const fault = { heals: false, error: 'internal', response_code: null }
  await updateWebhooks(
    settlement,
    ordered.map((row) => ({ ...row, ...fault })),
  )
}

async function finish({ sql, organization_id }: Settlement, ids: string[], status: string, error: string | null) {
  await sql`
    update deliveries set status = ${status}, error = coalesce(${error}, error), next_attempt_at = null
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
}
