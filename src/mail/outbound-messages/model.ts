/** Emails of the team as the API lists them, and the queries that the list takes. */
import { Type } from '@sinclair/typebox'
import { EMAIL_STATUSES, RECIPIENT_STATUSES } from '../../base/db/schema'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { oneOf } from '../../base/shapes/fields'
import { Paging, query, queryId, queryInstant, queryText, queryWord } from '../../base/shapes/query'
import { queryAddress } from '../inbound-messages/model'

const STATUSES = EMAIL_STATUSES.filter((status) => status !== 'none')

export const OutboundMessage = Type.Object({
  id: Uuid,
  ticket: Type.Object({
    id: Uuid,
    code: Type.String({ description: 'Such as `ACME-12`' }),
    subject: Type.String({ description: 'Of the ticket now' }),
  }),
  mailbox: orNull(Type.Object({ id: Uuid, address: Type.String({ description: 'Its address now' }) }), {
    description: 'The mailbox that sends it; null once it is deleted',
  }),
  email_message_id: orNull(Type.String({ description: 'Without angle brackets' })),
  recipients: Type.Array(
    Type.Object({
      email: Type.String(),
      status: oneOf(RECIPIENT_STATUSES, { description: '`bounced`: a report came back' }),
      error: orNull(Type.String({ description: 'Why not' })),
    }),
    { description: 'In To and Cc' },
  ),
  status: oneOf(STATUSES, { description: '`sent`: the server of one recipient at least has taken it' }),
  attempts: Type.Integer({ description: 'Attempts that were used; faults of the mailbox use none' }),
  next_attempt_at: orNull(Instant, { description: 'While it is queued' }),
  server_response: orNull(Type.String(), { description: 'What the server said last, or why it could not be asked' }),
  created_at: Instant,
})
export type OutboundMessage = typeof OutboundMessage.static

export const OutboundFilter = query({
  status: queryWord(STATUSES),
  mailbox_id: queryId(),
  to: queryAddress('An address, or `@` and a domain, of a recipient'),
  subject: queryText({ description: 'Words of the subject; all must be in it' }),
  email_message_id: queryText({ description: 'The Message-ID, with or without angle brackets' }),
  created_after: queryInstant(),
  created_before: queryInstant(),
  ...Paging,
})
export type OutboundFilter = typeof OutboundFilter.static
