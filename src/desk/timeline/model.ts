import { Type } from '@sinclair/typebox'
import { ACTOR_TYPES } from '../../base/db/schema'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { oneOf, optional } from '../../base/shapes/fields'

/** An entry of the timeline. `activity.ts` lists the types and what `data` holds for each. */
export const Activity = Type.Object({
  id: Uuid,
  type: Type.String({ description: 'What happened', examples: ['changed'] }),
  actor: Type.Object(
    {
      type: oneOf(ACTOR_TYPES, { description: '`system`: the service itself' }),
      id: orNull(Uuid, { description: 'Of the user or contact' }),
      name: orNull(Type.String({ description: 'At that time' })),
      rule: optional(
        Type.Object(
          { id: Uuid, name: Type.String({ description: 'At that time' }) },
          { description: 'The rule that the service followed; missing for all else' },
        ),
      ),
    },
    { description: 'Who did it' },
  ),
  data: Type.Record(Type.String(), Type.Unknown(), {
    description: 'By type, such as `field`, `from` and `to` of a change',
  }),
  created_at: Instant,
})
export type Activity = typeof Activity.static
