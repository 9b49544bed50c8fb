/** Names the webhooks that failed, that fail now, or whose receivers are slow. */
import type { Connection } from '../../base/db/transact'
import { topFigures } from '../../base/metrics/top'
import { bareHost } from '../../base/net/destination'
import { counted, type Finding, firstOf, warning } from './finding'

/** Webhooks that are named for each reason. */
const TOP = 5
const SLOW_MS = 3000
/** Fewer deliveries say little. */
const LEAST_DELIVERIES = 5

type Held = { organization_id: string; id: string; url: string; held: number; total: number }

const SEE =
  'Look at GET /webhooks/:id/deliveries as an admin of the organization, and ask the operator of the receiver.'

/** Looks at failed webhooks, and at the deliveries of the last hour. */
export async function checkWebhooks(connection: Connection): Promise<Finding[]> {
  const [held, { slowest_webhooks, failing_webhooks }] = await Promise.all([
    readHeld(connection),
    topFigures(connection, TOP),
  ])
  const slow = slowest_webhooks.filter((one) => one.mean_ms >= SLOW_MS && one.deliveries >= LEAST_DELIVERIES)
  const is_held = new Set(held.map(({ id }) => id))
  const failing = failing_webhooks.filter((one) => one.failed * 2 >= one.deliveries && !is_held.has(one.webhook_id))
  const findings = held.length > 0 ? [heldFinding(held)] : []
  if (slow.length > 0) {
    const names = slow.map((one) => `${one.webhook_id} (${one.host}): ${one.mean_ms} ms on average`)
    findings.push(warning(`Receivers answer slowly: ${firstOf(names)}`, SEE, { webhooks: slow }))
  }
  if (failing.length > 0) {
    const names = failing.map(
      (one) => `${one.webhook_id} (${one.host}): ${one.failed} of ${one.deliveries}, mostly by ${one.error}`,
    )
    const message = `Deliveries of the last hour fail, and are tried again: ${firstOf(names)}`
    findings.push(warning(message, SEE, { webhooks: failing }))
  }
  return findings
}

function heldFinding(held: Held[]): Finding {
  const webhooks = held.map(({ organization_id, id, url, held }) => {
    // The rest of the address may hold a token.
    const host = bareHost(new URL(url).hostname)
    return { organization_id, webhook_id: id, host, held }
  })
  const names = webhooks.map((one) => `${one.webhook_id} (${one.host}): ${one.held} held`)
  return warning(
    `${counted(held[0]!.total, 'failed webhook')}: nothing is sent to them, and what is held is cancelled after DELIVERY_HOLD_DAYS (${firstOf(names)})`,
    'When the receiver works again, enable the webhook: PATCH /webhooks/:id with {"active": true}.',
    { webhooks },
  )
}

function readHeld({ sql }: Connection): Promise<Held[]> {
  return sql<Held[]>`
    select w.organization_id, w.id, w.url, count(*) over () as total, (
      select count(*) from outbox o where o.lane_id = w.id and o.kind = 'webhook' and o.organization_id = w.organization_id
    ) as held
    from webhooks w where w.status = 'failed' and w.deleted_at is null
    order by held desc, w.id limit ${TOP}`
}
