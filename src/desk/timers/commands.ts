import { withChangeTime } from '../../base/db/change-time'
import { newId } from '../../base/db/columns'
import { type Own, visit } from '../../base/db/sweep'
import type { Connection, Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { inTransaction, type Scope, SYSTEM, together } from '../../base/scope'
import { requireDecimals } from '../../base/shapes/money'
import { requirePerson } from '../../http/request/permissions'
import { logTimeOf } from '../time-entries/commands'
import type { TimeEntry } from '../time-entries/model'
import { getRateSources } from '../time-entries/queries'
import { resolveRate } from '../time-entries/rate'
import { keepTicket } from '../timeline/require-ticket'
import type { NewTimer, StoppedTimer, Timer } from './model'
import { findTimer } from './queries'

/**
 * Starts the caller's timer. Of two requests at the same moment one wins.
 * @throws TICKET_NOT_FOUND; TIMER_ALREADY_RUNNING with the running one, on whatever ticket it runs
 */
export function startTimer(scope: Scope, ticket_id: string, timer: NewTimer): Promise<Timer> {
  return inTransaction(scope, async (scope) => {
    const user_id = requirePerson(scope).id
    await keepMember(scope, user_id)
    await keepTicket(scope, ticket_id)
    const { sql, organization_id } = scope
    const { description = null, billable = true, rate = null } = timer
    if (rate !== null) {
      const sources = await getRateSources(scope, ticket_id, user_id)
      requireDecimals('/rate', rate, resolveRate(rate, sources!).currency)
    }
    for (;;) {
      const started = await sql`
        insert into timers (organization_id, user_id, id, ticket_id, description, billable, rate)
        values (${organization_id}, ${user_id}, ${newId()}, ${ticket_id}, ${description}, ${billable}, ${rate})
        on conflict (organization_id, user_id) do nothing
        returning id`
      const running = await findTimer(scope, user_id)
      if (started.length > 0) return running!
      if (running) throw new ApiError('TIMER_ALREADY_RUNNING', { timer: running })
      // It was stopped between the two statements.
    }
  })
}

/**
 * Stops the caller's timer on a ticket and logs its time.
 * @param instead what is given here stands in place of what the timer was started with
 * @throws TICKET_NOT_FOUND, TIMER_NOT_FOUND
 */
export function stopTimer(scope: Scope, ticket_id: string, instead: StoppedTimer): Promise<TimeEntry> {
  return inTransaction(scope, async (scope) => {
    const user_id = requirePerson(scope).id
    await keepTicket(scope, ticket_id)
    const [entry] = await stopTimers(scope, scope.sql`user_id = ${user_id} and ticket_id = ${ticket_id}`, instead)
    if (!entry) throw new ApiError('TIMER_NOT_FOUND')
    requireDecimals('/rate', instead.rate, entry.currency)
    return entry
  })
}

/** Drops the caller's timer without logging its time. @throws TIMER_NOT_FOUND */
export async function dropTimer(scope: Scope): Promise<void> {
  const { sql, organization_id } = scope
  const dropped = await sql`
    delete from timers where organization_id = ${organization_id} and user_id = ${requirePerson(scope).id} returning id`
  if (dropped.length === 0) throw new ApiError('TIMER_NOT_FOUND')
}

/** Stops the timers on a ticket, and logs their time, in the caller's transaction. The caller has locked the ticket. */
export async function stopTimersOfTicket(scope: Scope, ticket_id: string): Promise<void> {
  await stopTimers(scope, scope.sql`ticket_id = ${ticket_id}`)
}

/** Stops the timer of a member who leaves, in the caller's transaction. The caller has changed the membership's row. */
export async function stopTimerOf(scope: Scope, user_id: string): Promise<void> {
  await scope.sql`select pg_advisory_xact_lock(hashtextextended(${lockOf(scope, user_id)}, 0))`
  await stopTimers(scope, scope.sql`user_id = ${user_id}`)
}

/**
 * Stops timers of tickets that were deleted and of members who left without their timers being stopped, as a process of
 * a release without timers does it. For a background job.
 */
export async function stopAbandonedTimers(connection: Connection): Promise<void> {
  const { sql } = connection
  const is_old = (own: Own) => sql`
    exists (select 1 from tickets g where ${own('g')} and g.id = t.ticket_id and g.deleted_at is not null)
    or exists (
      select 1 from memberships m
      where ${own('m')} and m.user_id = t.user_id and (m.removed_at is not null or not m.active)
    )`
  await visit(connection, { table: 'timers', key: ['user_id'], is_old }, async (organization_id, timers) => {
    for (const { user_id } of timers) {
      await inTransaction({ ...connection, organization_id, actor: SYSTEM }, (scope) => stopTimerOf(scope, user_id))
    }
  })
}

/** A year. */
const MOST_MINUTES = 525_600

type Stopped = {
  id: string
  user_id: string
  ticket_id: string
  description: string | null
  billable: boolean
  rate: number | null
  /** Seconds since 1970. */
  started_s: number
}

/**
 * Stops timers and logs their time: begun minutes, on the day of the start. The transaction that deletes the row
 * logs its time. A clock that was set back meanwhile gives one minute, one that was set ahead at most a year.
 */
async function stopTimers(scope: Scope, which: Fragment, instead: StoppedTimer = {}): Promise<TimeEntry[]> {
  const { sql, organization_id } = scope
  // Tickets before timers, as where a ticket is deleted: a new time entry locks its ticket.
  await sql`
    select from tickets where organization_id = ${organization_id} and id in (
      select ticket_id from timers where organization_id = ${organization_id} and ${which}
    ) order by id for share`
  const [stopped, now] = await withChangeTime(
    sql,
    sql<Stopped[]>`
      delete from timers where organization_id = ${organization_id} and ${which}
      returning id, user_id, ticket_id, description, billable, rate,
        extract(epoch from started_at at time zone 'UTC')::float8 as started_s`,
  )
  const entries: TimeEntry[] = []
  for (const { user_id, ticket_id, billable, description, rate, started_s } of stopped.toSorted((a, b) =>
    a.id < b.id ? -1 : 1,
  )) {
    const timer = { billable, description: description ?? undefined, rate: rate ?? undefined }
    const entry = { duration_minutes: minutesBetween(started_s, now), ...timer, ...instead }
    entries.push(await logTimeOf(scope, user_id, ticket_id, entry, started_s * 1000))
  }
  return entries
}

/** Begun minutes. */
function minutesBetween(started_s: number, now: string): number {
  return Math.min(Math.max(Math.ceil((Date.parse(now) / 1000 - started_s) / 60), 1), MOST_MINUTES)
}

/**
 * Refuses who is no active member, and holds up `stopTimerOf`, and so the end of a membership, until the transaction
 * ends. It comes before the lock of the ticket. Without both a timer could be started that nobody stops, or a draft
 * written that nobody removes: after the member was removed, or after the ticket was deleted. The membership's row is
 * not locked: on a cluster that would lock all memberships of all organizations.
 * @throws FORBIDDEN
 */
export async function keepMember(scope: Scope, user_id: string): Promise<void> {
  const { sql, organization_id } = scope
  const [, found] = await together([
    sql`select pg_advisory_xact_lock_shared(hashtextextended(${lockOf(scope, user_id)}, 0))`,
    sql`
      select 1 from memberships
      where organization_id = ${organization_id} and user_id = ${user_id} and active and removed_at is null`,
  ])
  if (found.length === 0) throw new ApiError('FORBIDDEN')
}

/** The name of the lock on a member's timer. */
function lockOf({ organization_id }: Scope, user_id: string): string {
  return `timer ${organization_id} ${user_id}`
}
