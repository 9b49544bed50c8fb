import { Type } from '@sinclair/typebox'
import { MESSAGE_DIRECTIONS } from '../../base/db/schema'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { oneOf } from '../../base/shapes/fields'

/** The fields of a ticket that follow from its messages, in the order of answers. */
export const TURN = {
  last_message: orNull(
    Type.Object({
      id: Uuid,
      direction: oneOf(MESSAGE_DIRECTIONS, { description: '`inbound`: from the customer’s side' }),
      sender: Type.Object({ name: Type.String(), email: orNull(Type.String()) }, { description: 'Who wrote it' }),
      excerpt: Type.String({ description: 'Its first 160 characters, in one line; empty once it is erased' }),
      created_at: Instant,
    }),
    { description: 'The newest public one' },
  ),
  waiting_since: orNull(Instant, {
    description:
      "When the customer's side first wrote since the team's last message, `auto_reply` left out. Null: nobody waits, " +
      'or it is resolved or closed',
  }),
  message_count: Type.Integer({ description: 'Public messages' }),
  attachment_count: Type.Integer({ description: 'Files of its messages and notes' }),
  draft_count: orNull(Type.Integer(), { description: 'Null for API keys without `drafts:read`, and in events' }),
}
