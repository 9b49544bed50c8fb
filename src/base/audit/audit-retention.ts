/** Removes old entries of the audit log, for a background job and in all organizations. */
import { type Find, type InOrganization, LOOK, workOffInBatches } from '../db/all-organizations'
import type { Connection, Sql } from '../db/transact'

const BATCH = 1000
/** After a full batch, so that removing much leaves the disk to others now and then. */
const PAUSE_MS = 50

export async function removeOldAuditEntries(connection: Connection, retention_days: number): Promise<void> {
  const find = findOld(connection.sql, retention_days)
  await workOffInBatches(connection, find, { size: BATCH, pause_ms: PAUSE_MS }, (batch) =>
    removeBatch(batch, retention_days),
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

/**
 * Tells the trigger of the table why entries are deleted, also on other machines of a cluster: it refuses this
 * otherwise.
 */
async function removeBatch({ sql, organization_id }: InOrganization, retention_days: number): Promise<number> {
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
}
