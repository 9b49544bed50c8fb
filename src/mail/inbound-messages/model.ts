/** The mail ledger as the API shows it, and the queries that it takes. */
import { Type } from '@sinclair/typebox'
import { AUTHENTICATION_RESULTS, INBOUND_OUTCOMES, THREADING_RULES } from '../../base/db/schema'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { oneOf } from '../../base/shapes/fields'
import { Paging, query, queryFlag, queryId, queryValue, queryWord } from '../../base/shapes/query'

const OUTCOMES =
  '`pending`: not filed yet; `ticket`, `message`: became one; `bounce`: a report about a message of ours; ' +
  '`unmatched_bounce`: about no message of ours; `duplicate`: filed before; `own`: sent by this service; ' +
  '`unparsed`: became a ticket with the original attached'

export const InboundMessage = Type.Object({
  id: orNull(Uuid, { description: 'Null: a dry run, which stores nothing' }),
  mailbox: orNull(
    Type.Object({
      id: orNull(Uuid, { description: 'Null once the mailbox is deleted' }),
      address: Type.String({ description: 'Address of the mailbox at that time' }),
    }),
    { description: 'The mailbox that received it' },
  ),
  email_message_id: orNull(Type.String({ description: 'Without angle brackets' })),
  from: orNull(
    Type.Object({
      name: orNull(Type.String({ description: 'The display name' })),
      email: orNull(Type.String({ description: 'Null: there is no usable address' })),
    }),
    { description: 'The sender; null while pending' },
  ),
  subject: orNull(Type.String({ description: 'As sent; null while pending, or without one' })),
  size: Type.Integer({ description: 'Bytes of the original' }),
  remote_address: orNull(
    Type.String({ description: 'IP address of the server that delivered it; behind a trusted proxy, of its client' }),
    { description: 'Null: imported, or taken by a release that did not keep it. The same holds for `helo` and `tls`' },
  ),
  helo: orNull(Type.String({ description: 'What that server called itself in HELO or EHLO' })),
  tls: orNull(Type.Boolean({ description: 'Whether it came over TLS' })),
  sender_verified: orNull(Type.Boolean(), {
    description:
      'True: DMARC proves the sender; false: DMARC fails, and the domain wants such mail to be quarantined or rejected, or `From` is ambiguous; null: it cannot be told, or is still pending',
  }),
  authentication: orNull(
    Type.Object({
      spf: oneOf(AUTHENTICATION_RESULTS, { description: 'Of the server that delivered it (RFC 7208)' }),
      dkim: oneOf(AUTHENTICATION_RESULTS, { description: '`pass` when one of several signatures passes' }),
      dmarc: oneOf(AUTHENTICATION_RESULTS, { description: 'Of the domain of From (RFC 7489)' }),
      arc: oneOf(AUTHENTICATION_RESULTS, { description: 'Of the servers that passed it on (RFC 8617)' }),
    }),
    { description: 'Results in the words of RFC 8601; null while pending, or when it was not checked' },
  ),
  received_at: Instant,
  outcome: oneOf(INBOUND_OUTCOMES, { description: OUTCOMES }),
  rule: orNull(oneOf(THREADING_RULES), {
    description:
      'What led to the ticket; `message_id`: a reply to it that arrived before; `new`: nothing did, so a ticket was made',
  }),
  ticket_id: orNull(Uuid, { description: 'The ticket that it became or joined' }),
  message_id: orNull(Uuid, { description: 'The message that it became; of a bounce the one that it is about' }),
})
export type InboundMessage = typeof InboundMessage.static

export const InboundFilter = query({ outcome: queryWord(INBOUND_OUTCOMES), mailbox_id: queryId(), ...Paging })
export type InboundFilter = typeof InboundFilter.static

export const InboundOptions = query({
  mailbox_id: queryValue({ type: 'string', format: 'uuid' }, (text) => text, {
    not_found: 'MAILBOX_NOT_FOUND',
    description: 'Required: the mailbox that is to have received it',
  }),
  dry_run: queryFlag({ description: 'Only say what it would become, and store nothing' }),
})
export type InboundOptions = typeof InboundOptions.static
