/** Moments by the clocks of a time zone. */

const HOUR_MS = 3_600_000
const MORNING = '09:00'

/** Nine o'clock after some days. @param daysAfter gets the day that the clocks show now, as one of UTC */
export function morningIn(zone: string, daysAfter: (today: Date) => number, now_ms = Date.now()): Date {
  const today = new Date(clockIn(zone, now_ms))
  today.setUTCDate(today.getUTCDate() + daysAfter(today))
  return momentIn(zone, `${today.toISOString().slice(0, 10)}T${MORNING}`)
}

/**
 * The moment at which the clocks of a zone show a day and a time; one that a change of clocks skips begins after it.
 * Written by hand: Safari has no Temporal yet, and a polyfill of it is larger than the rest of the composer.
 * @param shown such as `2026-01-31T09:00`
 */
export function momentIn(zone: string, shown: string): Date {
  const wanted_ms = Date.parse(`${shown}Z`)
  // By the clocks a day before and a day after: of a time that is shown twice the first one is meant.
  const found = [-24, 24].map((hours) => {
    const near_ms = wanted_ms + hours * HOUR_MS
    return wanted_ms - (clockIn(zone, near_ms) - near_ms)
  })
  return new Date(found.find((at_ms) => clockIn(zone, at_ms) === wanted_ms) ?? Math.max(...found))
}

/** The day and time that the clocks of a zone show, as if it were one of UTC. */
function clockIn(zone: string, at_ms: number): number {
  // Sweden writes it nearly as ISO 8601.
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  return Date.parse(`${clock.format(at_ms).replace(' ', 'T')}Z`)
}
