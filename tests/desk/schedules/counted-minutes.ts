/** Compares minutes of schedules with a count of one after the other, over both changes of clock. */
import { expect } from 'bun:test'
import fc from 'fast-check'
import { after, DAYS, minutesBetween, type Schedule, type Spans } from '../../../src/base/shapes/business-time'

const MINUTE_MS = 60_000

/** Zones with a change of clock at each of their moments: by an hour, by half an hour, of a day that is left out. */
const CHANGES: [time_zone: string, at: string][] = [
  ['Europe/Berlin', '2026-03-29T01:00:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00:00Z'],
  ['America/New_York', '2027-03-14T07:00:00Z'],
  ['America/New_York', '2026-11-01T06:00:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
  ['Pacific/Apia', '2011-12-30T10:00:00Z'],
  ['Asia/Kathmandu', '2026-12-31T18:15:00Z'],
]

const time = (minute: number) =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`

/** Up to three spans of a day, at night more often than by day: there the clocks change. */
const spans = fc
  .uniqueArray(fc.oneof(fc.integer({ min: 0, max: 240 }), fc.integer({ min: 0, max: 1440 })), { maxLength: 6 })
  .map((minutes): Spans => {
    const sorted = minutes.toSorted((a, b) => a - b)
    const even = sorted.slice(0, sorted.length - (sorted.length % 2))
    return even.flatMap((begin, at) => (at % 2 === 0 ? [[time(begin), time(even[at + 1]!)] as const] : [])) as Spans
  })

const cases = fc.record({
  hours: fc.record(Object.fromEntries(DAYS.map((day) => [day, spans])) as Record<(typeof DAYS)[number], typeof spans>),
  change: fc.constantFrom(...CHANGES),
  before: fc.integer({ min: 0, max: 40 * 60 }),
  length: fc.integer({ min: 1, max: 48 * 60 }),
  is_holiday: fc.boolean(),
})

/** Says for each minute from a moment whether it counts: by what the clocks of the zone show. */
function* countedMinutes({ hours, holidays }: Schedule, time_zone: string, from: number, length: number) {
  // Sweden writes times as `2026-12-31 23:59`.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: time_zone, dateStyle: 'short', timeStyle: 'short' })
  for (let minute = 0; minute < length; minute++) {
    const [date, now] = format.format(from + minute * MINUTE_MS).split(' ') as [string, string]
    const is_free = holidays.includes(date)
    const today = hours[DAYS[(new Date(date).getUTCDay() + 6) % 7]!]
    yield !is_free && today.some(([begin, end]) => begin <= now && now < end)
  }
}

/** @param runs schedules, zones and times that are tried */
export function compareMinutes(runs: number): void {
  fc.assert(
    fc.property(cases, ({ hours, change: [time_zone, at], before, length, is_holiday }) => {
      const schedule = { hours, holidays: is_holiday ? [at.slice(0, 10)] : [] }
      const from = Date.parse(at) - before * MINUTE_MS
      const counted = [...countedMinutes(schedule, time_zone, from, length)]
      const sum = counted.filter(Boolean).length
      const to = from + length * MINUTE_MS
      expect(minutesBetween(schedule, time_zone, from, to)).toBeCloseTo(sum, 6)
      if (sum === 0) return
      // They are over when the last one that counts is.
      expect(after(schedule, time_zone, from, sum)).toBe(from + (counted.lastIndexOf(true) + 1) * MINUTE_MS)
    }),
    { numRuns: runs },
  )
}
