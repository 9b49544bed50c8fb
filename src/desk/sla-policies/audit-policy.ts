import { auditChanges } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import type { Scope } from '../../base/scope'
import type { SlaPolicy } from './model'

/** Lists a change of a policy in the audit log, in the transaction of the change. */
export async function auditPolicy(
  scope: Scope,
  action: 'sla_policy.created' | 'sla_policy.updated' | 'sla_policy.deleted',
  before: Partial<SlaPolicy> | null,
  after: Partial<SlaPolicy> | null,
): Promise<void> {
  await auditChanges(scope, {
    action,
    resource: { type: 'sla_policy', id: (after ?? before)!.id! },
    changes: changesOf(before, after),
  })
}
