/** Writes the anchors of messages: the Message-IDs that lead to their tickets. */
import { insertRows } from '../../base/db/insert-rows'
import type { Scope } from '../../base/scope'
import type { DraftWithId } from './draft'

/**
 * Makes the Message-ID of each message, and those that it refers to, lead to its ticket. Each may be stored already,
 * because another message has referred to it.
 * @param messages of different tickets
 */
export async function addAnchors(
  { sql, organization_id }: Scope,
  messages: { ticket_id: string; draft: DraftWithId }[],
): Promise<void> {
  const rows = messages.flatMap(({ ticket_id, draft: { id, email_message_id = null, references = [] } }) => {
    const ids = new Set(email_message_id === null ? references : [email_message_id, ...references])
    return [...ids].map((given) => ({
      organization_id,
      email_message_id: given,
      ticket_id,
      message_id: given === email_message_id ? id : null,
    }))
  })
  const on_conflict = sql`
    on conflict (organization_id, email_message_id, ticket_id) do update set message_id = excluded.message_id
    where email_anchors.message_id is null and excluded.message_id is not null`
  await insertRows(sql, 'email_anchors', rows, on_conflict)
}
