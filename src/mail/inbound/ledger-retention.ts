/** Removes old rows of the mail ledger with their fingerprints and originals, for a background job. */
import { removeSoon } from '../../attachments/removals'
import type { Connection, Sql } from '../../db/transact'
import { inBatches } from '../../flow/batches'
import { firstIdAt } from '../../shapes/ids'

const DAY_MS = 86_400_000
const BATCH = 500
/** After a full batch, so that removing much leaves the disk to others now and then. */
const PAUSE_MS = 50

/**
 * Works in one organization after the other, because the rows of each are in the order of their time. Mail that is not
 * filed yet stays, whatever its age. A message whose row is gone counts as new when it is delivered again.
 * @param retention_days 0 keeps everything
 */
export async function removeOldLedger({ sql }: Connection, retention_days: number): Promise<void> {
  if (retention_days === 0) return
  const organizations = await sql<{ id: string }[]>`select id from organizations`
  for (const { id } of organizations) await inBatches(BATCH, () => removeBatch(sql, id, retention_days), PAUSE_MS)
}

async function removeBatch(sql: Sql, organization_id: string, days: number): Promise<number> {
  const [removed] = await sql<{ count: number }[]>`
    with old as materialized (
      select id, storage_key from inbound_messages
      where organization_id = ${organization_id} and outcome <> 'pending'
        and id < ${firstIdAt(Date.now() - days * DAY_MS)}
      order by id limit ${BATCH} for update skip locked
    ), forgotten as (
      delete from inbound_fingerprints f using old
      where f.organization_id = ${organization_id} and f.inbound_message_id = old.id
    ), removed as (
      delete from inbound_messages i using old where i.organization_id = ${organization_id} and i.id = old.id
    ), bytes as (
      ${removeSoon(
        sql,
        sql`
          select distinct storage_key from old
          where storage_key is not null and not exists (
            select from inbound_messages i
            where i.storage_key = old.storage_key
              and (i.organization_id <> ${organization_id} or i.id not in (select id from old))
          )`,
      )}
    )
    select count(*) as count from old`
  return removed!.count
}
