/** Names the webhooks that fail, hold deliveries, or are slow. */
import type { Connection } from '../db/transact'
import { counted, type Finding, firstOf, warning } from './finding'

/** Webhooks that are named for each reason. */
const TOP = 5
const LATE_S = 60
/** Newest deliveries whose times of answer are looked at. */
const LOOKED_AT = 5000
const SLOW_MS = 3000
/** Fewer attempts say little. */
const LEAST_ATTEMPTS = 5

type Webhook = { organization_id: string; id: string; url: string }
type Held = Webhook & { held: number; total: number }
type Late = Webhook & { due: number; oldest_s: number }
type Slow = Webhook & { mean_ms: number; attempts: number }
type Failing = Webhook & { failing: number }

const SEE = 'Look at GET /webhooks/:id/deliveries as an admin of the organization, and ask who runs the receiver.'

/** Looks at failed webhooks, at those that are behind, at slow receivers, and at those that fail now. */
export async function checkWebhooks(connection: Connection): Promise<Finding[]> {
  const [held, late, slow, failing] = await Promise.all([
    readHeld(connection),
    readLate(connection),
    readSlow(connection),
    readFailing(connection),
  ])
  const findings: Finding[] = []
  if (held.length > 0) {
    const names = held.map((one) => `${nameOf(one)}: ${one.held} held`)
    const message = `${counted(held[0]!.total, 'failed webhook')}: nothing is sent to them, and what is held is cancelled after DELIVERY_HOLD_DAYS (${firstOf(names)})`
    const action = 'When the receiver works again, enable the webhook: PATCH /webhooks/:id with {"active": true}.'
    findings.push(warning(message, action, { webhooks: held.map(withHost) }))
  }
  if (late.length > 0) {
    const names = late.map((one) => `${nameOf(one)}: ${one.due} due, the oldest for ${one.oldest_s} s`)
    findings.push(warning(`Deliveries are late for ${firstOf(names)}`, SEE, { webhooks: late.map(withHost) }))
  }
  if (slow.length > 0) {
    const names = slow.map((one) => `${nameOf(one)}: ${one.mean_ms} ms on average`)
    findings.push(warning(`Receivers answer slowly: ${firstOf(names)}`, SEE, { webhooks: slow.map(withHost) }))
  }
  if (failing.length > 0) {
    const names = failing.map((one) => `${nameOf(one)}: ${counted(one.failing, 'delivery')}`)
    findings.push(
      warning(`Deliveries fail and are tried again: ${firstOf(names)}`, SEE, { webhooks: failing.map(withHost) }),
    )
  }
  return findings
}

/** The address of a webhook may hold a token in its path. */
function hostOf({ url }: Webhook): string {
  return URL.canParse(url) ? new URL(url).host : 'no host'
}

function nameOf(webhook: Webhook): string {
  return `${webhook.id} (${hostOf(webhook)})`
}

function withHost<Row extends Webhook>({ url, ...row }: Row) {
  return { ...row, host: hostOf({ url } as Webhook) }
}

function readHeld({ sql }: Connection): Promise<Held[]> {
  return sql<Held[]>`
    select w.organization_id, w.id, w.url, count(*) over () as total, (
      select count(*) from outbox o where o.lane_id = w.id and o.kind = 'webhook' and o.organization_id = w.organization_id
    ) as held
    from webhooks w where w.status = 'failed' and w.deleted_at is null
    order by held desc, w.id limit ${TOP}`
}

function readLate({ sql }: Connection): Promise<Late[]> {
  return sql<Late[]>`
    with late as (
      select organization_id, lane_id, count(*) as due,
        round(extract(epoch from now() - min(run_at)))::float8 as oldest_s
      from outbox where kind = 'webhook' and run_at <= now()
      group by organization_id, lane_id
      having min(run_at) < now() - make_interval(secs => ${LATE_S})
      order by min(run_at) limit ${TOP}
    )
    select w.organization_id, w.id, w.url, late.due, late.oldest_s
    from late join webhooks w on w.organization_id = late.organization_id and w.id = late.lane_id
    order by late.oldest_s desc`
}

function readSlow({ sql }: Connection): Promise<Slow[]> {
  return sql<Slow[]>`
    with newest as (
      select organization_id, webhook_id, response_time_ms from deliveries order by id desc limit ${LOOKED_AT}
    ), slow as (
      select organization_id, webhook_id, round(avg(response_time_ms))::int as mean_ms, count(response_time_ms) as attempts
      from newest group by organization_id, webhook_id
      having avg(response_time_ms) >= ${SLOW_MS} and count(response_time_ms) >= ${LEAST_ATTEMPTS}
      order by mean_ms desc limit ${TOP}
    )
    select w.organization_id, w.id, w.url, slow.mean_ms, slow.attempts
    from slow join webhooks w on w.organization_id = slow.organization_id and w.id = slow.webhook_id
    where w.deleted_at is null order by mean_ms desc`
}

function readFailing({ sql }: Connection): Promise<Failing[]> {
  return sql<Failing[]>`
    with failing as (
      select organization_id, lane_id, count(*) as failing from outbox
      where kind = 'webhook' and attempts > 0 and run_at < 'infinity'
      group by organization_id, lane_id order by failing desc limit ${TOP}
    )
    select w.organization_id, w.id, w.url, failing.failing
    from failing join webhooks w on w.organization_id = failing.organization_id and w.id = failing.lane_id
    where w.status = 'active' order by failing.failing desc`
}
