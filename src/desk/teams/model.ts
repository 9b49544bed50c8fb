import { Type } from '@sinclair/typebox'
import { ASSIGNMENTS } from '../../base/db/schema'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { body, IdInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'

/** Members of a team. */
const MOST = 200

const name = text({ min: 1, max: 255, description: 'Unique without regard to case' })
const member_ids = Type.Array(IdInput(), {
  not_found: 'USER_NOT_FOUND',
  maxItems: MOST,
  fault: `must be a list of at most ${MOST} ids`,
  description: 'Replaces all members',
})
const assign = oneOf(ASSIGNMENTS, {
  description:
    'Who gets a ticket that comes to the team unassigned, of its active, available members: nobody (the default), ' +
    'each in turn, or the one with the fewest open and pending tickets',
})
const capacity = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  fault: 'must be a whole number from 1 to 1000000',
  description: 'A member with so many open and pending tickets, of whatever team, gets no more. Null: any number',
})

export const Team = Type.Object({
  id: Uuid,
  name: Type.String(),
  member_ids: Type.Array(Uuid, { description: 'Members, active or not' }),
  assign,
  capacity: orNull(Type.Integer(), { description: capacity.description }),
  created_at: Instant,
  updated_at: Instant,
})
export type Team = typeof Team.static

/** A team without its members. */
export const TEAM = { name, assign: optional(assign), capacity: optional(nullable(capacity)) }

export const NewTeam = body({ ...TEAM, member_ids: optional(member_ids) })
export type NewTeam = typeof NewTeam.static

export const TeamChanges = body({
  name: optional(name),
  member_ids: optional(member_ids),
  assign: optional(assign),
  capacity: optional(nullable(capacity)),
})
export type TeamChanges = typeof TeamChanges.static
