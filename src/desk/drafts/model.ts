import { Type } from '@sinclair/typebox'
import { QUOTES, SEND_ERRORS } from '../../base/db/schema'
import { Instant, orNull, TicketCode, Uuid } from '../../base/shapes/answers'
import { body, flag, IdInput, instantInput, nullable, oneOf, optional } from '../../base/shapes/fields'
import { Paging, query, queryFlag, queryId } from '../../base/shapes/query'
import { Attachment } from '../attachments/model'
import { changesInput } from '../macros/model'
import {
  Author,
  FORMAT_CHANGE,
  formatInput,
  Message,
  namesNobody,
  ofNewMessage,
  quote,
  said,
  send_email,
  showsWords,
} from '../messages/model'

export const Draft = Type.Object({
  id: Uuid,
  ticket: Type.Object({ id: Uuid, code: TicketCode, subject: Type.String() }),
  author: { ...Author, description: 'Whose it is: a person, or a program with an API key' },
  written_by: orNull(Author, {
    description: 'Its author before: the API key whose draft a person sends later, or a member who left. Else null',
  }),
  body: Message.properties.body,
  format: Message.properties.format,
  body_html: Message.properties.body_html,
  is_internal: Message.properties.is_internal,
  mentions: Message.properties.mentions,
  cc: orNull(Type.Array(Type.String()), { description: 'Null: the confirmed participants when it is sent' }),
  quote: orNull(oneOf(QUOTES), { description: 'The earlier messages below its email; null: as the mailbox says then' }),
  attachments: Type.Array(Attachment, { description: 'In the order of their upload' }),
  based_on: orNull(Uuid, {
    description: 'The newest public message that its author has seen; null: the ticket had none',
  }),
  stale: Type.Boolean({ description: 'A reply, and a public message newer than `based_on` has come' }),
  send_at: orNull(Instant, { description: 'When it is sent by itself, as by its author; null: not by itself' }),
  unless_answered: Type.Boolean({ description: 'At `send_at` it is not sent when it is `stale`' }),
  send_error: orNull(
    Type.Object({
      code: oneOf(SEND_ERRORS, { description: 'As of errors' }),
      message: Type.String({ description: 'In words' }),
    }),
    { description: 'Why it was not sent at its moment, which is over. Null once `send_at` is given again' },
  ),
  created_at: Instant,
  updated_at: Instant,
})
export type Draft = typeof Draft.static

const later = {
  send_at: optional(
    nullable(
      instantInput({
        description:
          'Sends a reply at that time, within a year, as by its author; null: not by itself. For people only: who sends ' +
          'the draft of an API key later becomes its author, and the key changes it no more',
        'x-needs': 'member',
      }),
    ),
  ),
  unless_answered: optional(
    flag({
      description: 'Keeps it at `send_at` when a public message has come since `based_on`. Default: true',
      'x-needs': 'member',
    }),
  ),
}

const based_on = (description: string) => IdInput({ not_found: 'MESSAGE_NOT_FOUND', description })

export const NewDraft = body(
  {
    ...said,
    quote,
    based_on: optional(based_on('The newest public message that you have seen. Default: the newest of the ticket')),
    ...later,
  },
  { whole: ofNewMessage },
)
export type NewDraft = typeof NewDraft.static

export const DraftChanges = body(
  {
    body: optional(said.body),
    format: formatInput(FORMAT_CHANGE),
    is_internal: said.is_internal,
    attachment_ids: said.attachment_ids,
    cc: optional(nullable(said.cc)),
    quote: optional(nullable(quote)),
    mention_user_ids: said.mention_user_ids,
    based_on: optional(based_on('A public message that you have seen: the draft is stale no more if it is the newest')),
    ...later,
  },
  // Without `is_internal` the draft says what it is.
  { whole: (given) => [...showsWords()(given), ...namesNobody({ is_internal: true, ...given })] },
)
export type DraftChanges = typeof DraftChanges.static

export const DraftSending = body({
  send_email,
  changes: optional(
    changesInput(
      'What is changed of the ticket with it, all or nothing. It needs `tickets:write` too',
      'tickets:write',
    ),
  ),
})
export type DraftSending = typeof DraftSending.static

export const DraftFilter = query({ ticket_id: queryId(), author_id: queryId(), stale: queryFlag(), ...Paging })
export type DraftFilter = typeof DraftFilter.static
