import { Type } from '@sinclair/typebox'
import { isEmailAddress } from '../../base/address/email'
import {
  AUTHOR_TYPES,
  EMAIL_STATUSES,
  MESSAGE_CHANNELS,
  MESSAGE_DIRECTIONS,
  QUOTES,
  RECIPIENT_KINDS,
  RECIPIENT_STATUSES,
  TEXT_FORMATS,
} from '../../base/db/schema'
import { isLong, renderBody, showsNothing } from '../../base/html/body'
import type { Format } from '../../base/html/formats'
import { withoutHeldPictures } from '../../base/html/image-addresses'
import { Instant, orNull, TicketCode, Uuid } from '../../base/shapes/answers'
import { body, flag, IdInput, IdsInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { Paging, query, queryFlag } from '../../base/shapes/query'
import { Attachment } from '../attachments/model'

const BODY_HTML =
  'Safe to put in a page as it is: runs nothing and covers nothing around it. Images among the attachments are shown, ' +
  'and so are https images that the team wrote. In what a customer wrote the address of any other image is in ' +
  '`data-src`, because loading it would tell the sender that the message is read: copy it to `src` to show the image. ' +
  'At most 2,000,000 characters; `body` has everything'

/** The author of a draft. */
export const Author = Type.Object(
  { type: oneOf(AUTHOR_TYPES, { description: 'A person or an API key' }), id: Uuid, name: Type.String() },
  { description: 'Who has written it' },
)
export type Author = typeof Author.static

export const Message = Type.Object({
  id: Uuid,
  body: Type.String({ description: 'As given; of an email its plain text' }),
  format: oneOf(TEXT_FORMATS, {
    description: '`text`: shown as typed; `html`: shown as HTML. Of an email: whether it has a part in HTML',
  }),
  body_html: Type.String({ description: BODY_HTML }),
  reply_text: orNull(
    Type.String({ description: 'The new part of an inbound email, as text without quoted history and signature' }),
  ),
  is_internal: Type.Boolean({ description: 'A note for the team only, which never sends email' }),
  direction: orNull(oneOf(MESSAGE_DIRECTIONS), {
    description: '`inbound`: from the customer; `outbound`: from the team; null: an internal note',
  }),
  channel: oneOf(MESSAGE_CHANNELS, { description: "`portal`: written on a page of the customer's (`/my`)" }),
  sender: Type.Object({
    name: Type.String(),
    email: orNull(Type.String({ description: 'Null: the service itself, or nobody can read who wrote' })),
  }),
  attachments: Type.Array(Attachment, { description: 'In the order of their upload' }),
  email_sent: Type.Boolean({ description: 'Whether the server of a recipient took it' }),
  email_status: oneOf(EMAIL_STATUSES, {
    description: '`none`: not by email; `queued`: tried again by itself; `sent` when one recipient took it',
  }),
  email_error: orNull(Type.String({ description: 'What a server last said against it' })),
  email_message_id: orNull(Type.String({ description: 'Without angle brackets' })),
  email_recipients: Type.Array(
    Type.Object({
      kind: oneOf(RECIPIENT_KINDS, { description: 'Where the address stands in the email' }),
      email: Type.String(),
      status: oneOf(RECIPIENT_STATUSES, { description: 'Of this recipient alone' }),
      error: orNull(Type.String({ description: 'What the server said against it' })),
    }),
    { description: 'Whom an outbound email goes to' },
  ),
  cc: Type.Array(Type.String(), { description: 'Addresses in Cc' }),
  auto_reply: Type.Boolean({ description: 'Written by a machine; does not reopen the ticket' }),
  sender_verified: orNull(Type.Boolean(), {
    description:
      'Of an inbound email: true when DMARC proves its sender; false when the sender is forged; null when it cannot be told. True of a `portal` message',
  }),
  reply_to: orNull(
    Type.String({
      description:
        'Of an inbound email: where its sender wants answers, when that is another address. `recipients` of the ticket ' +
        'says if answers go there',
    }),
  ),
  mentions: Type.Array(Type.Object({ id: Uuid, name: Type.String() }), {
    description: 'Members whom a note names, with their names at that time',
  }),
  drafted_by: orNull(Author, { description: 'Who wrote the draft that it was sent from' }),
  original_ticket: orNull(Type.Object({ id: Uuid, code: TicketCode }), {
    description: 'The ticket that it was written on, while a merge has it elsewhere',
  }),
  created_at: Instant,
})
export type Message = typeof Message.static

export const MessageOfTicket = Type.Composite([
  Message,
  Type.Object({ ticket: Type.Object({ id: Uuid, code: TicketCode, subject: Type.String() }) }),
])
export type MessageOfTicket = typeof MessageOfTicket.static

const Addressee = Type.Object({ name: orNull(Type.String()), email: Type.String() })

export const Recipients = Type.Object({
  from: orNull(Addressee, { description: 'The mailbox that would send; null: there is none that can' }),
  to: Type.Array(Addressee, { description: 'The contact, where it wants answers; empty: no email would be sent' }),
  cc: Type.Array(
    Type.Composite([
      Addressee,
      Type.Object({
        left_out: Type.Optional(
          Type.Literal(true, { description: "The contact's last reply went to you alone, without this person" }),
        ),
      }),
    ]),
    { description: 'The confirmed participants' },
  ),
  quote: oneOf(QUOTES, { description: 'The earlier messages that would stand below it: as the mailbox says' }),
})
export type Recipients = typeof Recipients.static

const email = text({ max: 254, rule: isEmailAddress, code: 'INVALID_EMAIL', fault: 'must be an email address' })

export const EMPTY_BODY = 'must have text or an image'

const FORMAT =
  '`text`: shown as typed; `html`: a tag with an unknown name is shown as text. Default: `html` when each sign that ' +
  'could begin a tag does, and each element ends, else `text`'

/** The form of a text that is changed. */
export const FORMAT_CHANGE = 'With a text as in a create; alone it reads the text that is kept anew'

/** The form of a text that is given. */
export const formatInput = (description = FORMAT) => optional(oneOf(TEXT_FORMATS, { description }))

/** Characters of a text, in which the pictures that it holds itself do not count. */
export const MOST_CHARACTERS = 1_000_000

/** The words of a message. */
export const bodyInput = (options: { description: string; measured?: (text: string) => string }) =>
  text({
    max: MOST_CHARACTERS,
    trim: false,
    code: 'EMPTY_BODY',
    missing_code: 'EMPTY_BODY',
    fault: EMPTY_BODY,
    ...options,
  })

const PICTURES =
  'An image of HTML may name a file of the ticket by its id or Content-ID (`cid:`) or its address, or an upload, which ' +
  'is attached then; one that it holds itself (`data:`) becomes a file, and does not count for the length'

/** The words of a message of the team, and its addresses; a draft has the same. */
export const said = {
  body: bodyInput({ description: `Plain text or HTML. ${PICTURES}`, measured: withoutHeldPictures }),
  format: formatInput(),
  is_internal: optional(flag({ description: 'An internal note, which never sends email. Default false' })),
  attachment_ids: optional(IdsInput({ not_found: 'ATTACHMENT_NOT_FOUND' })),
  cc: optional(
    Type.Array(email, {
      maxItems: 20,
      code: 'INVALID_EMAIL',
      fault: 'must be a list of at most 20 email addresses',
      description: 'Instead of the confirmed participants',
    }),
  ),
  mention_user_ids: optional(
    IdsInput({
      maxItems: 20,
      fault: 'must be a list of at most 20 ids',
      not_found: 'USER_NOT_FOUND',
      description: 'Active members whom a note names, and who are told of it; of notes only',
    }),
  ),
}

/** The fault of a public message that names members. */
export const NO_MENTIONS = 'must be absent: only notes name members'

/** Refuses members that a public message names. */
export function namesNobody({ is_internal, mention_user_ids }: Record<string, unknown>) {
  const names = Array.isArray(mention_user_ids) && mention_user_ids.length > 0
  return names && is_internal !== true
    ? [{ path: '/mention_user_ids', code: 'VALIDATION_ERROR' as const, message: NO_MENTIONS }]
    : []
}

/**
 * Refuses a body that shows nothing in its form. A long one is judged by the command, once it is rendered.
 * @param said_format the form that the route takes, whatever the request says
 */
export const showsWords = (said_format?: Format) => (given: Record<string, unknown>) => {
  const { body, format } = given
  if (typeof body !== 'string' || isLong(body)) return []
  const known = said_format ?? TEXT_FORMATS.find((one) => one === format)
  return showsNothing(renderBody(known === 'text' ? body : withoutHeldPictures(body), known))
    ? [{ path: '/body', code: 'EMPTY_BODY' as const, message: EMPTY_BODY }]
    : []
}

export const send_email = optional(flag({ description: 'Default true for public messages' }))

/** The earlier messages that the email of a public message shows below it. */
export const quote = optional(
  oneOf(QUOTES, {
    description:
      'Below the email: the newest earlier public message (`last`) or all, newest first. Default: as its mailbox says',
  }),
)

const after = optional(
  nullable(
    IdInput({
      not_found: 'MESSAGE_NOT_FOUND',
      description:
        'The last message or note that you have seen, null: none. When a later one is there, `PRECONDITION_FAILED` ' +
        'says in `details` how many (`total`) and shows the first 20 (`messages`, fewer of more than 1 MB)',
    }),
  ),
)

/** Judges a new message, or draft, as a whole. */
export function ofNewMessage(given: Record<string, unknown>) {
  return [...showsWords()(given), ...namesNobody(given)]
}

export const NewMessage = body(
  {
    body: said.body,
    format: said.format,
    is_internal: said.is_internal,
    send_email,
    attachment_ids: said.attachment_ids,
    cc: said.cc,
    quote,
    mention_user_ids: said.mention_user_ids,
    after,
  },
  { whole: ofNewMessage },
)
export type NewMessage = typeof NewMessage.static

export const MessageFilter = query({ include_internal: queryFlag({ description: 'Default true' }), ...Paging })
export type MessageFilter = typeof MessageFilter.static
