/**
 * Counts minutes of schedules. A minute counts when the clocks of the zone show a time that is in a span of their day.
 * So an hour that a change of clock repeats counts twice, and a time that it skips begins after it. Pure, with a
 * cache.
 *
 * Written by hand over `Intl`: Temporal is not in all engines yet, and libraries of business hours take no zones, or
 * are wrong at changes of clock.
 */
import { LRUCache } from 'lru-cache'

export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
type Day = (typeof DAYS)[number]

/** Spans of local time, `HH:MM`, in order and without overlap; the last may end at `24:00`. */
export type Spans = [begin: string, end: string][]
/** @property holidays days as YYYY-MM-DD, on which no minute counts */
export type Schedule = { hours: Record<Day, Spans>; holidays: string[] }

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** A promise that needs more years of a schedule is due when they are over. */
const MOST_YEARS = 30

/** A year of UTC with the hours of a schedule: spans of time in order, with the sum of all before each. */
type Year = { begins: Float64Array; ends: Float64Array; before: Float64Array; total: number }

/** Part of a year in which the clocks of a zone have one distance from UTC. */
type Part = { begin: number; end: number; offset: number }

const years = new LRUCache<string, Year>({ max: 200 })
const parts = new LRUCache<string, Part[]>({ max: 500 })

/**
 * Counts minutes of a schedule, with fractions.
 * @param schedule null: every minute counts
 * @param from, to milliseconds since 1970
 * @returns 0 when `to` is not after `from`
 */
export function minutesBetween(schedule: Schedule | null, time_zone: string, from: number, to: number): number {
  if (to <= from) return 0
  if (schedule === null) return (to - from) / MINUTE_MS
  const key = cacheKey(schedule, time_zone)
  let sum = 0
  for (let year = yearOf(from); year <= yearOf(to); year++) {
    const spans = yearIn(schedule, time_zone, year, key)
    sum += sumUntil(spans, to) - sumUntil(spans, from)
  }
  return sum / MINUTE_MS
}

/**
 * Finds the moment at which minutes of a schedule are over.
 * @param schedule null: every minute counts
 * @param from milliseconds since 1970
 * @param minutes above 0, with fractions
 * @returns milliseconds since 1970: the earliest such moment; with few hours 30 years later at most
 */
export function after(schedule: Schedule | null, time_zone: string, from: number, minutes: number): number {
  if (schedule === null) return from + minutes * MINUTE_MS
  const key = cacheKey(schedule, time_zone)
  const first = yearOf(from)
  let left = minutes * MINUTE_MS
  for (let year = first; year < first + MOST_YEARS; year++) {
    const spans = yearIn(schedule, time_zone, year, key)
    const passed = sumUntil(spans, from)
    if (spans.total - passed >= left) return momentOf(spans, passed + left)
    left -= spans.total - passed
  }
  return Date.UTC(first + MOST_YEARS, 0)
}

/**
 * Lists the spans of a schedule, in order, with the sum of all before each, for statements that count many minutes.
 * @param first, last years of UTC
 * @returns seconds since 1970 and seconds
 */
export function spansOfYears(schedule: Schedule, time_zone: string, first: number, last: number) {
  const key = cacheKey(schedule, time_zone)
  const [begins, ends, before]: number[][] = [[], [], []]
  let sum = 0
  for (let year = first; year <= last; year++) {
    const own = yearIn(schedule, time_zone, year, key)
    for (const [at, begin] of own.begins.entries()) {
      begins!.push(begin / 1000)
      ends!.push(own.ends[at]! / 1000)
      before!.push((sum + own.before[at]!) / 1000)
    }
    sum += own.total
  }
  return { begins: begins!, ends: ends!, before: before! }
}

function cacheKey({ hours, holidays }: Schedule, time_zone: string): string {
  return JSON.stringify([time_zone, DAYS.map((day) => hours[day]), holidays])
}

function yearOf(moment: number): number {
  return new Date(moment).getUTCFullYear()
}

/** Sums the spans of a year until a moment. @returns milliseconds */
function sumUntil({ begins, ends, before, total }: Year, moment: number): number {
  const at = lastUpTo(begins, moment)
  if (at < 0) return 0
  if (at === begins.length - 1 && moment >= ends[at]!) return total
  return before[at]! + Math.min(moment, ends[at]!) - begins[at]!
}

/** Finds where the sum of a year is reached. @param sum above 0, at most its total */
function momentOf({ begins, before }: Year, sum: number): number {
  // A span that begins with the sum is behind it.
  let at = lastUpTo(before, sum)
  if (before[at] === sum) at--
  return begins[at]! + sum - before[at]!
}

/** Finds the last of rising values that is not above a value. @returns its place, -1 when all are above */
function lastUpTo(values: Float64Array, value: number): number {
  let [low, high] = [0, values.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (values[middle]! <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}

function yearIn(schedule: Schedule, time_zone: string, year: number, key: string): Year {
  const name = `${year} ${key}`
  const known = years.get(name)
  if (known) return known
  const spans = partsOf(time_zone, year).flatMap((part) => spansIn(schedule, part))
  const before = new Float64Array(spans.length)
  let total = 0
  spans.forEach(([begin, end], at) => {
    before[at] = total
    total += end - begin
  })
  const made = {
    begins: Float64Array.from(spans, ([begin]) => begin),
    ends: Float64Array.from(spans, ([, end]) => end),
    before,
    total,
  }
  years.set(name, made)
  return made
}

/** The spans of a schedule in a part of a year. */
function spansIn({ hours, holidays }: Schedule, { begin, end, offset }: Part): [number, number][] {
  const free = new Set(holidays)
  const spans: [number, number][] = []
  const [first, last] = [begin, end].map((moment) => Math.floor((moment + offset) / DAY_MS))
  for (let day = first!; day <= last!; day++) {
    const local = day * DAY_MS
    if (free.has(new Date(local).toISOString().slice(0, 10))) continue
    // The first day of 1970 was a Thursday.
    for (const span of hours[DAYS[(((day + 3) % 7) + 7) % 7]!]) {
      const [from, to] = span.map((time) => local + minuteOf(time) * MINUTE_MS - offset)
      const cut = [Math.max(from!, begin), Math.min(to!, end)] as [number, number]
      if (cut[0] < cut[1]) spans.push(cut)
    }
  }
  return spans
}

/** Minutes from midnight to a time as schedules have it. */
export function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
}

/** The parts of a year of UTC between the changes of clock of a zone. */
function partsOf(time_zone: string, year: number): Part[] {
  const name = `${year} ${time_zone}`
  const known = parts.get(name)
  if (known) return known
  const offsetAt = offsets(time_zone)
  const [first, last] = [Date.UTC(year, 0), Date.UTC(year + 1, 0)]
  const found: Part[] = []
  let [begin, offset] = [first, offsetAt(first)]
  for (let day = first + DAY_MS; day <= last; day += DAY_MS) {
    const next = offsetAt(day)
    if (next === offset) continue
    const change = changeBetween(offsetAt, day - DAY_MS, day)
    found.push({ begin, end: change, offset })
    begin = change
    offset = next
  }
  found.push({ begin, end: last, offset })
  parts.set(name, found)
  return found
}

/** The first minute after a change of clock. @param low, high moments before and after it */
function changeBetween(offsetAt: (moment: number) => number, low: number, high: number): number {
  const before = offsetAt(low)
  let [from, to] = [low, high]
  while (to - from > MINUTE_MS) {
    const middle = from + Math.round((to - from) / 2 / MINUTE_MS) * MINUTE_MS
    if (offsetAt(middle) === before) from = middle
    else to = middle
  }
  return to
}

/** Reads how far the clocks of a zone are ahead of UTC at a whole minute, in milliseconds. */
function offsets(time_zone: string): (moment: number) => number {
  // Sweden writes times so, and `h23` knows no hour 24.
  const format = new Intl.DateTimeFormat('sv-SE', {
    ...{ timeZone: time_zone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
  })
  return (moment) => Date.parse(`${format.format(moment).replace(' ', 'T')}Z`) - moment
}
