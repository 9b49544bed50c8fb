/** Removes old entries of the audit log, for a background job and in all organizations. */
import { type InOrganization, withRows, workOffInBatches } from '../db/all-organizations'
import type { Connection, Fragment } from '../db/transact'

const BATCH = 1000
/** After a full batch, so that removing much leaves the disk to others now and then. */
const PAUSE_MS = 50

export async function removeOldAuditEntries(connection: Connection, retention_days: number): Promise<void> {
  const { sql } = connection
  const is_old = sql`created_at < now() - make_interval(days => ${retention_days})`
  const find = withRows(sql, 'audit_log', is_old, 'created_at')
  await workOffInBatches(connection, find, { size: BATCH, pause_ms: PAUSE_MS }, (batch) => removeBatch(batch, is_old))
}

/**
 * Tells the trigger of the table why entries are deleted, also on other machines of a cluster: it refuses this
 * otherwise.
 */
async function removeBatch({ sql, organization_id }: InOrganization, is_old: Fragment): Promise<number> {
  await sql`set local citus.propagate_set_commands = 'local'`
  await sql`set local deskwire.audit_log = 'retention'`
  const { count } = await sql`
    with old as (
      select id from audit_log where organization_id = ${organization_id} and ${is_old}
      order by created_at limit ${BATCH} for update skip locked
    )
    delete from audit_log a using old where a.organization_id = ${organization_id} and a.id = old.id`
  return count
}
