/**
 * The models of customers. Each is a list of its own, closed on purpose: a field that other rooms add to
 * tickets, messages or files is not shown to customers.
 */
import { Type } from '@sinclair/typebox'
import { CONTACT_TOKEN_SCOPES, MESSAGE_DIRECTIONS, TICKET_STATUSES } from '../../base/db/schema'
import { Instant, orNull, TicketCode, Uuid } from '../../base/shapes/answers'
import { body, IdsInput, oneOf, optional, text } from '../../base/shapes/fields'
import { Paging, query, queryWord } from '../../base/shapes/query'
import { bodyInput, showsWords } from '../messages/model'
import { Rating } from '../ratings/model'

export const NewContactToken = body({
  ttl_seconds: optional(
    Type.Integer({
      minimum: 60,
      maximum: 3600,
      fault: 'must be a whole number from 60 to 3600',
      description: 'How long it is good for. Default 900',
    }),
  ),
  scope: optional(
    oneOf(CONTACT_TOKEN_SCOPES, {
      description:
        "The tickets that it shows: the contact's, or with `company` also those of its company. Default `own`",
    }),
  ),
})
export type NewContactToken = typeof NewContactToken.static

export const ContactToken = Type.Object({
  id: Uuid,
  token: Type.String({ description: 'Shown once: `Authorization: Bearer` of `/my`' }),
  scope: oneOf(CONTACT_TOKEN_SCOPES, { description: 'Whose tickets it shows' }),
  expires_at: Instant,
})
export type ContactToken = typeof ContactToken.static

export const MyTicket = Type.Object({
  id: Uuid,
  code: TicketCode,
  subject: Type.String(),
  status: oneOf(TICKET_STATUSES, { description: 'An answer of the customer makes it `open` again' }),
  contact: orNull(Type.Object({ name: Type.String() }), { description: 'Who submitted it' }),
  created_at: Instant,
  updated_at: Instant,
})
export type MyTicket = typeof MyTicket.static

export const MyRatedTicket = Type.Composite([
  MyTicket,
  Type.Object({ rating: orNull(Rating, { description: "The customer's own; null on a ticket of a colleague" }) }),
])
export type MyRatedTicket = typeof MyRatedTicket.static

export const MyAttachment = Type.Object({
  id: Uuid,
  filename: Type.String({ description: 'Without path and control characters' }),
  content_type: Type.String({ description: 'Media type, as given when it was uploaded or sent' }),
  size: Type.Integer({ description: 'Bytes' }),
  url: Type.String({ format: 'uri', description: 'Where the bytes are; works for an hour without a token' }),
})
export type MyAttachment = typeof MyAttachment.static

export const MyMessage = Type.Object({
  id: Uuid,
  body_html: Type.String({ description: 'Safe to put in a page as it is. Of an email only its new part' }),
  direction: oneOf(MESSAGE_DIRECTIONS, { description: '`inbound`: from customers; `outbound`: from the team' }),
  sender: Type.Object({ name: Type.String() }),
  mine: Type.Boolean({ description: 'Whether the holder of the token wrote it' }),
  attachments: Type.Array(MyAttachment, { description: 'In the order of their upload' }),
  created_at: Instant,
})
export type MyMessage = typeof MyMessage.static

export const MyTicketFilter = query({ status: queryWord(TICKET_STATUSES, { code: 'INVALID_STATUS' }), ...Paging })
export type MyTicketFilter = typeof MyTicketFilter.static

const written = {
  body: bodyInput({ description: 'Text, which is shown as it is' }),
  attachment_ids: optional(
    IdsInput({ not_found: 'ATTACHMENT_NOT_FOUND', description: 'Uploads of `POST /my/attachments`' }),
  ),
}

/** Customers write text, whatever it looks like. */
const whole = showsWords('text')

export const NewMyMessage = body(written, { whole })
export type NewMyMessage = typeof NewMyMessage.static

export const NewMyTicket = body({ subject: text({ min: 1, max: 255 }), ...written }, { whole })
export type NewMyTicket = typeof NewMyTicket.static
