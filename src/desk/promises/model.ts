import { Type } from '@sinclair/typebox'
import { PROMISE_METRICS } from '../../base/db/schema'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { oneOf } from '../../base/shapes/fields'

/** The promise of a ticket that ends next, or the oldest that is breached. */
export const Sla = orNull(
  Type.Object({
    policy: Type.Object({ id: Uuid, name: Type.String() }, { description: 'The first policy that fits' }),
    metric: orNull(oneOf(PROMISE_METRICS), { description: 'The promise; null: none runs' }),
    due_at: orNull(Instant, { description: 'When it is due' }),
    soon_at: orNull(Instant, { description: 'When its last fifth begins: it is due soon from then on' }),
    breached: Type.Boolean({ description: 'Whether that has passed' }),
  }),
  {
    description:
      'Of what a policy promises the one that ends next; the oldest that is breached is shown until it is kept or ends',
  },
)
export type Sla = typeof Sla.static
