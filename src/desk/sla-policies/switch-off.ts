/** Switches policies off that would promise more than was meant, in the transaction that leaves them so. */
import { type Scope, SYSTEM } from '../../base/scope'
import { tellAdmins } from '../../delivery/told/tell-admins'
import { beginReview } from '../promises/review'
import { auditPolicy } from './audit-policy'
import type { SlaPolicy } from './model'
import { selectPolicies } from './queries'

/** Notes that a policy was switched off, and tells the admins. @param error says why, in a part of a sentence */
export async function noteSwitchedOff(scope: Scope, { id, name }: { id: string; name: string }, error: string) {
  await noteOff(scope, { id, active: true }, { id, active: false }, name, error)
}

/** Switches off the policies of a schedule that goes, and takes it from them. */
export async function switchOffPolicies(scope: Scope, schedule_id: string): Promise<void> {
  const { sql, organization_id } = scope
  const policies = await selectPolicies(scope, sql`and p.schedule_id = ${schedule_id} order by p.id for no key update`)
  await sql`
    update sla_policies set schedule_id = null, active = false, updated_at = now()
    where organization_id = ${organization_id} and schedule_id = ${schedule_id}`
  if (policies.length > 0) await beginReview(scope)
  for (const policy of policies) {
    const after = { ...policy, schedule_id: null, active: false }
    if (policy.active) await noteOff(scope, policy, after, policy.name, 'its schedule was deleted')
    else await auditPolicy(scope, 'sla_policy.updated', policy, after)
  }
}

async function noteOff(
  scope: Scope,
  before: Partial<SlaPolicy> & { id: string },
  after: Partial<SlaPolicy>,
  name: string,
  error: string,
): Promise<void> {
  const by = { ...scope, actor: SYSTEM }
  await auditPolicy(by, 'sla_policy.updated', before, after)
  await tellAdmins(by, { kind: 'sla_policy', id: before.id, name, error })
}
