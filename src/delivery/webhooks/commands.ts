import { auditChanges } from '../../base/audit/audit'
import { changesOf, masked } from '../../base/audit/changes-of'
import { newId } from '../../base/db/columns'
import { afterCommit, inTransaction, type Scope } from '../../base/scope'
import { currentTraceparent } from '../../base/tracing/trace'
import { wake } from '../outbox/wake'
import { requireKnown, storedFilter } from './event-filter'
import type { NewWebhook, Webhook, WebhookChanges } from './model'
import { getWebhook, lockWebhook } from './queries'
import { cancelQueued, releaseQueued } from './queue'
import { requireRead, requireReadOf } from './rights'
import { encryptSecret, replaceSecret } from './signing-secrets'

/**
 * Creates a webhook, which gets events from now on.
 * @throws FORBIDDEN for an API key that may not read all of them; unknown ids of the filter (`event-filter.ts`)
 */
export async function createWebhook(scope: Scope, webhook: NewWebhook): Promise<Webhook> {
  const { url, events, secret, active = true, filter = null, ordered = false } = webhook
  requireRead(scope, events)
  const id = newId()
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    if (filter) await requireKnown(scope, filter)
    await sql`
      insert into webhooks (organization_id, id, url, events, secret, active, filter, ordered)
      values (${organization_id}, ${id}, ${url}, ${withoutRepeats(events)},
        ${secret ? encryptSecret(secret, { organization_id, id }) : null}, ${active}, ${storedFilter(filter)}::text::jsonb,
        ${ordered})`
    const created = await getWebhook(scope, id)
    await auditWebhook(scope, 'webhook.created', null, created)
    return created
  })
}

/**
 * Changes a webhook from the next attempt on. `active: false` cancels what is queued; `active: true` enables a failed
 * webhook again and sends what waits; an ordered one begins with the delivery that failed. What is queued stays when
 * the filter changes.
 * @throws WEBHOOK_NOT_FOUND; unknown ids of the filter (`event-filter.ts`); FORBIDDEN for an API key that may not read
 *   all events of before and after
 */
export async function updateWebhook(scope: Scope, id: string, changes: WebhookChanges): Promise<Webhook> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const webhook = await lockWebhook(scope, id)
    await requireReadOf(scope, webhook)
    requireRead(scope, changes.events ?? [])
    const { url, events, secret, active, status, filter, ordered } = { ...webhook, secret: undefined, ...changes }
    if (changes.filter) await requireKnown(scope, changes.filter)
    const is_enabled = changes.active === true && webhook.status === 'failed'
    if (is_enabled && ordered) await queueFailed(scope, id)
    await sql`
      update webhooks
      set url = ${url}, events = ${withoutRepeats(events)}, active = ${active}, filter = ${storedFilter(filter)}::text::jsonb,
        ordered = ${ordered}, status = ${changes.active ? 'active' : status}, updated_at = now(),
        failed_delivery_id = ${is_enabled ? null : sql`failed_delivery_id`}
      where organization_id = ${organization_id} and id = ${id}`
    if (secret !== undefined) await replaceSecret(scope, id, secret)
    if (changes.active === false) await cancelQueue(scope, id)
    const is_freed = webhook.ordered && !ordered && active && status === 'active'
    if (is_enabled || is_freed) await releaseQueue(scope, id)
    const changed = await getWebhook(scope, id)
    await auditWebhook(scope, 'webhook.updated', webhook, changed, secret)
    return changed
  })
}

/** Deletes a webhook. Its deliveries are kept until the retention removes them. @throws WEBHOOK_NOT_FOUND */
export async function deleteWebhook(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const webhook = await lockWebhook(scope, id)
    await sql`
      update webhooks set deleted_at = now()
      where organization_id = ${organization_id} and id = ${id} and deleted_at is null`
    await auditWebhook(scope, 'webhook.deleted', webhook, null)
    await cancelQueue(scope, id)
  })
}

type AuditedAction = 'webhook.created' | 'webhook.updated' | 'webhook.deleted'

/** @param secret the one that is set; the log says only that it was */
async function auditWebhook(
  scope: Scope,
  action: AuditedAction,
  before: Webhook | null,
  after: Webhook | null,
  secret?: string | null,
): Promise<void> {
  const fields = ({ url, events, active, status, has_secret, filter, ordered }: Webhook) => {
    return { url, events, active, status, filter, ordered, secret: masked(has_secret) }
  }
  const changes = changesOf(before && fields(before), after && fields(after), secret ? ['secret'] : [])
  await auditChanges(scope, { action, resource: { type: 'webhook', id: (after ?? before)!.id }, changes })
}

function withoutRepeats<T>(items: T[]): T[] {
  return [...new Set(items)]
}

async function cancelQueue(scope: Scope, webhook_id: string): Promise<void> {
  const { sql, organization_id } = scope
  await cancelQueued(
    scope,
    sql`
      select id from outbox
      where organization_id = ${organization_id} and lane_id = ${webhook_id} and kind = 'webhook'
        and lease_until <= now()
      for update skip locked`,
  )
}

/** Queues the delivery that made a webhook failed once more, on a new schedule. */
async function queueFailed(scope: Scope, webhook_id: string): Promise<void> {
  const { sql, organization_id } = scope
  const [failed] = await sql<{ id: string }[]>`
    update deliveries set status = 'retrying', next_attempt_at = now()
    where organization_id = ${organization_id} and webhook_id = ${webhook_id} and status = 'failed' and id = (
      select failed_delivery_id from webhooks where organization_id = ${organization_id} and id = ${webhook_id}
    )
    returning id`
  if (!failed) return
  await sql`
    insert into outbox (organization_id, id, kind, lane_id, traceparent)
    values (${organization_id}, ${failed.id}, 'webhook', ${webhook_id}, ${currentTraceparent()})`
}

async function releaseQueue(scope: Scope, webhook_id: string): Promise<void> {
  const { sql, organization_id } = scope
  await releaseQueued(
    scope,
    sql`
      select id from outbox
      where organization_id = ${organization_id} and lane_id = ${webhook_id} and kind = 'webhook'
        and run_at = 'infinity'
      for update skip locked`,
  )
  afterCommit(scope, () => wake('webhook'))
}
