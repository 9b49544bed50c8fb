import { type Static, Type } from '@sinclair/typebox'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { body } from '../../base/shapes/fields'
import { TimeEntry, WorkFields } from '../time-entries/model'

export const Timer = Type.Object({
  id: Uuid,
  ...Type.Pick(TimeEntry, ['ticket', 'user', 'description', 'billable']).properties,
  rate: orNull(
    Type.Number({ description: 'Of an hour, as given; null: chosen as for other time when the timer stops' }),
  ),
  started_at: Instant,
  elapsed_seconds: Type.Integer({ description: 'Whole seconds since the start' }),
})
export type Timer = Static<typeof Timer>

const { date: _, ...Started } = WorkFields

export const NewTimer = body(Started)
export type NewTimer = Static<typeof NewTimer>

/** Given fields stand in place of those that the timer was started with. */
export const StoppedTimer = body(WorkFields)
export type StoppedTimer = Static<typeof StoppedTimer>
