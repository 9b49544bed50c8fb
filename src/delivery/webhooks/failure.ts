/** A webhook that becomes failed has an entry in the audit log, and its admins are told. */
import { audit } from '../../base/audit/audit'
import { bareHost } from '../../base/net/destination'
import { type Scope, SYSTEM } from '../../base/scope'
import { tellAdmins } from '../told/tell-admins'

type Failed = { id: string; url: string; error: string | null; response_code: number | null }

/** Notes failures in the transaction that records them. The admins are told of a webhook once a day. */
export async function noteFailures(within: Omit<Scope, 'actor'>, failed: Failed[]): Promise<void> {
  const scope: Scope = { ...within, actor: SYSTEM }
  for (const { id, url, error, response_code } of failed) {
    const changes = { status: { from: 'active', to: 'failed' } }
    await audit(scope, { action: 'webhook.failed', resource: { type: 'webhook', id }, changes })
    const why = error === 'status' ? `status ${response_code}` : (error ?? 'unknown')
    await tellAdmins(scope, { kind: 'webhook', id, name: bareHost(new URL(url).hostname), error: why })
  }
}
