/** Lets tickets sleep: one is pending until its moment, at which a row of the outbox opens it. */
import { sharedTime } from '../../base/db/shared-time'
import { fieldError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { timeOf } from '../../base/shapes/time'
import { momentFault, scheduleWork, wholeSecond, withdrawWork } from '../../delivery/outbox/schedule'
import type { Ticket, TicketChanges } from './model'

const OTHER_STATUS = 'must stand without a status other than pending'

type Given = Pick<TicketChanges, 'status' | 'snoozed_until'>

/** Says what is wrong with a moment, whatever the ticket. @returns undefined when it is right, or absent */
export function snoozeFault({ snoozed_until, status }: Given): string | undefined {
  if (typeof snoozed_until !== 'string') return undefined
  return status !== undefined && status !== 'pending' ? OTHER_STATUS : momentFault(snoozed_until)
}

/** The status of a ticket and its moment, as a change that may be made leaves them. */
export function snoozed(before: Ticket, { status, snoozed_until }: Given): Pick<Ticket, 'status' | 'snoozed_until'> {
  if (typeof snoozed_until === 'string') return asleepUntil(snoozed_until)
  const wakes = snoozed_until === null && before.snoozed_until !== null
  const left = status ?? (wakes ? 'open' : before.status)
  return { status: left, snoozed_until: left === 'pending' && !wakes ? before.snoozed_until : null }
}

/** The fields of a ticket that sleeps until a moment, as clients write it. */
export function asleepUntil(moment: string): { status: 'pending'; snoozed_until: string } {
  return { status: 'pending', snoozed_until: wholeSecond(timeOf(moment)!) }
}

/**
 * Reads changes that macros and drafts keep: the time that a ticket sleeps becomes a moment.
 * @param path of the changes in the body
 * @throws VALIDATION_ERROR
 */
export function withMoment<Changes extends { snooze_minutes?: number; status?: Ticket['status'] }>(
  { snooze_minutes, ...changes }: Changes,
  path = '',
): Omit<Changes, 'snooze_minutes'> & { snoozed_until?: string } {
  if (snooze_minutes === undefined) return changes
  const snoozed_until = wholeSecond(sharedTime() + snooze_minutes * 60_000)
  if (changes.status !== undefined && changes.status !== 'pending') {
    throw fieldError('VALIDATION_ERROR', `${path}/snooze_minutes`, OTHER_STATUS)
  }
  return { ...changes, snoozed_until }
}

/** Has a ticket that the caller has locked woken at its moment, or not at all. */
export function setWake(scope: Scope, ticket_id: string, snoozed_until: string | null): Promise<void> {
  if (snoozed_until === null) return withdrawWork(scope, 'wake', [ticket_id])
  return scheduleWork(scope, 'wake', ticket_id, scope.organization_id, snoozed_until)
}
