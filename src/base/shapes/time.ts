/** Times and days as clients write them. Pure. */

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/**
 * Reads a time with offset (RFC 3339). A leap second counts as the second after it, as in PostgreSQL.
 * @returns milliseconds since 1970, undefined for any other text
 */
export function timeOf(value: string): number | undefined {
  if (!RFC_3339.test(value) || !isDay(value.slice(0, 10))) return undefined
  if (value.slice(17, 19) !== '60') return Date.parse(value)
  const time = Date.parse(`${value.slice(0, 17)}59${value.slice(19)}`) + 1000
  // A leap second ends a month of UTC, in whatever offset it is written.
  return /-01T00:00:00/.test(new Date(time).toISOString()) ? time : undefined
}

/** True for a day that exists and that PostgreSQL can hold, as YYYY-MM-DD. */
export function isDay(value: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(value) || value < '0001-01-01') return false
  const time = Date.parse(`${value}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value)
}

/** Tells a name of the tz database, such as `Europe/Berlin`, from other texts, such as the offset `+01:00`. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** The day that the clocks of a zone show at a moment, as YYYY-MM-DD. @param time_ms milliseconds since 1970 */
export function dayIn(time_zone: string, time_ms: number): string {
  // Sweden writes days so.
  return new Intl.DateTimeFormat('sv-SE', { timeZone: time_zone, dateStyle: 'short' }).format(time_ms)
}
