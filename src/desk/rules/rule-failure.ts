/** Switches a rule off that cannot be applied. */
import { audit } from '../../base/audit/audit'
import type { RuleName, Scope } from '../../base/scope'
import { tellAdmins } from '../../delivery/told/tell-admins'

/** Tickets in a row. */
const MOST = 5

/** Notes that a rule could not be applied to a ticket. With the fifth in a row it fails, and the admins are told. */
export async function noteFailure(scope: Scope, rule: RuleName, ticket_id: string, error: string): Promise<void> {
  const { sql, organization_id } = scope
  const [noted] = await sql<{ failures: number }[]>`
    update rules set failed_ticket_ids = array_append(array_remove(failed_ticket_ids, ${ticket_id}), ${ticket_id})
    where organization_id = ${organization_id} and id = ${rule.id} and active and status = 'active'
    returning cardinality(failed_ticket_ids) as failures`
  if (!noted || noted.failures < MOST) return
  await sql`
    update rules set status = 'failed', updated_at = now()
    where organization_id = ${organization_id} and id = ${rule.id}`
  const changes = { status: { from: 'active', to: 'failed' } }
  await audit(scope, { action: 'rule.failed', resource: { type: 'rule', id: rule.id }, changes })
  await tellAdmins(scope, { kind: 'rule', ...rule, error })
}
