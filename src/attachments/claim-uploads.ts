/** Gives uploads to the messages that use them. */
import { unknownIds } from '../errors'
import type { Scope } from '../scope'
import { asIds } from '../shapes/ids'

/**
 * Gives uploads to a message, in the caller's transaction.
 * @throws ATTACHMENT_NOT_FOUND (422) naming those that are unknown or used by another message
 */
export function claimAttachments(scope: Scope, message_id: string, given: string[]): Promise<void> {
  return claimForEach(scope, [{ message_id, given }])
}

/** As `claimAttachments`, for several messages by one statement. */
export async function claimForEach(
  { sql, organization_id }: Scope,
  messages: { message_id: string; given: string[] }[],
): Promise<void> {
  const wanted = messages.flatMap(({ message_id, given }) => asIds(given).map((id) => ({ id, message_id })))
  const named = messages.flatMap(({ given }) => given)
  if (named.length === 0) return
  const claimed = await sql<{ id: string }[]>`
    update attachments a set message_id = g.message_id
    from unnest(${wanted.map(({ id }) => id)}::uuid[], ${wanted.map(({ message_id }) => message_id)}::uuid[])
      as g (id, message_id)
    where a.organization_id = ${organization_id} and a.id = g.id and a.message_id is null
    returning a.id`
  const known = new Set(claimed.map(({ id }) => id))
  const unknown = [...new Set(named)].filter((id) => !known.has(id.toLowerCase()))
  if (unknown.length > 0) throw unknownIds('ATTACHMENT_NOT_FOUND', '/attachment_ids', unknown)
}
