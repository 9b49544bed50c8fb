/** Removes originals of inbound email once their retention is over, for a background job. Their ledger rows stay. */
import { removeSoon } from '../../attachments/removals'
import { type Connection, transact } from '../../db/transact'
import { inBatches } from '../../flow/batches'

const BATCH = 200

/** Works in all organizations. Mail that is not filed yet keeps its original, whatever its age. */
export async function removeOldOriginals(connection: Connection, retention_days: number): Promise<void> {
  await inBatches(BATCH, () => removeBatch(connection, retention_days))
}

function removeBatch(connection: Connection, retention_days: number): Promise<number> {
  return transact(connection, async ({ sql }) => {
    const old = await sql<{ organization_id: string; id: string; storage_key: string }[]>`
      select organization_id, id, storage_key from inbound_messages
      where storage_key is not null and outcome <> 'pending'
        and received_at < now() - make_interval(days => ${retention_days})
      order by id limit ${BATCH} for update skip locked`
    if (old.length === 0) return 0
    const keys = old.map(({ storage_key }) => storage_key)
    await sql`
      update inbound_messages i set storage_key = null
      from json_to_recordset(${JSON.stringify(old)}::text::json) as o (organization_id uuid, id uuid)
      where i.organization_id = o.organization_id and i.id = o.id`
    await removeSoon(sql, keys)
    return old.length
  })
}
