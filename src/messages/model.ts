import { Type } from '@sinclair/typebox'
import { Attachment } from '../attachments/model'
import { isEmailAddress } from '../contacts/email'
import { EMAIL_STATUSES, MESSAGE_DIRECTIONS, RECIPIENT_STATUSES } from '../db/schema'
import { body, flag, IdsInput, Instant, oneOf, optional, orNull, Paging, query, queryFlag, text, Uuid } from '../model'
import { isBlank } from './body'

export const Message = Type.Object({
  id: Uuid,
  body: Type.String({ description: 'As given; plain text or HTML' }),
  body_html: Type.String({ description: 'Safe to put in a page' }),
  reply_text: orNull(Type.String({ description: 'The new part of an inbound email' })),
  is_internal: Type.Boolean(),
  direction: orNull(oneOf(MESSAGE_DIRECTIONS)),
  sender: Type.Object({ name: Type.String(), email: orNull(Type.String()) }),
  attachments: Type.Array(Attachment),
  email_sent: Type.Boolean(),
  email_status: oneOf(EMAIL_STATUSES),
  email_error: orNull(Type.String()),
  email_message_id: orNull(Type.String({ description: 'Without angle brackets' })),
  email_recipients: Type.Array(
    Type.Object({ email: Type.String(), status: oneOf(RECIPIENT_STATUSES), error: orNull(Type.String()) }),
  ),
  cc: Type.Array(Type.String()),
  auto_reply: Type.Boolean(),
  created_at: Instant,
})
export type Message = typeof Message.static

const email = text({ max: 254, rule: isEmailAddress, code: 'INVALID_EMAIL', fault: 'must be an email address' })

export const NewMessage = body({
  body: text({
    max: 1_000_000,
    trim: false,
    rule: (value) => !isEmpty(value),
    code: 'EMPTY_BODY',
    missing_code: 'EMPTY_BODY',
    fault: 'must have text or an image',
    description: 'Plain text or HTML',
  }),
  is_internal: optional(flag({ description: 'An internal note, which never sends email. Default false' })),
  send_email: optional(flag({ description: 'Default true for public messages' })),
  attachment_ids: optional(IdsInput()),
  cc: optional(
    Type.Array(email, {
      maxItems: 20,
      code: 'INVALID_EMAIL',
      fault: 'must be a list of at most 20 email addresses',
      description: 'Instead of the confirmed participants',
    }),
  ),
})
export type NewMessage = typeof NewMessage.static

export const MessageFilter = query({
  include_internal: queryFlag({ description: 'Default true' }),
  ...Paging,
})
export type MessageFilter = typeof MessageFilter.static

let last = { body: '', is_empty: true }

/** Elysia asks twice about each body, and the answer costs as much as rendering it: the last one is kept. */
function isEmpty(body: string): boolean {
  if (last.body !== body) last = { body, is_empty: isBlank(body) }
  return last.is_empty
}
