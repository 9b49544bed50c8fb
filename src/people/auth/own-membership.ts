/** Changes by a person of the own membership: what an organization knows of the person alone. */
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { asIds } from '../../base/shapes/ids'
import type { OwnAccount, OwnFields } from './queries'

/** A caller who changes the own account. One from an identity provider acts in the organization of it alone. */
export type OwnCaller = OwnAccount & { organization_id?: string; is_from_provider?: boolean }

/** Changes the membership of the organization that is meant. @throws FORBIDDEN when it is not the caller's */
export async function changeOwnMembership({ sql }: Connection, caller: OwnCaller, changes: OwnFields): Promise<void> {
  const [organization_id] = asIds([caller.meant_id ?? ''])
  const is_elsewhere = caller.is_from_provider && organization_id !== caller.organization_id
  if (!organization_id || is_elsewhere) throw new ApiError('FORBIDDEN')
  const { count } = await sql`
    update memberships set ${sql(changes)}, updated_at = now()
    where organization_id = ${organization_id} and user_id = ${caller.id} and active and removed_at is null`
  if (count === 0) throw new ApiError('FORBIDDEN')
}
