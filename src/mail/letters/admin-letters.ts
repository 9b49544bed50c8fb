/** Letters to the admins of an organization of which something was switched off. */
import type { Scope } from '../../base/scope'
import type { SwitchedOff } from '../../delivery/told/tell-admins'
import { rolesThatMay } from '../../http/request/permissions'
import { enqueueLetter } from './enqueue-letter'
import { switchedOffLetter } from './letter-texts'
import { findWay } from './ways'

/** A letter that could not leave for so long says nothing new. */
const VALID_S = 86_400

/** Writes a letter to each active admin, in the caller's transaction. @returns false when no letter can leave */
export async function writeAdminLetters(scope: Scope, off: SwitchedOff): Promise<boolean> {
  const way = await findWay(scope)
  if (!way) return false
  const { sql, organization_id } = scope
  const admins = await sql<{ email: string; organization: string }[]>`
    select u.email, o.name as organization from memberships m
    join users u on u.id = m.user_id
    join organizations o on o.id = ${organization_id}
    where m.organization_id = ${organization_id} and m.role = any(${rolesThatMay('webhooks:write')}::text[])
      and m.active and m.removed_at is null
    order by u.id`
  for (const { email, organization } of admins) {
    const letter = switchedOffLetter(organization, off)
    const about_id = off.id ?? organization_id
    await enqueueLetter(scope, way, { about_id, recipient: email, valid_s: VALID_S, ...letter })
  }
  return true
}
