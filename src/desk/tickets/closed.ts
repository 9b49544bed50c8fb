/** Deletes tickets that have been closed for long, for a background job. */
import { visitAll } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { inBatches } from '../../base/flow/batches'
import { type Scope, SYSTEM } from '../../base/scope'
import { holdLabels, isHeld } from '../holds/holds'
import { deleteTicket } from './commands'

const BATCH = 100

/**
 * Deletes tickets as people do: hidden at once, with an event, and removed for good after the retention of deleted
 * ones. Merged tickets go with the ticket that has their messages.
 * @param retention_days since the last change of a closed ticket; 0 keeps everything
 * @returns how many tickets were deleted
 */
export async function deleteClosedTickets(connection: Connection, retention_days: number): Promise<number> {
  if (retention_days === 0) return 0
  const counts = await visitAll(connection, (organization_id) =>
    inBatches(BATCH, () => deleteBatch({ ...connection, organization_id, actor: SYSTEM }, retention_days)),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

async function deleteBatch(scope: Scope, retention_days: number): Promise<number> {
  const { sql, organization_id } = scope
  const labels = await holdLabels(scope)
  const old = await sql<{ id: string }[]>`
    select t.id from tickets t
    where t.organization_id = ${organization_id} and status = 'closed' and deleted_at is null and merged_into_id is null
      and updated_at < now() - make_interval(days => ${retention_days})
      and not ${isHeld(scope, labels, sql`t.id`)}
    order by updated_at limit ${BATCH}`
  for (const { id } of old) await deleteOne(scope, id)
  return old.length
}

/** Another process may have been faster, or somebody has merged it or put it on hold. */
async function deleteOne(scope: Scope, id: string): Promise<void> {
  await deleteTicket(scope, id).catch((error) => {
    if (!(error instanceof ApiError && ['TICKET_NOT_FOUND', 'TICKET_MERGED', 'ON_HOLD'].includes(error.code)))
      throw error
  })
}
