import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { withdrawWork } from '../../delivery/outbox/schedule'
import { removeSoon } from '../attachments/removals'

/**
 * Removes drafts and their attachments, in the caller's transaction.
 * @param condition on `drafts d`
 * @returns how many attachments
 */
export async function removeDrafts(scope: Scope, condition: Fragment): Promise<number> {
  const { sql, organization_id } = scope
  const drafts = await sql<{ id: string }[]>`
    select d.id from drafts d where d.organization_id = ${organization_id} and ${condition} order by d.id for update`
  if (drafts.length === 0) return 0
  const ids = drafts.map(({ id }) => id)
  const attached = await sql<{ storage_key: string }[]>`
    delete from attachments where organization_id = ${organization_id} and draft_id = any(${ids}::uuid[])
    returning storage_key`
  await removeSoon(sql, attached)
  await withdrawWork(scope, 'draft', ids)
  await sql`delete from drafts where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  return attached.length
}
