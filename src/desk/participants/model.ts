import { Type } from '@sinclair/typebox'
import { isEmailAddress } from '../../base/address/email'
import { orNull, Uuid } from '../../base/shapes/answers'
import { body, optional, text } from '../../base/shapes/fields'

export const Participant = Type.Object({
  id: Uuid,
  name: orNull(Type.String({ description: 'Null: not known' })),
  email: Type.String(),
  contact_id: orNull(Uuid, { description: 'The contact with this email, if any' }),
  confirmed: Type.Boolean({ description: 'Only confirmed participants get public replies' }),
})
export type Participant = typeof Participant.static

export const NewParticipant = body({
  email: text({ max: 254, rule: isEmailAddress, code: 'INVALID_EMAIL', fault: 'must be an email address' }),
  name: optional(text({ min: 1, max: 255 })),
})
export type NewParticipant = typeof NewParticipant.static
