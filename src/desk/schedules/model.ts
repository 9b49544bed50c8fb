import { Kind, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'
import { Day, Instant, Uuid } from '../../base/shapes/answers'
import { DAYS, minuteOf, type Spans } from '../../base/shapes/business-time'
import { body, dayInput, optional, text } from '../../base/shapes/fields'

/** Holidays of a schedule. */
const MOST_HOLIDAYS = 1000
const MOST_SPANS = 24
const TIME = /^(([01]\d|2[0-3]):[0-5]\d|24:00)$/
const FAULT = `must be a list of at most ${MOST_SPANS} spans such as ["08:00", "12:00"], in order and without overlap; 24:00 may end one`

TypeRegistry.Set<TSchema>('Spans', (_schema, value) => {
  if (!Array.isArray(value) || value.length > MOST_SPANS) return false
  const isTime = (time: unknown) => typeof time === 'string' && TIME.test(time)
  const isSpan = (span: unknown) => Array.isArray(span) && span.length === 2 && span.every(isTime)
  if (!value.every(isSpan)) return false
  return (value as Spans).every(([begin, end], at) => {
    return minuteOf(begin) < minuteOf(end) && (at === 0 || minuteOf(value[at - 1][1]) <= minuteOf(begin))
  })
})

const time = { type: 'string', pattern: TIME.source }
const span = { type: 'array', items: time, minItems: 2, maxItems: 2 }
const spans = Type.Unsafe<Spans>({ [Kind]: 'Spans', type: 'array', items: span, maxItems: MOST_SPANS, fault: FAULT })

/** Fields for all days of the week. */
function week<T extends TSchema>(day: T) {
  return Object.fromEntries(DAYS.map((name) => [name, day])) as Record<(typeof DAYS)[number], T>
}

const name = text({ min: 1, max: 255, description: 'Unique without regard to case' })
const hours = Type.Object(week(optional(spans)), {
  additionalProperties: false,
  fault: `must be an object with lists of spans for ${DAYS.join(', ')}`,
  description:
    'Local times of the `time_zone` of the organization. A day that is not given has none. Replaces all days',
})
const holidays = Type.Array(dayInput(), {
  maxItems: MOST_HOLIDAYS,
  fault: `must be a list of at most ${MOST_HOLIDAYS} days`,
  description: 'Days without hours. Replaces all',
})

/** Refuses a week without hours. */
function isWithoutHours({ hours }: Record<string, unknown>) {
  if (typeof hours !== 'object' || hours === null) return []
  const is_empty = Object.values(hours).every((day) => Array.isArray(day) && day.length === 0)
  return is_empty
    ? [{ code: 'VALIDATION_ERROR' as const, path: '/hours', message: 'must have hours on one day at least' }]
    : []
}

export const Schedule = Type.Object({
  id: Uuid,
  name: Type.String(),
  hours: Type.Object(
    week(
      Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 }), {
        description: 'Spans such as 08:00 to 12:00',
      }),
    ),
    { description: 'Spans of local time, by day' },
  ),
  holidays: Type.Array(Day, { description: 'In order' }),
  created_at: Instant,
  updated_at: Instant,
})
export type Schedule = typeof Schedule.static

export const NewSchedule = body({ name, hours, holidays: optional(holidays) }, { whole: isWithoutHours })
export type NewSchedule = typeof NewSchedule.static

export const ScheduleChanges = body(
  { name: optional(name), hours: optional(hours), holidays: optional(holidays) },
  { whole: isWithoutHours },
)
export type ScheduleChanges = typeof ScheduleChanges.static
