import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import { freshBody } from './fresh-urls'
import type { Delivery, DeliveryDetail, DeliveryFilter, Webhook } from './model'
import { mayRead } from './rights'

/** Lists webhooks, the newest first. */
export function listWebhooks(scope: Scope, query: Paging): Promise<Page<Webhook>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: 'webhooks',
    sort: { keys: [{ sql: sql`id`, field: 'id' }], direction: 'desc' },
    rows: ({ slice }) => sql<Webhook[]>`
      select ${webhookFields(scope)} from webhooks
      where organization_id = ${organization_id} and deleted_at is null ${slice}`,
    count: () => sql<{ total: number }[]>`
      select count(*) as total from webhooks where organization_id = ${organization_id} and deleted_at is null`,
  })
}

/** Reads a webhook. @throws WEBHOOK_NOT_FOUND */
export function getWebhook(scope: Scope, id: string): Promise<Webhook> {
  return readWebhook(scope, id, scope.sql``)
}

/** Reads a webhook and locks it against changes until the transaction ends. Deliveries may still be inserted for it. */
export function lockWebhook(scope: Scope, id: string): Promise<Webhook> {
  return readWebhook(scope, id, scope.sql`for no key update`)
}

/** Lists the deliveries of a webhook, the newest first. @throws WEBHOOK_NOT_FOUND */
export function listDeliveries(scope: Scope, webhook_id: string, filter: DeliveryFilter): Promise<Page<Delivery>> {
  const { sql, organization_id } = scope
  const { status, event } = filter
  const matching = sql`
    from deliveries d
    where organization_id = ${organization_id} and webhook_id = ${webhook_id}
      ${status ? sql`and status = ${status}` : sql``} ${event ? sql`and event = ${event}` : sql``}`
  return page(scope, filter, {
    name: `deliveries of ${webhook_id}`,
    sort: { keys: [{ sql: sql`id`, field: 'id' }], direction: 'desc' },
    rows: ({ slice }) => sql<Delivery[]>`select ${deliveryFields(scope)} ${matching} ${slice}`,
    count: () => sql<{ total: number }[]>`select count(*) as total ${matching}`,
    parent: () => getWebhook(scope, webhook_id),
  })
}

/** Reads a delivery. @throws WEBHOOK_NOT_FOUND, DELIVERY_NOT_FOUND */
export async function getDelivery(scope: Scope, webhook_id: string, id: string): Promise<Delivery> {
  const { sql, organization_id } = scope
  const [[delivery]] = await Promise.all([
    sql<Delivery[]>`
      select ${deliveryFields(scope)} from deliveries d
      where organization_id = ${organization_id} and webhook_id = ${webhook_id} and id = ${id}`,
    getWebhook(scope, webhook_id),
  ])
  if (!delivery) throw new ApiError('DELIVERY_NOT_FOUND')
  return delivery
}

/**
 * Reads a delivery with its request and all its attempts. Who may not read its event gets neither the request nor what
 * the receiver answered, which may repeat it.
 * @throws WEBHOOK_NOT_FOUND, DELIVERY_NOT_FOUND
 */
export async function getDeliveryDetail(scope: Scope, webhook_id: string, id: string): Promise<DeliveryDetail> {
  const { sql, organization_id } = scope
  const [[delivery], attempt_log] = await Promise.all([
    sql<Omit<DeliveryDetail, 'attempt_log' | 'response_head'>[]>`
      select ${deliveryFields(scope)}, e.body as request_body
      from deliveries d join events e on e.organization_id = ${organization_id} and e.id = d.event_id
      where d.organization_id = ${organization_id} and d.webhook_id = ${webhook_id} and d.id = ${id}`,
    sql<DeliveryDetail['attempt_log']>`
      select attempt, started_at, response_code, response_time_ms, error, response_head from delivery_attempts
      where organization_id = ${organization_id} and delivery_id = ${id} order by attempt`,
    getWebhook(scope, webhook_id),
  ])
  if (!delivery) throw new ApiError('DELIVERY_NOT_FOUND')
  const may_read = mayRead(scope, delivery.event)
  const shown = attempt_log.map((attempt) => (may_read ? attempt : { ...attempt, response_head: null }))
  const request_body =
    may_read && delivery.request_body !== null ? freshBody(organization_id, delivery.request_body) : null
  return { ...delivery, request_body, response_head: shown.at(-1)?.response_head ?? null, attempt_log: shown }
}

async function readWebhook(scope: Scope, id: string, lock: Fragment): Promise<Webhook> {
  const { sql, organization_id } = scope
  const [webhook] = await sql<Webhook[]>`
    select ${webhookFields(scope)} from webhooks
    where organization_id = ${organization_id} and id = ${id} and deleted_at is null ${lock}`
  if (!webhook) throw new ApiError('WEBHOOK_NOT_FOUND')
  return webhook
}

function webhookFields({ sql }: Scope) {
  return sql`
    id, url, events, active, status, secret is not null as has_secret, failure_count, filter, ordered,
    created_at, updated_at`
}

function deliveryFields({ sql }: Scope) {
  return sql`
    d.id, d.event_id, d.event, d.status, d.response_code, d.response_time_ms, d.attempts, d.next_attempt_at,
    d.error, d.created_at`
}
