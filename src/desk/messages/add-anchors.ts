/** Writes the anchors of messages: the Message-IDs that lead to their tickets. */
import { insertRows } from '../../base/db/insert-rows'
import type { Scope } from '../../base/scope'
import type { DraftWithId } from './draft'

type AnchorRow = { organization_id: string; email_message_id: string; ticket_id: string; message_id: string | null }

/**
 * Makes the Message-ID of each message, and those that it refers to, lead to its ticket. Each may be stored already,
 * because another message has referred to it.
 */
export async function addAnchors(
  { sql, organization_id }: Scope,
  messages: { ticket_id: string; draft: DraftWithId }[],
): Promise<void> {
  // A statement may write a row once: of messages of one ticket each id counts once, that of the message first.
  const rows = new Map<string, AnchorRow>()
  for (const { ticket_id, draft } of messages) {
    const { id, email_message_id = null, references = [] } = draft
    for (const given of email_message_id === null ? references : [email_message_id, ...references]) {
      const place = `${ticket_id} ${given}`
      const message_id = rows.get(place)?.message_id ?? (given === email_message_id ? id : null)
      rows.set(place, { organization_id, email_message_id: given, ticket_id, message_id })
    }
  }
  const on_conflict = sql`
    on conflict (organization_id, email_message_id, ticket_id) do update set message_id = excluded.message_id
    where email_anchors.message_id is null and excluded.message_id is not null`
  await insertRows(sql, 'email_anchors', [...rows.values()], on_conflict)
}
