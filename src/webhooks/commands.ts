import { newId } from '../db/columns'
import { ApiError } from '../errors'
import { wake } from '../outbox/wake'
import { afterCommit, inTransaction, type Scope } from '../scope'
import { encrypt } from '../secrets'
import type { NewWebhook, Webhook, WebhookChanges } from './model'
import { getWebhook, lockWebhook } from './queries'
import { cancelQueued, releaseQueued } from './queue'
import { replaceSecret } from './signing-secrets'

/** Creates a webhook, which gets events from now on. */
export async function createWebhook(scope: Scope, webhook: NewWebhook): Promise<Webhook> {
  const { sql, organization_id } = scope
  const { url, events, secret, active = true } = webhook
  const id = newId()
  await sql`
    insert into webhooks (organization_id, id, url, events, secret, active)
    values (${organization_id}, ${id}, ${url}, ${withoutRepeats(events)}, ${secret ? encrypt(secret) : null}, ${active})`
  return getWebhook(scope, id)
}

/**
 * Changes a webhook from the next attempt on. `active: false` cancels what is queued; `active: true` enables a failed
 * webhook again and sends what waits.
 * @throws WEBHOOK_NOT_FOUND
 */
export async function updateWebhook(scope: Scope, id: string, changes: WebhookChanges): Promise<Webhook> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const webhook = await lockWebhook(scope, id)
    const { url, events, secret, active, status } = { ...webhook, secret: undefined, ...changes }
    await sql`
      update webhooks
      set url = ${url}, events = ${withoutRepeats(events)}, active = ${active},
        status = ${changes.active ? 'active' : status}, updated_at = now()
      where organization_id = ${organization_id} and id = ${id}`
    if (secret !== undefined) await replaceSecret(scope, id, secret)
    if (changes.active === false) await cancelQueue(scope, id)
    if (changes.active && webhook.status === 'failed') await releaseQueue(scope, id)
    return getWebhook(scope, id)
  })
}

/** Deletes a webhook. Its deliveries are kept until the retention removes them. @throws WEBHOOK_NOT_FOUND */
export async function deleteWebhook(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const { count } = await sql`
      update webhooks set deleted_at = now()
      where organization_id = ${organization_id} and id = ${id} and deleted_at is null`
    if (count === 0) throw new ApiError('WEBHOOK_NOT_FOUND')
    await cancelQueue(scope, id)
  })
}

function withoutRepeats<T>(items: T[]): T[] {
  return [...new Set(items)]
}

async function cancelQueue({ sql, organization_id }: Scope, webhook_id: string): Promise<void> {
  await cancelQueued(
    sql,
    sql`
      select organization_id, id from outbox
      where organization_id = ${organization_id} and lane_id = ${webhook_id} and kind = 'webhook'
        and lease_until <= now()
      for update skip locked`,
  )
}

async function releaseQueue(scope: Scope, webhook_id: string): Promise<void> {
  const { sql, organization_id } = scope
  await releaseQueued(
    sql,
    sql`
      select organization_id, id from outbox
      where organization_id = ${organization_id} and lane_id = ${webhook_id} and kind = 'webhook'
        and run_at = 'infinity'
      for update skip locked`,
  )
  afterCommit(scope, () => wake('webhook'))
}
