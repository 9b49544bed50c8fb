import { Type } from '@sinclair/typebox'
import { TICKET_PRIORITIES } from '../../base/db/schema'
import type { ErrorCode } from '../../base/errors'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { body, flag, IdInput, minutesInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { TICKET_FILTER } from '../../base/shapes/ticket-filter'

const name = text({ min: 1, max: 255, description: 'Unique without regard to case' })
const position = Type.Integer({
  minimum: 0,
  maximum: 1_000_000,
  fault: 'must be a whole number from 0 to 1000000',
  description: 'Unique. The first policy that fits a ticket counts, the lowest position first. Default: behind all',
})
const filter = Type.Object(TICKET_FILTER, {
  additionalProperties: false,
  fault: `must be an object with lists of 1 to 50 of ${Object.keys(TICKET_FILTER).join(', ')}`,
  description: 'Tickets for which all of these hold; one value of a list is enough. Empty: all tickets',
})
const schedule_id = IdInput({
  not_found: 'SCHEDULE_NOT_FOUND',
  description: 'The schedule whose minutes count. Null: every minute counts',
})
const active = flag({ description: 'Default true. A policy that is switched off promises nothing' })

const MINUTES = {
  first_reply_minutes: 'From the creation of a ticket to the first answer',
  next_reply_minutes: 'From the first message that waits to the next answer',
  resolve_minutes: 'From the creation of a ticket until it is resolved, without the time in which it is pending',
}
type Minutes = keyof typeof MINUTES

/** Fields for all promises of a target. */
function minutes<T>(field: (description: string) => T) {
  const fields = Object.entries(MINUTES).map(([name, description]) => [name, field(`${description}. Null: none`)])
  return Object.fromEntries(fields) as Record<Minutes, T>
}

const priority = oneOf(TICKET_PRIORITIES, { code: 'INVALID_PRIORITY', description: 'Of the ticket' })
const Target = Type.Object({
  priority: oneOf(TICKET_PRIORITIES, { description: 'Of the ticket' }),
  ...minutes((description) => orNull(Type.Integer(), { description })),
})

const targets = Type.Array(
  Type.Object(
    { priority, ...minutes((description) => optional(nullable(minutesInput({ description })))) },
    { additionalProperties: false, fault: `must be an object with priority, ${Object.keys(MINUTES).join(', ')}` },
  ),
  {
    ...{ minItems: 1, maxItems: TICKET_PRIORITIES.length },
    fault: 'must be a list of a target for each of 1 to 4 priorities',
    description: 'One at most for each priority; without one a ticket is promised nothing. Replaces all',
  },
)

/** Refuses two targets of one priority. */
function isTwice({ targets }: Record<string, unknown>) {
  if (!Array.isArray(targets)) return []
  const priorities = targets.map((target) => target?.priority).filter((priority) => typeof priority === 'string')
  if (new Set(priorities).size === priorities.length) return []
  const code: ErrorCode = 'VALIDATION_ERROR'
  return [{ code, path: '/targets', message: 'must have one target at most for each priority' }]
}

export const SlaPolicy = Type.Object({
  id: Uuid,
  name: Type.String(),
  position: Type.Integer({ description: 'The lowest comes first' }),
  filter,
  schedule_id: orNull(Uuid),
  targets: Type.Array(Target, { description: 'At most one for each priority' }),
  active: Type.Boolean({
    description: 'False also when its schedule, or the last thing that a list of its filter names, was deleted',
  }),
  created_at: Instant,
  updated_at: Instant,
})
export type SlaPolicy = typeof SlaPolicy.static

const POLICY = {
  position: optional(position),
  filter: optional(filter),
  schedule_id: optional(nullable(schedule_id)),
  active: optional(active),
}

export const NewSlaPolicy = body({ name, ...POLICY, targets }, { whole: isTwice })
export type NewSlaPolicy = typeof NewSlaPolicy.static

export const SlaPolicyChanges = body(
  { name: optional(name), ...POLICY, targets: optional(targets) },
  { whole: isTwice },
)
export type SlaPolicyChanges = typeof SlaPolicyChanges.static
