/** Removes old entries of the audit log, for a background job and in all organizations. */
import { type Connection, transact } from '../db/transact'
import { inBatches } from '../flow/batches'

const BATCH = 1000
/** After a full batch, so that removing much leaves the disk to others now and then. */
const PAUSE_MS = 50

export async function removeOldAuditEntries(connection: Connection, retention_days: number): Promise<void> {
  await inBatches(BATCH, () => removeBatch(connection, retention_days), PAUSE_MS)
}

/** The trigger of the table lets nothing be deleted in a transaction that does not say why, also on other machines of a cluster. */
function removeBatch(connection: Connection, retention_days: number): Promise<number> {
  return transact(connection, async ({ sql }) => {
    await sql`set local citus.propagate_set_commands = 'local'`
    await sql`set local deskwire.audit_log = 'retention'`
    const { count } = await sql`
      with old as (
        select organization_id, id from audit_log
        where created_at < now() - make_interval(days => ${retention_days})
        order by created_at limit ${BATCH} for update skip locked
      )
      delete from audit_log a using old where a.organization_id = old.organization_id and a.id = old.id`
    return count
  })
}
