/** Looks up a caller's role in an organization, and remembers it for a few seconds. */
import { LRUCache } from 'lru-cache'
import type { Connection } from '../db/transact'
import { ApiError } from '../errors'

type Membership = { name: string; email: string; role: 'admin' | 'agent' }

/** A change that another process makes counts after 10 seconds at most; the API promises 60. */
const REMEMBER_MS = 10_000

const known = new LRUCache<string, Membership>({ max: 10_000, ttl: REMEMBER_MS })

/**
 * Returns the active membership of a user in an organization.
 * @throws FORBIDDEN for an organization that the user does not belong to, as for one that does not exist
 */
export async function getMembership(
  { sql }: Connection,
  user_id: string,
  organization_id: string,
): Promise<Membership> {
  const key = `${organization_id} ${user_id}`
  const remembered = known.get(key)
  if (remembered) return remembered
  const [membership] = await sql<Membership[]>`
    select u.name, u.email, m.role
    from memberships m join users u on u.id = m.user_id
    where m.organization_id = ${organization_id} and m.user_id = ${user_id} and m.active and m.removed_at is null`
  if (!membership) throw new ApiError('FORBIDDEN')
  known.set(key, membership)
  return membership
}

/** Forgets what is remembered of a user, after a change of the account or of a membership. */
export function forgetMemberships(user_id: string): void {
  for (const key of known.keys()) if (key.endsWith(user_id)) known.delete(key)
}
