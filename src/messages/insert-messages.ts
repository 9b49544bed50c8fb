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
  // Texts are no JSON, which the database would read twice: of 500 kB that takes some milliseconds.
  const drafts = messages.map(({ draft }) => draft)
  const rows = messages.map(({ draft, ...place }) => {
    const { id, is_internal, direction, sender_name, sender_email } = draft
    const { auto_reply = false, sender_verified, reply_to, cc = [], email_message_id, email } = draft
    const names = { sender_name, sender_email, reply_to, cc, email_message_id }
    const email_status = email ? 'queued' : 'none'
    return { ...place, id, is_internal, direction, auto_reply, sender_verified, ...names, email_status }
  })
  return sql`
    insert into messages (organization_id, id, ticket_id, body, body_html, reply_text, is_internal, direction,
      sender_name, sender_email, auto_reply, sender_verified, reply_to, cc, email_message_id, email_status)
    select x.organization_id, x.id, x.ticket_id, texts.body, texts.body_html, texts.reply_text, x.is_internal, x.direction,
      x.sender_name, x.sender_email, x.auto_reply, x.sender_verified, x.reply_to, x.cc, x.email_message_id, x.email_status
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (organization_id uuid, id uuid, ticket_id uuid,
      is_internal boolean, direction text, sender_name text, sender_email text, auto_reply boolean,
      sender_verified boolean, reply_to text, cc text[], email_message_id text, email_status text)
    join unnest(${drafts.map(({ id }) => id)}::uuid[], ${drafts.map(({ body }) => body)}::text[],
      ${drafts.map(({ body_html }) => body_html)}::text[],
      ${drafts.map(({ reply_text }) => reply_text ?? null)}::text[]) as texts (id, body, body_html, reply_text)
      on texts.id = x.id
    ${joined}`
}
