/** Writes the rows of new messages. */
import { timeOfId, toInstant } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import type { Sql } from '../../base/db/transact'
import { together } from '../../base/scope'
import { markOwn, markWritten } from '../read-marks/keep-marks'
import type { DraftWithId } from './draft'
import type { Message } from './model'
import { presentMessage } from './queries'

type MessageToInsert = MessageToShow & { ticket_id: string }

type MessageToShow = { organization_id: string; draft: DraftWithId }

/**
 * Writes messages of any tickets of an organization, with the read marks that follow, in the caller's transaction. It
 * has locked the tickets.
 * @param tickets `new`: nobody has read anything of them
 */
export async function insertMessages(
  sql: Sql,
  messages: MessageToInsert[],
  tickets: 'new' | 'there' = 'there',
): Promise<void> {
  if (!messages[0]) return
  const { organization_id } = messages[0]
  const rows = messages.map(({ organization_id, ticket_id, draft }) => {
    const { id, body, format, body_html, reply_text, is_internal, direction, sender_name, sender_email } = draft
    const { channel = 'api', auto_reply = false, from_list = false, sender_verified, reply_to, directs_answers } = draft
    const { rule_id = null, cc = [], email_message_id, email, author_id, begins_ticket = false, mentions = [] } = draft
    const drafted_by = draft.drafted_by ? JSON.stringify(draft.drafted_by) : null
    return {
      organization_id,
      id,
      ticket_id,
      ...{ body, format, body_html, reply_text, is_internal, direction, sender_name, sender_email },
      ...{
        channel,
        auto_reply,
        from_list,
        rule_id,
        sender_verified,
        reply_to,
        directs_answers,
        cc,
        email_message_id,
        mentions: JSON.stringify(mentions),
        drafted_by,
        author_id,
        begins_ticket,
      },
      signature_html: email?.signature_html,
      quoted_ids: email?.quoted_ids,
      mailbox_id: email?.mailbox_id,
      email_status: email ? 'queued' : 'none',
    }
  })
  const written = messages.map(({ ticket_id, draft: { id, author_id } }) => ({ ticket_id, id, author_id }))
  const mark = tickets === 'new' ? markOwn : markWritten
  await together([insertRows(sql, 'messages', rows), mark({ sql, organization_id }, written)])
}

/** A new message as answers show it, which has neither files nor an email: what was written says all of it. */
export function showNew({ organization_id, draft }: MessageToShow): Message {
  const { id, body, format, body_html, reply_text = null, is_internal, direction, channel = 'api', cc = [] } = draft
  const { auto_reply = false, sender_verified = null, reply_to = null, mentions = [], drafted_by = null } = draft
  return presentMessage(organization_id, {
    ...{ id, body, format, body_html, reply_text, is_internal, direction, channel },
    sender: { name: draft.sender_name, email: draft.sender_email },
    ...{ attachments: [], pictures: null, email_sent: false, email_status: 'none', email_error: null },
    email_message_id: draft.email_message_id ?? null,
    ...{
      email_recipients: [],
      cc,
      auto_reply,
      sender_verified,
      reply_to,
      mentions,
      drafted_by,
      original_ticket: null,
      created_at: toInstant(timeOfId(id)),
    },
  })
}
