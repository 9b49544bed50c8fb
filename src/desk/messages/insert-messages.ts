/** Writes the rows of new messages. */
import { timeOfId, toInstant } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import type { Sql } from '../../base/db/transact'
import type { DraftWithId } from './draft'
import type { Message } from './model'
import { presentMessage } from './queries'

type MessageToInsert = MessageToShow & { ticket_id: string }

type MessageToShow = { organization_id: string; draft: DraftWithId }

/** Writes messages of any tickets, in the caller's transaction. */
export async function insertMessages(sql: Sql, messages: MessageToInsert[]): Promise<void> {
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
      mailbox_id: email?.mailbox_id,
      email_status: email ? 'queued' : 'none',
    }
  })
  await insertRows(sql, 'messages', rows)
}

/** A new message as answers show it, which has neither files nor an email: what was written says all of it. */
export function showNew({ organization_id, draft }: MessageToShow): Message {
  const { id, body, body_html, reply_text = null, is_internal, direction, channel = 'api', cc = [] } = draft
  const { auto_reply = false, sender_verified = null, reply_to = null, drafted_by = null } = draft
  return presentMessage(organization_id, {
    ...{ id, body, body_html, reply_text, is_internal, direction, channel },
    sender: { name: draft.sender_name, email: draft.sender_email },
    ...{ attachments: [], email_sent: false, email_status: 'none', email_error: null },
    email_message_id: draft.email_message_id ?? null,
    ...{
      email_recipients: [],
      cc,
      auto_reply,
      sender_verified,
      reply_to,
      drafted_by,
      original_ticket: null,
      created_at: toInstant(timeOfId(id)),
    },
  })
}
