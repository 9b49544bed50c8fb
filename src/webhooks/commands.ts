import { and, eq, sql as expression } from 'drizzle-orm'
import { newId } from '../db/columns'
import { webhooks } from '../db/schema'
import { ApiError } from '../errors'
import { wake } from '../outbox/wake'
import { afterCommit, inTransaction, type Scope } from '../scope'
import { encrypt } from '../secrets'
import type { NewWebhook, Webhook, WebhookChanges } from './model'
import { getWebhook, lockWebhook } from './queries'
import { cancelQueued, releaseQueued } from './queue'
import { replaceSecret } from './signing-secrets'

/** It gets what happens from now on. */
export async function createWebhook(scope: Scope, { secret, events, ...fields }: NewWebhook): Promise<Webhook> {
  const { db, organization_id } = scope
  const id = newId()
  await db
    .insert(webhooks)
    .values({ ...fields, organization_id, id, events: [...new Set(events)], secret: secret && encrypt(secret) })
  return getWebhook(scope, id)
}

/**
 * Changes hold from the next attempt on. `active: false` cancels what is queued, `active: true` enables a failed
 * webhook again and sends what waits (decisions.md section 8). @throws WEBHOOK_NOT_FOUND
 */
export async function updateWebhook(scope: Scope, id: string, changes: WebhookChanges): Promise<Webhook> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const webhook = await lockWebhook(scope, id)
    const { secret, events, ...fields } = changes
    await db
      .update(webhooks)
      .set({
        ...fields,
        ...(events && { events: [...new Set(events)] }),
        ...(changes.active && { status: 'active' as const }),
        updated_at: expression`now()`,
      })
      .where(and(eq(webhooks.organization_id, organization_id), eq(webhooks.id, id)))
    if (secret !== undefined) await replaceSecret(scope, id, secret)
    if (changes.active === false) await cancelQueue(scope, id)
    if (changes.active && webhook.status === 'failed') await releaseQueue(scope, id)
    return getWebhook(scope, id)
  })
}

/** Its deliveries are kept until the retention removes them. @throws WEBHOOK_NOT_FOUND */
export async function deleteWebhook(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const deleted = await db
      .update(webhooks)
      .set({ deleted_at: expression`now()` })
      .where(and(eq(webhooks.organization_id, organization_id), eq(webhooks.id, id), expression`deleted_at is null`))
      .returning({ id: webhooks.id })
    if (!deleted[0]) throw new ApiError('WEBHOOK_NOT_FOUND')
    await cancelQueue(scope, id)
  })
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
