/** Times, durations, sizes and numbers, in the language of the browser. */
import { useEffect, useState } from 'preact/hooks'
import { Cell } from '../cell'
import { locales, t } from '../words/catalogue'

const RELATIVE = new Intl.RelativeTimeFormat(locales(), { numeric: 'auto', style: 'short' })
const EXACT = new Intl.DateTimeFormat(locales(), { dateStyle: 'full', timeStyle: 'medium' })
const DAY = new Intl.DateTimeFormat(locales(), { month: 'short', day: 'numeric' })
const DAY_OF_YEAR = new Intl.DateTimeFormat(locales(), { dateStyle: 'medium' })
const HOUR = new Intl.DateTimeFormat(locales(), { hour: 'numeric', minute: '2-digit' })
const NUMBER = new Intl.NumberFormat(locales())
const MINUTE_S = 60
const HOUR_S = 3600
const DAY_S = 86_400

/** Changes while the page is open, so that times stay true. */
const half_minute = new Cell(0)
setInterval(() => half_minute.value++, 30_000)

/** Reads what depends on the clock. The part is drawn again when it changes. @param of what else it depends on */
export function useClock<T>(read: () => T, of: unknown): T {
  const now = read()
  const [, drawAt] = useState(0)
  useEffect(() => half_minute.listen(() => read() === now || drawAt(half_minute.value)), [of, now])
  return now
}

/** A time as people say it; the exact one on hover. */
export function Time({ at, say = ago }: { at: string; say?: (at: string) => string }) {
  const words = useClock(() => say(at), at)
  return (
    <time dateTime={at} title={EXACT.format(new Date(at))}>
      {words}
    </time>
  )
}

const [MINUTES, HOURS, DAYS] = ['minute', 'hour', 'day'].map(
  (unit) => new Intl.NumberFormat(locales(), { style: 'unit', unit, unitDisplay: 'short' }),
) as [Intl.NumberFormat, Intl.NumberFormat, Intl.NumberFormat]

/** How long something lasts that began at a time. */
export function lasting(at: string): string {
  return span((Date.now() - Date.parse(at)) / 1000)
}

/** A span of time in minutes, hours or days, whichever fits. */
export function span(seconds: number): string {
  if (seconds < HOUR_S) return MINUTES.format(Math.max(1, Math.trunc(seconds / MINUTE_S)))
  return seconds < DAY_S ? HOURS.format(Math.trunc(seconds / HOUR_S)) : DAYS.format(Math.trunc(seconds / DAY_S))
}

/** A time of the calendar and the clock, as the browser's language writes it. */
export function moment(at: string): string {
  return `${DAY_OF_YEAR.format(new Date(at))}, ${HOUR.format(new Date(at))}`
}

/** How long ago a time was, or how far ahead it is. */
function ago(at: string, now_ms = Date.now()): string {
  const seconds = (Date.parse(at) - now_ms) / 1000
  const distance = Math.abs(seconds)
  if (distance < MINUTE_S) return seconds > 5 ? t('ui.in_a_moment') : t('ui.just_now')
  if (distance < HOUR_S) return RELATIVE.format(Math.trunc(seconds / MINUTE_S), 'minute')
  if (distance < DAY_S) return RELATIVE.format(Math.trunc(seconds / HOUR_S), 'hour')
  if (distance < 7 * DAY_S) return RELATIVE.format(Math.trunc(seconds / DAY_S), 'day')
  return (distance < 180 * DAY_S ? DAY : DAY_OF_YEAR).format(new Date(at))
}

/** A day of the calendar, such as `2026-01-31`, as the browser's language writes it. */
export function day(date: string): string {
  return DAY_OF_YEAR.format(new Date(`${date}T12:00:00`))
}

/** A point of a plot, in seconds since 1970: the hour, or the day where a step is nearly one. */
export function dayOrHour(at: number, step_seconds: number): string {
  return (step_seconds < HOUR_S ? HOUR : DAY).format(new Date(at * 1000))
}

/** A number with the marks of the browser's language. */
export function number(value: number): string {
  return NUMBER.format(value)
}

/** Minutes in whole days or hours where they are, else as `1 h 05 min`. */
export function term(minutes: number): string {
  if (minutes % 1440 === 0) return DAYS.format(minutes / 1440)
  return minutes % 60 === 0 ? HOURS.format(minutes / 60) : duration(minutes)
}

/** Minutes as `1 h 05 min`. */
export function duration(minutes: number): string {
  const hours = Math.floor(minutes / 60)
  return hours > 0 ? `${hours} h ${String(minutes % 60).padStart(2, '0')} min` : `${minutes} min`
}

/** A size in bytes as people say it. */
export function bytes(size: number): string {
  if (size < 1000) return `${size} B`
  return size < 1_000_000 ? `${(size / 1000).toFixed(0)} kB` : `${(size / 1_000_000).toFixed(1)} MB`
}
