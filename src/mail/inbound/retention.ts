/** Removes originals of inbound email once their retention is over, for a background job. Their ledger rows stay. */

import { type InOrganization, withRows, workOffInBatches } from '../../base/db/all-organizations'
import type { Connection, Fragment } from '../../base/db/transact'
import { removeSoon } from '../../desk/attachments/removals'

const BATCH = 200

/** Works in all organizations. Mail that is not filed yet keeps its original, whatever its age. */
export async function removeOldOriginals(connection: Connection, retention_days: number): Promise<void> {
  const { sql } = connection
  const is_old = sql`
    storage_key is not null and outcome <> 'pending' and received_at < now() - make_interval(days => ${retention_days})`
  const find = withRows(sql, 'inbound_messages', is_old, 'id')
  await workOffInBatches(connection, find, { size: BATCH }, (batch) => removeBatch(batch, is_old))
}

async function removeBatch({ sql, organization_id }: InOrganization, is_old: Fragment): Promise<number> {
  const old = await sql<{ id: string; storage_key: string }[]>`
    select id, storage_key from inbound_messages
    where organization_id = ${organization_id} and ${is_old}
    order by id limit ${BATCH} for update skip locked`
  if (old.length === 0) return 0
  await sql`
    update inbound_messages set storage_key = null
    where organization_id = ${organization_id} and id = any(${old.map(({ id }) => id)}::uuid[])`
  await removeSoon(sql, old)
  return old.length
}
