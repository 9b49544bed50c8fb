import { Type } from '@sinclair/typebox'
import { toDomain } from '../../base/address/domains'
import { isEmailAddress } from '../../base/address/email'
import { SENDER_RULE_ACTIONS } from '../../base/db/schema'
import { Instant, Uuid } from '../../base/shapes/answers'
import { body, oneOf, text } from '../../base/shapes/fields'

export const SenderRule = Type.Object({
  id: Uuid,
  sender: Type.String({ description: 'An address, or a domain with those below it' }),
  action: oneOf(SENDER_RULE_ACTIONS, {
    description: '`block`: its mail is held; `allow`: its mail is never held, unless the sender is forged',
  }),
  created_at: Instant,
})
export type SenderRule = typeof SenderRule.static

export const NewSenderRule = body({
  sender: text({
    min: 1,
    max: 254,
    rule: (value) => isEmailAddress(value) || toDomain(value) !== undefined,
    fault: 'must be an email address or a domain such as example.com',
  }),
  action: oneOf(SENDER_RULE_ACTIONS),
})
export type NewSenderRule = typeof NewSenderRule.static
