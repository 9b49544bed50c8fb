/** Records outcomes of attempts, many at a time, in the transaction that removes or reschedules their outbox rows. */
import { hasFewRows } from '../db/few-rows'
import type { Connection, Sql } from '../db/transact'
import { cancelQueued, parkQueued } from './queue'

type DeliveryKey = { organization_id: string; id: string }

type AttemptRecord = DeliveryKey & {
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
}

/** Outbox rows that are parked at once when webhooks fail. The others are parked when they come due. */
const PARK_MOST = 1000

/** Writes attempts with their answers, and what they mean for deliveries and webhooks. */
export async function recordAttempts({ sql }: Connection, rows: AttemptRecord[]): Promise<void> {
  await sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows.map((row, place) => ({ ...row, place })))}::text::json) as x (
        place integer, organization_id uuid, id uuid, status text, response_code integer, response_time_ms integer,
        error text, response_head text, delay_s float8
      )
      where ${hasFewRows(sql)}
    ), updated as (
      update deliveries d
      set status = given.status, attempts = d.attempts + 1, response_code = given.response_code,
        response_time_ms = given.response_time_ms, error = given.error,
        next_attempt_at = now() + given.delay_s * interval '1 second'
      from given where d.organization_id = given.organization_id and d.id = given.id
      returning d.organization_id, d.id, d.attempts
    )
    insert into delivery_attempts
      (organization_id, delivery_id, attempt, started_at, response_code, response_time_ms, error, response_head)
    select organization_id, id, updated.attempts, now() - given.response_time_ms * interval '1 millisecond',
      given.response_code, given.response_time_ms, given.error, given.response_head
    from updated join given using (organization_id, id)`
  const changing = rows.filter((row) => row.heals || row.exhausts)
  if (changing.length > 0) await updateWebhooks(sql, changing)
  const retrying = rows.filter((row) => row.status === 'retrying')
  if (retrying.length > 0) await cancelRetrying(sql, retrying)
}

/** Cancels deliveries whose webhook was switched off or deleted during the attempt. */
async function cancelRetrying(sql: Sql, rows: DeliveryKey[]): Promise<void> {
  const keys = rows.map(({ organization_id, id }) => ({ organization_id, id }))
  await cancelQueued(
    sql,
    sql`
      select o.organization_id, o.id
      from json_to_recordset(${JSON.stringify(keys)}::text::json) as x (organization_id uuid, id uuid)
      join outbox o on o.organization_id = x.organization_id and o.id = x.id
      join webhooks w on w.organization_id = o.organization_id and w.id = o.lane_id
      where not w.active or w.deleted_at is not null
      for update of o skip locked`,
  )
}

/** Updates counts and status of webhooks. Locks them in the order of their ids, so that two settles never deadlock. */
async function updateWebhooks(sql: Sql, rows: AttemptRecord[]): Promise<void> {
  const ids = rows.map(({ organization_id, webhook_id, heals }) => ({ organization_id, id: webhook_id, heals }))
  const updated = await sql<{ organization_id: string; id: string; is_failed: boolean }[]>`
    with given as materialized (
      select organization_id, id, bool_or(heals) as heals, count(*) filter (where not heals)::integer as failures
      from json_to_recordset(${JSON.stringify(ids)}::text::json) as x (organization_id uuid, id uuid, heals boolean)
      group by organization_id, id
    ), locked as materialized (
      select w.organization_id, w.id from webhooks w join given using (organization_id, id)
      order by w.organization_id, w.id for no key update of w
    )
    update webhooks w
    set failure_count = case when heals then 0 else failure_count end + failures,
      status = case when failures > 0 then 'failed' else status end,
      updated_at = case when failures > 0 then now() else updated_at end
    from given join locked using (organization_id, id)
    where w.organization_id = given.organization_id and w.id = given.id
    returning w.organization_id, w.id, failures > 0 as is_failed`
  const failed = updated.filter(({ is_failed }) => is_failed)
  if (failed.length > 0) await parkLanes(sql, failed)
}

/** Parks what webhooks that have just failed still have to send. */
async function parkLanes(sql: Sql, webhooks: { organization_id: string; id: string }[]): Promise<void> {
  await parkQueued(
    sql,
    sql`
      select organization_id, id from outbox
      where lane_id = any(${webhooks.map((webhook) => webhook.id)}::uuid[]) and kind = 'webhook'
        and organization_id = any(${webhooks.map((webhook) => webhook.organization_id)}::uuid[])
        and run_at < 'infinity' and lease_until <= now()
      limit ${PARK_MOST} for update skip locked`,
  )
}

/** Shows when deliveries are tried again; null while they are parked. */
export async function rescheduleDeliveries(
  { sql }: Connection,
  rows: (DeliveryKey & { delay_s: number | null })[],
): Promise<void> {
  await sql`
    update deliveries d set next_attempt_at = now() + x.delay_s * interval '1 second'
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (organization_id uuid, id uuid, delay_s float8)
    where d.organization_id = x.organization_id and d.id = x.id`
}

/** Cancels deliveries whose webhook was switched off or deleted. */
export async function cancelDeliveries({ sql }: Connection, rows: DeliveryKey[]): Promise<void> {
  await finish(sql, rows, 'cancelled', null)
}

/** Fails deliveries that the service cannot send by its own fault. */
export async function failDeliveries({ sql }: Connection, rows: DeliveryKey[]): Promise<void> {
  await finish(sql, rows, 'failed', 'internal')
}

async function finish(sql: Sql, rows: DeliveryKey[], status: string, error: string | null): Promise<void> {
  await sql`
    update deliveries d set status = ${status}, error = coalesce(${error}, d.error), next_attempt_at = null
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (organization_id uuid, id uuid)
    where d.organization_id = x.organization_id and d.id = x.id`
}
