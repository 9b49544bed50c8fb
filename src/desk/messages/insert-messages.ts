/** Writes the rows of new messages. */
import { insertRows } from '../../base/db/insert-rows'
import type { Sql } from '../../base/db/transact'
import type { DraftWithId } from './draft'

/** Writes messages of any tickets, in the caller's transaction. */
export async function insertMessages(
  sql: Sql,
  messages: { organization_id: string; ticket_id: string; draft: DraftWithId }[],
): Promise<void> {
  const rows = messages.map(({ organization_id, ticket_id, draft }) => {
    const { id, body, body_html, reply_text, is_internal, direction, sender_name, sender_email } = draft
    const { channel = 'api', auto_reply = false, sender_verified, reply_to, cc = [], email_message_id, email } = draft
    const drafted_by = draft.drafted_by ? JSON.stringify(draft.drafted_by) : null
    return {
      organization_id,
      id,
      ticket_id,
      ...{ body, body_html, reply_text, is_internal, direction, sender_name, sender_email },
      ...{ channel, auto_reply, sender_verified, reply_to, cc, email_message_id, drafted_by },
      signature_html: email?.signature_html,
      email_status: email ? 'queued' : 'none',
    }
  })
  await insertRows(sql, 'messages', rows)
}
