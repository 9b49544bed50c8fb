/** Removes old entries of the audit log, for a background job and in all organizations. */
import { sweep } from '../db/sweep'
import type { Connection } from '../db/transact'

export async function removeOldAuditEntries(connection: Connection, retention_days: number): Promise<void> {
  const is_old = connection.sql`created_at < now() - make_interval(days => ${retention_days})`
  const rows = { table: 'audit_log', is_old, order: 'created_at', pause_ms: 50 }
  await sweep(connection, rows, async ({ sql, organization_id }, old) => {
    // The trigger of the table hears why, also on other machines of a cluster: it refuses this otherwise.
    await sql`set local citus.propagate_set_commands = 'local'`
    await sql`set local deskwire.audit_log = 'retention'`
    const { count } = await sql`
      with old as materialized (${old})
      delete from audit_log a using old where a.organization_id = ${organization_id} and a.id = old.id`
    return count
  })
}
