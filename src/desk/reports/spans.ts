/** The days and weeks of a report, by the clocks of the organization. */
import { fieldError } from '../../base/errors'
import type { Scope } from '../../base/scope'

const DAY_MS = 86_400_000
const MOST_DAYS = 366

/** Days that follow one another. The times have all their digits, as the database writes them. */
export type Span = {
  /** The day, or the Monday of the week. */
  key: string
  begins: string
  ends: string
}

type Days = { from: string; to: string }

/** @throws VALIDATION_ERROR for days that are none or too many */
export function requireDays({ from, to }: Days): void {
  if (to < from) throw fieldError('VALIDATION_ERROR', '/query/to', 'must not be before the first day')
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days > MOST_DAYS) throw fieldError('VALIDATION_ERROR', '/query/to', `must end at most ${MOST_DAYS} days in all`)
}

/**
 * Reads when days begin in the organization's zone. A midnight that a change of clock skips is the moment after it; of
 * one that comes twice the first counts.
 */
export async function readSpans(
  { sql, organization_id }: Scope,
  { from, to }: Days,
  by: 'day' | 'week',
): Promise<Span[]> {
  const days = await sql<{ day: string; begins: string }[]>`
    select to_char(d.day, 'YYYY-MM-DD') as day, (
      case when (m.midnight - interval '1 hour') at time zone o.time_zone >= d.day
        then m.midnight - interval '1 hour' else m.midnight end
    )::text as begins
    from organizations o
    cross join generate_series(${from}::date::timestamp, ${to}::date + interval '1 day', interval '1 day') as d (day)
    cross join lateral (select d.day at time zone o.time_zone as midnight) m
    where o.id = ${organization_id}
    order by d.day`
  const spans = days.slice(0, -1).map(({ day, begins }, at) => ({ key: day, begins, ends: days[at + 1]!.begins }))
  return by === 'day' ? spans : weeksOf(spans)
}

function weeksOf(days: Span[]): Span[] {
  const weeks = Map.groupBy(days, ({ key }) => mondayOf(key))
  return [...weeks].map(([key, own]) => ({ key, begins: own[0]!.begins, ends: own.at(-1)!.ends }))
}

function mondayOf(day: string): string {
  const time_ms = Date.parse(day)
  const since_monday = (new Date(time_ms).getUTCDay() + 6) % 7
  return new Date(time_ms - since_monday * DAY_MS).toISOString().slice(0, 10)
}
