/** The figures of a group, and how a report shows them. Pure. */
import type { ReportRow } from './model'

/** Seconds: median and 90th percentile. */
type Seconds = [number, number] | null

export type Figures = {
  created: number
  resolved: number
  reopened: number
  replies: number
  backlog: number
  first_reply_seconds: Seconds
  resolve_seconds: Seconds
  kept: number
  breached: number
  good: number
  bad: number
}

export function emptyRow(): Figures {
  return {
    ...{ created: 0, resolved: 0, reopened: 0, replies: 0, backlog: 0 },
    ...{ first_reply_seconds: null, resolve_seconds: null, kept: 0, breached: 0, good: 0, bad: 0 },
  }
}

/** Tells a group in which nothing was. */
export function isEmpty(figures: Figures): boolean {
  return Object.values(figures).every((value) => value === null || value === 0)
}

/** The row of a group, without the group. */
export function rowOf(figures: Figures): ReportRow {
  const { first_reply_seconds, resolve_seconds, kept, breached, good, bad, ...counts } = figures
  return {
    ...counts,
    first_reply_minutes: minutesOf(first_reply_seconds),
    resolve_minutes: minutesOf(resolve_seconds),
    sla: { kept, breached },
    ratings: { good, bad },
  }
}

function minutesOf(seconds: Seconds): ReportRow['resolve_minutes'] {
  const [median, p90] = seconds?.map((value) => Math.round((value / 60) * 100) / 100) ?? [null, null]
  return { median: median!, p90: p90! }
}
