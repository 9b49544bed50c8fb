/** Computes the promises of a ticket from what is known of it. Pure. */
import { after, minutesBetween, type Schedule } from '../../base/shapes/business-time'

export type Metric = 'first_reply' | 'next_reply' | 'resolve'
export type Outcome = 'kept' | 'breached' | 'void'
type Status = 'open' | 'pending' | 'resolved' | 'closed'

/** The minutes that a policy promises, and the hours that it counts by. */
export type Target = { minutes: { [metric in Metric]: number | null }; schedule: Schedule | null; time_zone: string }

/** The facts that promises follow from. Times are milliseconds since 1970. */
export type History = {
  created_ms: number
  /** When an import brought it: nothing before is promised. */
  imported_ms: number | null
  is_begun_by_team: boolean
  status: Status
  /** Its changes of status, in order. The last one may be missing while it is made. */
  statuses: { at_ms: number; from: Status; to: Status }[]
  /** The first message of the team. */
  answered_ms: number | null
  /** The first message of the customer's side since the team's last, whatever the status. */
  waiting_ms: number | null
}

/** A promise as it stands. Times are milliseconds since 1970. */
export type Standing = {
  metric: Metric
  minutes: number
  began_ms: number
  /** Null while it is paused, and when it ended before that was known. */
  due_ms: number | null
  soon_ms: number | null
  ended_ms: number | null
  outcome: Outcome | null
}

/** The part of a promise after which it is due soon. */
const SOON = 0.8

type Pause = { from: number; to: number | null }

/** The promises of a ticket that has a target: of `next_reply` the one of now alone. */
export function promisesOf(history: History, target: Target, now_ms: number): Standing[] {
  const { created_ms, imported_ms, is_begun_by_team, answered_ms, waiting_ms, status } = history
  const closed = pausesOf(history, ['resolved', 'closed'], now_ms)
  const is_closed = status === 'resolved' || status === 'closed'
  const closed_ms = is_closed ? Math.max(closed.at(-1)?.from ?? now_ms, created_ms) : null
  const promises: (Standing | undefined)[] = []
  const is_answered = answered_ms !== null
  if (imported_ms === null && !is_begun_by_team && !(is_answered && answered_ms < created_ms)) {
    const ended_ms = answered_ms ?? closed_ms
    promises.push(standing('first_reply', created_ms, closed, { target, now_ms, ended_ms, is_met: is_answered }))
  }
  const began_ms = waiting_ms === null ? null : Math.max(waiting_ms, created_ms)
  const has_next = is_answered || is_begun_by_team
  if (began_ms !== null && has_next && (imported_ms === null || began_ms >= imported_ms)) {
    promises.push(standing('next_reply', began_ms, closed, { target, now_ms, ended_ms: closed_ms, is_met: false }))
  }
  if (imported_ms === null) {
    const paused = pausesOf(history, ['pending', 'resolved', 'closed'], now_ms)
    promises.push(standing('resolve', created_ms, paused, { target, now_ms, ended_ms: closed_ms, is_met: true }))
  }
  return promises.filter((promise) => promise !== undefined)
}

type End = { target: Target; now_ms: number; ended_ms: number | null; is_met: boolean }

/** @param end `is_met`: it ended by what was promised */
function standing(metric: Metric, began_ms: number, pauses: Pause[], end: End): Standing | undefined {
  const { target, now_ms, ended_ms, is_met } = end
  const minutes = target.minutes[metric]
  if (minutes === null) return undefined
  const due_ms = momentAfter(target, began_ms, minutes, pauses)
  const is_late = due_ms !== null && due_ms <= (ended_ms ?? now_ms)
  const soon_ms = due_ms === null ? null : momentAfter(target, began_ms, minutes * SOON, pauses)
  const outcome = ended_ms === null ? null : outcomeOf(is_late, is_met)
  return { metric, minutes, began_ms, due_ms, soon_ms, ended_ms, outcome }
}

export function outcomeOf(is_late: boolean, is_met: boolean): Outcome {
  if (is_late) return 'breached'
  return is_met ? 'kept' : 'void'
}

/** The moment at which minutes of a schedule are over that do not run in pauses; null when a pause has no end. */
function momentAfter(
  { schedule, time_zone }: Target,
  began_ms: number,
  minutes: number,
  pauses: Pause[],
): number | null {
  let [left, from] = [minutes, began_ms]
  for (const pause of pauses) {
    if (pause.to !== null && pause.to <= from) continue
    const passed = minutesBetween(schedule, time_zone, from, pause.from)
    if (passed >= left) break
    if (pause.to === null) return null
    left -= passed
    from = Math.max(from, pause.to)
  }
  return Math.round(after(schedule, time_zone, from, left))
}

/** The times in which a ticket had one of some statuses, in order; the last has no end while it still has. */
function pausesOf({ status, statuses }: History, paused: Status[], now_ms: number): Pause[] {
  const pauses: Pause[] = []
  const last = statuses.at(-1)?.to
  const all =
    last === undefined || last === status ? statuses : [...statuses, { at_ms: now_ms, from: last, to: status }]
  const first = all[0]?.from ?? status
  if (paused.includes(first)) pauses.push({ from: Number.NEGATIVE_INFINITY, to: null })
  for (const { at_ms, to } of all) {
    const open = pauses.at(-1)
    const is_paused = open !== undefined && open.to === null
    if (paused.includes(to) && !is_paused) pauses.push({ from: at_ms, to: null })
    else if (!paused.includes(to) && is_paused) open.to = at_ms
  }
  return pauses
}

/** Tells whether a promise is breached, or was when it ended. */
export function isBreached({ due_ms, outcome }: Standing, now_ms: number): boolean {
  return outcome === 'breached' || (outcome === null && due_ms !== null && due_ms <= now_ms)
}

/** The promise that is shown: the oldest that is breached, else the one that ends next. */
export function shownOf(promises: Standing[]): Standing | undefined {
  const running = promises.filter(({ due_ms, outcome }) => due_ms !== null && outcome === null)
  return running.toSorted((a, b) => a.due_ms! - b.due_ms!)[0]
}
