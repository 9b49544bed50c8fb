/** Removes old rows of the mail ledger with their fingerprints and originals, for a background job. */

import { visitAll } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { inBatches } from '../../base/flow/batches'
import { inTransaction, type Scope, SYSTEM } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { removeSoon } from '../../desk/attachments/removals'

const DAY_MS = 86_400_000
const BATCH = 500
/** After a full batch, so that removing much leaves the disk to others now and then. */
const PAUSE_MS = 50

/**
 * Works in each organization, because the rows of each are in the order of their time. Mail that is not
 * filed yet stays, whatever its age. A message whose row is gone counts as new when it is delivered again.
 * @param retention_days 0 keeps everything
 */
export async function removeOldLedger(connection: Connection, retention_days: number): Promise<void> {
  if (retention_days === 0) return
  await visitAll(connection, (organization_id) => {
    const scope: Scope = { ...connection, organization_id, actor: SYSTEM }
    return inBatches(BATCH, () => removeBatch(scope, retention_days), PAUSE_MS)
  })
}

function removeBatch(scope: Scope, days: number): Promise<number> {
  return inTransaction(scope, async ({ sql, organization_id }) => {
    const removed = await sql<{ id: string; storage_key: string | null }[]>`
      with old as materialized (
        select id from inbound_messages
        where organization_id = ${organization_id} and outcome <> 'pending'
          and id < ${firstIdAt(Date.now() - days * DAY_MS)}
        order by id limit ${BATCH} for update skip locked
      ), forgotten as (
        delete from inbound_fingerprints f using old
        where f.organization_id = ${organization_id} and f.inbound_message_id = old.id
      )
      delete from inbound_messages i using old where i.organization_id = ${organization_id} and i.id = old.id
      returning i.id, i.storage_key`
    await removeSoon(sql, removed)
    return removed.length
  })
}
