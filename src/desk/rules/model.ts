import { Type } from '@sinclair/typebox'
import { RULE_STATUSES } from '../../base/db/schema'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { body, flag, IdInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { eventFilter } from '../../delivery/webhooks/model'
import { RULE_EVENTS } from '../../delivery/webhooks/rule-rights'

const filter = eventFilter()
const name = text({ min: 1, max: 255, description: 'Unique without regard to case; rules are applied in its order' })
const on = oneOf(RULE_EVENTS, { code: 'INVALID_EVENTS', description: 'The event that it waits for' })
const macro_id = IdInput({ not_found: 'MACRO_NOT_FOUND' })
const active = flag({ description: 'Default true. Setting it revives a failed rule' })

export const Rule = Type.Object({
  id: Uuid,
  name: Type.String(),
  on: oneOf(RULE_EVENTS, { description: on.description }),
  filter: orNull(filter),
  macro_id: orNull(Uuid, { description: 'Null: the macro was deleted' }),
  active: Type.Boolean({ description: 'Whether events start it; stays true when the rule fails' }),
  status: oneOf(RULE_STATUSES, { description: 'failed: it could not be applied to five tickets in a row' }),
  failures: Type.Integer({ description: 'Tickets that it could not be applied to since it last worked' }),
  created_at: Instant,
  updated_at: Instant,
})
export type Rule = typeof Rule.static

export const NewRule = body({ name, on, filter: optional(nullable(filter)), macro_id, active: optional(active) })
export type NewRule = typeof NewRule.static

export const RuleChanges = body({
  name: optional(name),
  on: optional(on),
  filter: optional(nullable(filter)),
  macro_id: optional(macro_id),
  active: optional(active),
})
export type RuleChanges = typeof RuleChanges.static
