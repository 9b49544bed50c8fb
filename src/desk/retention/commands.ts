import { auditChanges } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { inTransaction, type Scope } from '../../base/scope'
import type { Retention, RetentionChanges } from './model'
import { resolveRetention } from './named-things'
import { getRetention } from './queries'

/**
 * Changes rules and hold labels. Rules wait for 24 hours after each change; hold labels hold at once.
 * @throws LABEL_NOT_FOUND, COMPANY_NOT_FOUND
 */
export function updateRetention(scope: Scope, input: RetentionChanges): Promise<Retention> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await sql`insert into retention (organization_id) values (${organization_id}) on conflict do nothing`
    await sql`select 1 from retention where organization_id = ${organization_id} for update`
    const before = await getRetention(scope)
    const after = { ...before, ...(await resolveRetention(scope, input)) }
    const changes = changesOf(before, after)
    if (!changes) return before
    await sql`
      update retention set rules = ${JSON.stringify(after.rules)}::text::jsonb,
        hold_label_ids = ${after.hold_label_ids}::uuid[], changed_at = now()
      where organization_id = ${organization_id}`
    await auditChanges(scope, {
      action: 'retention.updated',
      resource: { type: 'organization', id: organization_id },
      changes,
    })
    return after
  })
}
