/** Minutes of schedules: counted, and walked through. */
import { expect, test } from 'bun:test'
import { after, DAYS, minutesBetween, type Schedule } from '../../../src/base/shapes/business-time'
import { compareMinutes } from './counted-minutes'

const HOUR_MS = 3_600_000

test('minutes are those that the clocks show, one by one', () => compareMinutes(40))

const NINE_TO_FIVE: Schedule = {
  hours: Object.fromEntries(DAYS.map((day, at) => [day, at < 5 ? [['09:00', '17:00']] : []])) as Schedule['hours'],
  holidays: ['2026-12-25'],
}

test('a time that a change of clock skips begins after it, one that it repeats counts twice', () => {
  const night = (begin: string, end: string): Schedule => ({
    hours: { ...NINE_TO_FIVE.hours, sun: [[begin, end]] },
    holidays: [],
  })
  const [spring, autumn] = [Date.parse('2026-03-29T00:00:00Z'), Date.parse('2026-10-25T00:00:00Z')]
  expect(minutesBetween(night('02:30', '04:00'), 'Europe/Berlin', spring, spring + 12 * HOUR_MS)).toBe(60)
  expect(after(night('02:30', '04:00'), 'Europe/Berlin', spring, 1)).toBe(Date.parse('2026-03-29T01:01:00Z'))
  expect(minutesBetween(night('02:00', '03:00'), 'Europe/Berlin', autumn, autumn + 12 * HOUR_MS)).toBe(120)
})

test('weekends and holidays are passed, fractions kept, and the year of a few minutes is bounded', () => {
  const friday = Date.parse('2026-12-24T16:30:30Z')
  expect(after(NINE_TO_FIVE, 'UTC', friday, 60)).toBe(Date.parse('2026-12-28T09:30:30Z'))
  expect(after(NINE_TO_FIVE, 'UTC', friday, 29.5)).toBe(Date.parse('2026-12-24T17:00:00Z'))
  expect(minutesBetween(NINE_TO_FIVE, 'UTC', friday, Date.parse('2026-12-28T09:00:00Z'))).toBe(29.5)
  expect(minutesBetween(NINE_TO_FIVE, 'UTC', friday, friday - 1)).toBe(0)
  expect([after(null, 'UTC', 0, 1.5), minutesBetween(null, 'UTC', 0, 90_000)]).toEqual([90_000, 1.5])
  const rare = { hours: { ...NINE_TO_FIVE.hours }, holidays: [] } as Schedule
  for (const day of DAYS) rare.hours[day] = day === 'wed' ? [['12:00', '12:01']] : []
  expect(new Date(after(rare, 'Europe/Berlin', friday, 525_600)).getUTCFullYear()).toBe(2056)
})
