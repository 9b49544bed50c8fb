/** Writes the rows of new messages, for commands that write more in the same statement. */
import type { Fragment, Sql } from '../db/transact'
import type { DraftWithId } from './draft'

/** A message that is to be written, and its ticket. */
type MessageToInsert = { organization_id: string; ticket_id: string; draft: DraftWithId }

/**
 * The statement that writes messages of any tickets.
 * @param joined limits the rows `x`: `join t on t.id = x.ticket_id`
 */
export function insertMessages(sql: Sql, messages: MessageToInsert[], joined = sql``): Fragment {
  const rows = messages.map(({ draft, ...place }) => {
    const { id, body, body_html, reply_text, is_internal, direction, sender_name, sender_email } = draft
    const { auto_reply = false, sender_verified, reply_to, cc = [], email_message_id, email } = draft
    const texts = { body, body_html, reply_text, sender_name, sender_email, email_message_id }
    const email_status = email ? 'queued' : 'none'
    return { ...place, id, ...texts, is_internal, direction, auto_reply, sender_verified, reply_to, cc, email_status }
  })
  return sql`
    insert into messages (organization_id, id, ticket_id, body, body_html, reply_text, is_internal, direction,
      sender_name, sender_email, auto_reply, sender_verified, reply_to, cc, email_message_id, email_status)
    select x.*
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (organization_id uuid, id uuid, ticket_id uuid,
      body text, body_html text, reply_text text, is_internal boolean, direction text, sender_name text,
      sender_email text, auto_reply boolean, sender_verified boolean, reply_to text, cc text[], email_message_id text,
      email_status text)
    ${joined}`
}
