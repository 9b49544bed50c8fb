import { newId } from '../../base/db/columns'
import { sharedTime } from '../../base/db/shared-time'
import { ApiError, fieldError, unknownIds } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { asIds, isUuid } from '../../base/shapes/ids'
import { requireDecimals } from '../../base/shapes/money'
import { dayIn } from '../../base/shapes/time'
import { publish } from '../../delivery/webhooks/publish'
import { isPerson, permits } from '../../http/request/permissions'
import { recordActivity } from '../timeline/activity'
import { keepTicket } from '../timeline/require-ticket'
import type { NewTimeEntry, TimeEntry, TimeEntryChanges } from './model'
import { priceColumns } from './price'
import { getRateSources, getTimeEntry } from './queries'
import { resolveRate } from './rate'

const CHANGEABLE = ['duration_minutes', 'description', 'billable', 'rate', 'currency', 'date'] as const
/** The fields that an amount follows from. */
const PRICING: readonly string[] = ['duration_minutes', 'rate', 'currency']
const EXACT = ['exact_rate', 'decimals'] as const

/**
 * Logs time of the caller, or of the member that the entry names. The rate is fixed now: it stays when the rates of
 * company or user change.
 * @throws TICKET_NOT_FOUND; UNAUTHORIZED for time of others, except by admins and API keys; USER_NOT_FOUND;
 *   VALIDATION_ERROR
 *   for an API key that names nobody
 */
export function logTime(scope: Scope, ticket_id: string, entry: NewTimeEntry): Promise<TimeEntry> {
  return inTransaction(scope, async (scope) => {
    await keepTicket(scope, ticket_id)
    const logged = await logTimeOf(scope, await resolveWorker(scope, entry.user_id), ticket_id, entry)
    requireDecimals('/rate', entry.rate, logged.currency)
    return logged
  })
}

/**
 * Logs the time of a member on a ticket, in the caller's transaction, with activity and event.
 * @param at_ms the moment whose day in the organization's zone counts when the entry has no day
 */
export async function logTimeOf(
  scope: Scope,
  user_id: string,
  ticket_id: string,
  entry: NewTimeEntry,
  at_ms = sharedTime(),
): Promise<TimeEntry> {
  const { sql, organization_id } = scope
  const sources = await getRateSources(scope, ticket_id, user_id)
  const { rate, currency, exact_rate, decimals } = priceColumns(resolveRate(entry.rate, sources!))
  const { duration_minutes, description = null, billable = true } = entry
  const date = entry.date ?? dayIn(sources!.organization.time_zone, at_ms)
  const id = newId()
  await sql`
    insert into time_entries (organization_id, id, ticket_id, user_id, duration_minutes, description, billable, date,
      rate, currency, exact_rate, decimals)
    values (${organization_id}, ${id}, ${ticket_id}, ${user_id}, ${duration_minutes}, ${description}, ${billable}, ${date},
      ${rate}, ${currency}, ${exact_rate}, ${decimals})`
  await recordActivity(scope, ticket_id, [
    { type: 'time_logged', data: { time_entry_id: id, duration_minutes, billable } },
  ])
  const data = await getTimeEntry(scope, id)
  await publish(scope, [{ type: 'time_entry.created', data }])
  return data
}

/**
 * Changes an entry. A changed rate counts as given with the entry: its currency is the company's, else the
 * organization's. No change, no event.
 * @throws TIME_ENTRY_NOT_FOUND, UNAUTHORIZED
 */
export function updateTimeEntry(scope: Scope, id: string, changes: TimeEntryChanges): Promise<TimeEntry> {
  return inTransaction(scope, async (scope) => {
    const before = await lockTimeEntry(scope, id)
    const after = { ...before, ...changes }
    if (changes.rate !== undefined && changes.rate !== before.rate) {
      const sources = await getRateSources(scope, (before.original_ticket ?? before.ticket).id, before.user.id)
      after.currency = resolveRate(changes.rate, sources!).currency
      requireDecimals('/rate', changes.rate, after.currency)
    }
    const fields = CHANGEABLE.filter((field) => after[field] !== before[field])
    if (fields.length === 0) return before
    const { sql, organization_id } = scope
    const exact = fields.some((field) => PRICING.includes(field)) ? EXACT : []
    await sql`
      update time_entries set ${sql({ ...after, ...priceColumns(after) }, ...CHANGEABLE, ...exact)}, updated_at = now()
      where organization_id = ${organization_id} and id = ${id}`
    const changed = Object.fromEntries(fields.map((field) => [field, { from: before[field], to: after[field] }]))
    await recordActivity(scope, before.ticket.id, [
      { type: 'time_changed', data: { time_entry_id: id, changes: changed } },
    ])
    const data = await getTimeEntry(scope, id)
    await publish(scope, [{ type: 'time_entry.updated', data }])
    return data
  })
}

/** Deletes an entry. @throws TIME_ENTRY_NOT_FOUND, UNAUTHORIZED */
export function deleteTimeEntry(scope: Scope, id: string): Promise<void> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const data = await lockTimeEntry(scope, id)
    await sql`delete from time_entries where organization_id = ${organization_id} and id = ${id}`
    await recordActivity(scope, data.ticket.id, [
      { type: 'time_deleted', data: { time_entry_id: id, duration_minutes: data.duration_minutes } },
    ])
    await publish(scope, [{ type: 'time_entry.deleted', data }])
  })
}

/** Finds who worked. @throws UNAUTHORIZED, USER_NOT_FOUND, VALIDATION_ERROR */
async function resolveWorker(scope: Scope, named: string | undefined): Promise<string> {
  const { sql, organization_id, actor } = scope
  if (named === undefined && isPerson(scope)) return actor.id!
  if (named === undefined) throw fieldError('VALIDATION_ERROR', '/user_id', 'is required of an API key')
  if (!permits(scope, 'time_entries:write', named.toLowerCase())) throw new ApiError('UNAUTHORIZED')
  const [id] = asIds([named])
  const found = await sql<{ user_id: string }[]>`
    select user_id from memberships
    where organization_id = ${organization_id} and user_id = ${id ?? null} and active and removed_at is null`
  if (found.length === 0) throw unknownIds('USER_NOT_FOUND', '/user_id', [named])
  return found[0]!.user_id
}

/**
 * Refuses a caller who may not change an entry: members change their own entries, admins all of them.
 * @param id as it stands in the path
 * @throws TIME_ENTRY_NOT_FOUND, UNAUTHORIZED
 */
export async function requireMayChange(scope: Scope, id: string): Promise<void> {
  if (!isUuid(id)) throw new ApiError('TIME_ENTRY_NOT_FOUND')
  mayChange(scope, await getTimeEntry(scope, id))
}

/** Locks an entry that the caller may change. @throws TIME_ENTRY_NOT_FOUND, UNAUTHORIZED */
async function lockTimeEntry(scope: Scope, id: string): Promise<TimeEntry> {
  const { sql, organization_id } = scope
  await sql`select from time_entries where organization_id = ${organization_id} and id = ${id} for update`
  const entry = await getTimeEntry(scope, id)
  mayChange(scope, entry)
  return entry
}

function mayChange(scope: Scope, { user }: TimeEntry): void {
  if (!permits(scope, 'time_entries:write', user.id)) throw new ApiError('UNAUTHORIZED')
}
