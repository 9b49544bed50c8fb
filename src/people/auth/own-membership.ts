/** Changes by a person of the own membership: what an organization knows of the person alone. */
import { changesOf } from '../../base/audit/changes-of'
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Origin } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { auditAccount } from './account-audit'
import type { MeChanges } from './model'
import { changedReasons, type NotifyReason } from './notify'
import type { OwnAccount } from './queries'

/** A caller who changes the own account. One from an identity provider acts in the organization of it alone. */
export type OwnCaller = OwnAccount & { organization_id?: string; is_from_provider?: boolean }

/**
 * Changes the membership of the organization that is meant. Its audit log tells of `available`, by which teams give
 * tickets, and not of `notify`, which concerns the person alone.
 * @throws FORBIDDEN when it is not the caller's
 */
export async function changeOwnMembership(
  { sql, origin }: Connection & { origin: Origin },
  caller: OwnCaller,
  { available, notify }: Pick<MeChanges, 'available' | 'notify'>,
): Promise<void> {
  const [organization_id] = asIds([caller.meant_id ?? ''])
  const is_elsewhere = caller.is_from_provider && organization_id !== caller.organization_id
  if (!organization_id || is_elsewhere) throw new ApiError('FORBIDDEN')
  const [before] = await sql<{ available: boolean; notify: NotifyReason[] }[]>`
    select available, notify from memberships
    where organization_id = ${organization_id} and user_id = ${caller.id} and active and removed_at is null`
  if (!before) throw new ApiError('FORBIDDEN')
  await sql`
    update memberships set available = coalesce(${available ?? null}, available),
      notify = ${changedReasons(before.notify, notify)}::text[], updated_at = now()
    where organization_id = ${organization_id} and user_id = ${caller.id}`
  if (available === undefined || available === before.available) return
  const changes = changesOf({ available: before.available }, { available })
  const entry = { action: 'user.updated', resource: { type: 'user', id: caller.id }, changes } as const
  await auditAccount({ sql, origin }, caller.id, entry, organization_id)
}
