/** The operator's command that lets a restored service send again. */
import { audit, OPERATOR } from '../../base/audit/audit'
import type { Connection } from '../../base/db/transact'
import { inTransaction, SYSTEM } from '../../base/scope'
import { outboxWaits, resumeOutbox } from '../../delivery/outbox/hold'
import { type OutboxStats, outboxStats } from '../../delivery/outbox/operate'
import { listOrganizations } from '../../people/organizations/queries'

/** @returns if something waited, and what is left to be sent */
export async function resumeRestored(connection: Connection): Promise<{ resumed: boolean; left: OutboxStats[] }> {
  const resumed = outboxWaits()
  for (const { id } of resumed ? await listOrganizations(connection) : []) {
    await inTransaction({ ...connection, organization_id: id, actor: SYSTEM }, (scope) =>
      audit(
        { ...scope, actor: OPERATOR },
        { action: 'operator.outbox_resume', resource: { type: 'organization', id } },
      ),
    )
  }
  resumeOutbox()
  return { resumed, left: await outboxStats(connection) }
}
