import { Type } from '@sinclair/typebox'
import { INBOUND_OUTCOMES, THREADING_RULES } from '../db/schema'
import { Instant, oneOf, orNull, Paging, query, queryFlag, queryId, queryValue, queryWord, Uuid } from '../model'

export const InboundMessage = Type.Object({
  id: orNull(Uuid),
  mailbox: orNull(Type.Object({ id: orNull(Uuid), address: Type.String() })),
  email_message_id: orNull(Type.String({ description: 'Without angle brackets' })),
  from: orNull(Type.Object({ name: orNull(Type.String()), email: orNull(Type.String()) })),
  subject: orNull(Type.String()),
  size: Type.Integer({ description: 'Bytes of the original' }),
  received_at: Instant,
  outcome: oneOf(INBOUND_OUTCOMES),
  rule: orNull(oneOf(THREADING_RULES)),
  ticket_id: orNull(Uuid),
  message_id: orNull(Uuid),
})
export type InboundMessage = typeof InboundMessage.static

export const InboundFilter = query({
  outcome: queryWord(INBOUND_OUTCOMES),
  mailbox_id: queryId(),
  ...Paging,
})
export type InboundFilter = typeof InboundFilter.static

export const InboundOptions = query({
  mailbox_id: queryValue({ type: 'string', format: 'uuid' }, (text) => text, {
    description: 'Required: the mailbox that is to have received it',
  }),
  dry_run: queryFlag({ description: 'Only tell what would become of it' }),
})
export type InboundOptions = typeof InboundOptions.static
