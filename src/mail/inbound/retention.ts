/** Removes originals of inbound email once their retention is over, for a background job. Their ledger rows stay. */

import { type Find, type InOrganization, LOOK, workOffInBatches } from '../../base/db/all-organizations'
import type { Connection, Sql } from '../../base/db/transact'
import { removeSoon } from '../../desk/attachments/removals'

const BATCH = 200

/** Works in all organizations. Mail that is not filed yet keeps its original, whatever its age. */
export async function removeOldOriginals(connection: Connection, retention_days: number): Promise<void> {
  await workOffInBatches(connection, findOld(connection.sql, retention_days), { size: BATCH }, (batch) =>
    removeBatch(batch, retention_days),
  )
}

function findOld(sql: Sql, retention_days: number): Find {
  return (among) => sql`
    select distinct organization_id from (
      select organization_id from inbound_messages
      where storage_key is not null and outcome <> 'pending'
        and received_at < now() - make_interval(days => ${retention_days}) ${among()}
      order by id limit ${LOOK}
    ) as old`
}

async function removeBatch({ sql, organization_id }: InOrganization, retention_days: number): Promise<number> {
  const old = await sql<{ id: string; storage_key: string }[]>`
    select id, storage_key from inbound_messages
    where organization_id = ${organization_id} and storage_key is not null and outcome <> 'pending'
      and received_at < now() - make_interval(days => ${retention_days})
    order by id limit ${BATCH} for update skip locked`
  if (old.length === 0) return 0
  await sql`
    update inbound_messages set storage_key = null
    where organization_id = ${organization_id} and id = any(${old.map(({ id }) => id)}::uuid[])`
  await removeSoon(sql, old)
  return old.length
}
