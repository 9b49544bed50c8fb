/** Sends at once, while the caller waits: the test of a webhook, or a delivery again. */
import { config } from '../../base/config'
import { ApiError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { currentTraceparent } from '../../base/tracing/trace'
import { takeLease } from '../outbox/claim'
import type { OutboxJob } from '../outbox/job'
import { settleOne } from '../outbox/settle'
import { attemptDelivery } from './deliver'
import type { Delivery } from './model'
import { publishTo } from './publish'
import { getDelivery, lockWebhook } from './queries'
import { requireRead, requireReadOf } from './rights'

/** Sends `test.ping` once, also when it fails. @throws WEBHOOK_NOT_FOUND, WEBHOOK_DISABLED, FORBIDDEN (`rights.ts`) */
export async function testWebhook(scope: Scope, webhook_id: string): Promise<Delivery> {
  const { id, job } = await inTransaction(scope, async (scope) => {
    await requireUsable(scope, webhook_id)
    const id = await publishTo(scope, webhook_id, { type: 'test.ping', data: { webhook_id } })
    return { id, job: await takeLease(scope, id) }
  })
  return sendNow(scope, webhook_id, id, job)
}

/**
 * Sends a delivery again, with the same id and bytes. A delivery that waits goes on with its schedule afterwards; a
 * finished one gets this attempt only. Nothing is sent while another attempt of it is under way.
 * @throws WEBHOOK_NOT_FOUND, DELIVERY_NOT_FOUND, WEBHOOK_DISABLED, FORBIDDEN (`rights.ts`)
 */
export async function retryDelivery(scope: Scope, webhook_id: string, id: string): Promise<Delivery> {
  const { event } = await getDelivery(scope, webhook_id, id)
  requireRead(scope, [event])
  const job = await inTransaction(scope, async (scope) => {
    await requireUsable(scope, webhook_id)
    await queueFinished(scope, id)
    return takeLease(scope, id)
  })
  return sendNow(scope, webhook_id, id, job)
}

/** Puts a finished delivery into the outbox once more; others are in it already. */
async function queueFinished({ sql, organization_id }: Scope, id: string): Promise<void> {
  const [again] = await sql<{ webhook_id: string }[]>`
    update deliveries set status = 'retrying', next_attempt_at = now()
    where organization_id = ${organization_id} and id = ${id} and status not in ('pending', 'retrying')
    returning webhook_id`
  if (!again) return
  await sql`
    insert into outbox (organization_id, id, kind, lane_id, attempts, traceparent)
    values (${organization_id}, ${id}, 'webhook', ${again.webhook_id}, ${config.RETRY_SCHEDULE_SECONDS.length},
      ${currentTraceparent()})`
}

async function requireUsable(scope: Scope, webhook_id: string): Promise<void> {
  const webhook = await lockWebhook(scope, webhook_id)
  await requireReadOf(scope, webhook)
  const { active, status } = webhook
  if (!active || status === 'failed') throw new ApiError('WEBHOOK_DISABLED')
}

async function sendNow(scope: Scope, webhook_id: string, id: string, job: OutboxJob | undefined): Promise<Delivery> {
  if (job) await settleOne(scope, job, await attemptDelivery(job, scope, true))
  return getDelivery(scope, webhook_id, id)
}
