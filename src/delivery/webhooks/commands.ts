import { auditChanges } from '../../base/audit/audit'
import { changesOf, masked } from '../../base/audit/changes-of'
import { newId } from '../../base/db/columns'
import { afterCommit, inTransaction, type Scope } from '../../base/scope'
import { wake } from '../outbox/wake'
import type { NewWebhook, Webhook, WebhookChanges } from './model'
import { getWebhook, lockWebhook } from './queries'
import { cancelQueued, releaseQueued } from './queue'
import { requireRead, requireReadOf } from './rights'
import { encryptSecret, replaceSecret } from './signing-secrets'

/** Creates a webhook, which gets events from now on. @throws FORBIDDEN for an API key that may not read all of them */
export async function createWebhook(scope: Scope, webhook: NewWebhook): Promise<Webhook> {
  const { url, events, secret, active = true } = webhook
  requireRead(scope, events)
  const id = newId()
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await sql`
      insert into webhooks (organization_id, id, url, events, secret, active)
      values (${organization_id}, ${id}, ${url}, ${withoutRepeats(events)}, ${secret ? encryptSecret(secret, { organization_id, id }) : null}, ${active})`
    const created = await getWebhook(scope, id)
    await auditWebhook(scope, 'webhook.created', null, created)
    return created
  })
}

/**
 * Changes a webhook from the next attempt on. `active: false` cancels what is queued; `active: true` enables a failed
 * webhook again and sends what waits.
 * @throws WEBHOOK_NOT_FOUND; FORBIDDEN for an API key that may not read all events of before and after
 */
export async function updateWebhook(scope: Scope, id: string, changes: WebhookChanges): Promise<Webhook> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const webhook = await lockWebhook(scope, id)
    await requireReadOf(scope, webhook)
    requireRead(scope, changes.events ?? [])
    const { url, events, secret, active, status } = { ...webhook, secret: undefined, ...changes }
    await sql`
      update webhooks
      set url = ${url}, events = ${withoutRepeats(events)}, active = ${active},
        status = ${changes.active ? 'active' : status}, updated_at = now()
      where organization_id = ${organization_id} and id = ${id}`
    if (secret !== undefined) await replaceSecret(scope, id, secret)
    if (changes.active === false) await cancelQueue(scope, id)
    if (changes.active && webhook.status === 'failed') await releaseQueue(scope, id)
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
  const fields = ({ url, events, active, status, has_secret }: Webhook) => {
    return { url, events, active, status, secret: masked(has_secret) }
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
