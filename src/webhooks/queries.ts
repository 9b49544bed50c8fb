import { ApiError } from '../errors'
import type { Scope } from '../scope'
import type { PageMeta } from '../shapes/answers'
import { type Paging, pageOf } from '../shapes/query'
import type { Delivery, DeliveryDetail, DeliveryFilter, Webhook } from './model'

/** Newest first. */
export async function listWebhooks(scope: Scope, query: Paging): Promise<{ data: Webhook[]; meta: PageMeta }> {
  const { sql, organization_id } = scope
  const { page, per_page, offset } = pageOf(query)
  const [data, [count]] = await Promise.all([
    sql<Webhook[]>`
      select ${webhookFields(scope)} from webhooks
      where organization_id = ${organization_id} and deleted_at is null
      order by id desc limit ${per_page} offset ${offset}`,
    sql<{ total: number }[]>`
      select count(*) as total from webhooks where organization_id = ${organization_id} and deleted_at is null`,
  ])
  return { data, meta: { total: count!.total, page, per_page } }
}

/** @throws WEBHOOK_NOT_FOUND */
export function getWebhook(scope: Scope, id: string): Promise<Webhook> {
  return readWebhook(scope, id, scope.sql``)
}

/** As `getWebhook`; nobody else changes it until the transaction ends, while events may still be written for it. */
export function lockWebhook(scope: Scope, id: string): Promise<Webhook> {
  return readWebhook(scope, id, scope.sql`for no key update`)
}

/** Newest first. @throws WEBHOOK_NOT_FOUND */
export async function listDeliveries(
  scope: Scope,
  webhook_id: string,
  query: DeliveryFilter,
): Promise<{ data: Delivery[]; meta: PageMeta }> {
  const { sql, organization_id } = scope
  const { page, per_page, offset } = pageOf(query)
  const { status, event } = query
  const wanted = () => sql`
    from deliveries d
    where organization_id = ${organization_id} and webhook_id = ${webhook_id}
      ${status ? sql`and status = ${status}` : sql``} ${event ? sql`and event = ${event}` : sql``}`
  const [data, [count]] = await Promise.all([
    sql<Delivery[]>`
      select ${deliveryFields(scope)} ${wanted()} order by id desc limit ${per_page} offset ${offset}`,
    sql<{ total: number }[]>`select count(*) as total ${wanted()}`,
    getWebhook(scope, webhook_id),
  ])
  return { data, meta: { total: count!.total, page, per_page } }
}

/** @throws WEBHOOK_NOT_FOUND, DELIVERY_NOT_FOUND */
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

/** @throws WEBHOOK_NOT_FOUND, DELIVERY_NOT_FOUND */
export async function getDeliveryDetail(scope: Scope, webhook_id: string, id: string): Promise<DeliveryDetail> {
  const { sql, organization_id } = scope
  const [[delivery], attempt_log] = await Promise.all([
    sql<Omit<DeliveryDetail, 'attempt_log' | 'response_head'>[]>`
      select ${deliveryFields(scope)}, e.body as request_body
      from deliveries d join events e on e.organization_id = d.organization_id and e.id = d.event_id
      where d.organization_id = ${organization_id} and d.webhook_id = ${webhook_id} and d.id = ${id}`,
    sql<DeliveryDetail['attempt_log']>`
      select attempt, started_at, response_code, response_time_ms, error, response_head from delivery_attempts
      where organization_id = ${organization_id} and delivery_id = ${id} order by attempt`,
    getWebhook(scope, webhook_id),
  ])
  if (!delivery) throw new ApiError('DELIVERY_NOT_FOUND')
  return { ...delivery, response_head: attempt_log.at(-1)?.response_head ?? null, attempt_log: [...attempt_log] }
}

async function readWebhook(scope: Scope, id: string, lock: ReturnType<Scope['sql']>): Promise<Webhook> {
  const { sql, organization_id } = scope
  const [webhook] = await sql<Webhook[]>`
    select ${webhookFields(scope)} from webhooks
    where organization_id = ${organization_id} and id = ${id} and deleted_at is null ${lock}`
  if (!webhook) throw new ApiError('WEBHOOK_NOT_FOUND')
  return webhook
}

function webhookFields({ sql }: Scope) {
  return sql`
    id, url, events, active, status, secret is not null as has_secret, failure_count, created_at, updated_at`
}

function deliveryFields({ sql }: Scope) {
  return sql`
    d.id, d.event, d.status, d.response_code, d.response_time_ms, d.attempts, d.next_attempt_at, d.error, d.created_at`
}
