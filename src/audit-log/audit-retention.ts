/** Removes old entries of the audit log, for a background job and in all organizations. */
import { type Find, workOff } from '../db/all-organizations'
import { type Connection, type Sql, transact } from '../db/transact'
import { inBatches } from '../flow/batches'

const BATCH = 1000
/** Entries whose organizations are worked on next. */
const LOOK = 10_000
/** After a full batch, so that removing much leaves the disk to others now and then. */
const PAUSE_MS = 50

export async function removeOldAuditEntries(connection: Connection, retention_days: number): Promise<void> {
  const { sql } = connection
  await workOff(sql, findOld(sql, retention_days), (organization_id) =>
    inBatches(BATCH, () => removeBatch(connection, organization_id, retention_days), PAUSE_MS),
  )
}

function findOld(sql: Sql, retention_days: number): Find {
  return (among) => sql`
    select distinct organization_id from (
      select organization_id from audit_log
      where created_at < now() - make_interval(days => ${retention_days}) ${among()}
      order by created_at limit ${LOOK}
    ) as old`
}

/** The trigger of the table lets nothing be deleted in a transaction that does not say why, also on other machines of a cluster. */
function removeBatch(connection: Connection, organization_id: string, retention_days: number): Promise<number> {
  return transact(connection, async ({ sql }) => {
    await sql`set local citus.propagate_set_commands = 'local'`
    await sql`set local deskwire.audit_log = 'retention'`
    const { count } = await sql`
      with old as (
        select id from audit_log
        where organization_id = ${organization_id} and created_at < now() - make_interval(days => ${retention_days})
        order by created_at limit ${BATCH} for update skip locked
      )
      delete from audit_log a using old where a.organization_id = ${organization_id} and a.id = old.id`
    return count
  })
}
