/** A webhook that becomes failed has an entry in the audit log, and its admins are told. */
import { audit } from '../../base/audit/audit'
import { bareHost } from '../../base/net/destination'
import { type Scope, SYSTEM } from '../../base/scope'
import type { Settlement } from '../outbox/job'

/** A webhook that has just failed. `error` says why, without any data of events. */
export type WebhookFailure = { id: string; host: string; error: string }

/** Tells the admins, in the transaction of the failure. @returns false when there is no way to tell them */
type Teller = (scope: Scope, failure: WebhookFailure) => Promise<boolean>

let teller: Teller | undefined

/** Sets who tells the admins: letters are of a wing above. */
export function tellFailuresBy(tell: Teller): void {
  teller = tell
}

type Failed = { id: string; url: string; error: string | null; response_code: number | null }

/** Notes failures in the transaction that records them. The admins are told of a webhook once a day. */
export async function noteFailures(settlement: Settlement, failed: Failed[]): Promise<void> {
  const scope: Scope = { ...settlement, actor: SYSTEM }
  const { sql, organization_id } = scope
  for (const { id, url, error, response_code } of failed) {
    const changes = { status: { from: 'active', to: 'failed' } }
    await audit(scope, { action: 'webhook.failed', resource: { type: 'webhook', id }, changes })
    const untold = await sql`
      select 1 from webhooks
      where organization_id = ${organization_id} and id = ${id}
        and (failure_told_at is null or failure_told_at < now() - interval '1 day')`
    const why = error === 'status' ? `status ${response_code}` : (error ?? 'unknown')
    const host = bareHost(new URL(url).hostname)
    if (untold.length === 0 || !(await teller?.(scope, { id, host, error: why }))) continue
    await sql`
      update webhooks set failure_told_at = now() where organization_id = ${organization_id} and id = ${id}`
  }
}
