/** Letters to the admins of an organization whose webhook has failed. */
import type { Scope } from '../../base/scope'
import type { WebhookFailure } from '../../delivery/webhooks/failure'
import { rolesThatMay } from '../../http/request/permissions'
import { enqueueLetter } from './enqueue-letter'
import { webhookLetter } from './letter-texts'
import { findWay } from './ways'

/** A letter that could not leave for so long says nothing new. */
const VALID_S = 86_400

/** Writes a letter to each active admin, in the caller's transaction. @returns false when no letter can leave */
export async function writeFailureLetters(scope: Scope, failure: WebhookFailure): Promise<boolean> {
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
    const letter = webhookLetter({ organization, ...failure })
    await enqueueLetter(scope, way, { about_id: failure.id, recipient: email, valid_s: VALID_S, ...letter })
  }
  return true
}
