/** Moments that a person chooses, by the clocks of the organization. */
import { expect, test } from 'bun:test'
import { momentIn, morningIn } from '../../src/console/page/inbox/clocks'
import { IS_SAMPLE } from '../support/sampled'

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Pacific/Auckland', 'Australia/Lord_Howe']

/** In the daily run each seventh hour, so that each hour of a day has its turn within a week. */
const STEP_MS = (IS_SAMPLE ? 7 : 1) * 3_600_000

const shownIn = (zone: string, moment: Date) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' })
    .format(moment)
    .replace(' ', 'T')

test('the clocks of the zone show what was chosen, at each hour of a year', () => {
  for (const zone of ZONES) {
    const wrong = []
    for (let at_ms = Date.UTC(2026, 0, 1); at_ms < Date.UTC(2027, 0, 1); at_ms += STEP_MS) {
      const wanted = new Date(at_ms).toISOString().slice(0, 16)
      if (shownIn(zone, momentIn(zone, wanted)) !== wanted) wrong.push(wanted)
    }
    // An hour that a change of clocks skips.
    expect([zone, wrong.length <= 1]).toEqual([zone, true])
  }
})

test.each([
  // Skipped: it begins after the change.
  ['Europe/Berlin', '2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
  ['America/New_York', '2026-03-08T02:30', '2026-03-08T07:30:00.000Z'],
  // Shown twice: the first time.
  ['Europe/Berlin', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
  ['America/New_York', '2026-11-01T01:30', '2026-11-01T05:30:00.000Z'],
  ['Europe/Berlin', '2026-03-29T10:00', '2026-03-29T08:00:00.000Z'],
  ['Europe/Berlin', '2026-10-25T10:00', '2026-10-25T09:00:00.000Z'],
])('in %s, %s is %s', (zone, shown, moment) => {
  expect(momentIn(zone, shown).toISOString()).toBe(moment)
})

test("a morning is nine o'clock of a day as the zone counts it, not the browser", () => {
  // In Auckland the next day has begun.
  const now_ms = Date.parse('2026-06-30T20:00:00Z')
  expect(morningIn('Pacific/Auckland', () => 1, now_ms).toISOString()).toBe('2026-07-01T21:00:00.000Z')
  expect(morningIn('America/New_York', () => 1, now_ms).toISOString()).toBe('2026-07-01T13:00:00.000Z')
  const days: number[] = []
  morningIn('Pacific/Auckland', (today) => days.push(today.getUTCDay()), now_ms)
  expect(days).toEqual([3])
})
