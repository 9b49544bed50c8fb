/** Writes the rows of new messages. */
import { insertRows } from '../db/insert-rows'
import type { Scope } from '../scope'
import type { DraftWithId } from './draft'

/** Writes messages of any tickets of the organization, in the caller's transaction. */
export async function insertMessages(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  messages: { ticket_id: string; draft: DraftWithId }[],
): Promise<void> {
  const rows = messages.map(({ ticket_id, draft }) => {
    const { id, body, body_html, reply_text, is_internal, direction, sender_name, sender_email } = draft
    const { auto_reply = false, sender_verified, reply_to, cc = [], email_message_id, email } = draft
    return {
      organization_id,
      id,
      ticket_id,
      ...{ body, body_html, reply_text, is_internal, direction, sender_name, sender_email },
      ...{ auto_reply, sender_verified, reply_to, cc, email_message_id },
      email_status: email ? 'queued' : 'none',
    }
  })
  await insertRows(sql, 'messages', rows)
}
