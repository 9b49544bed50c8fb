import { and, eq, sql } from 'drizzle-orm'
import { auditChanges } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { newId } from '../../base/db/columns'
import { schedules } from '../../base/db/schema'
import { violates } from '../../base/db/violations'
import { fieldError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { DAYS } from '../../base/shapes/business-time'
import { beginReview } from '../promises/review'
import { switchOffPolicies } from '../sla-policies/switch-off'
import type { NewSchedule, Schedule, ScheduleChanges } from './model'
import { getSchedule } from './queries'

/** Creates a schedule. @throws SCHEDULE_NAME_EXISTS */
export function createSchedule(scope: Scope, schedule: NewSchedule): Promise<Schedule> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const id = newId()
    const { name, hours } = schedule
    await db
      .insert(schedules)
      .values({ name, hours, ...columnsOf(schedule), organization_id, id })
      .catch(nameExists)
    const after = await getSchedule(scope, id)
    await auditSchedule(scope, 'schedule.created', null, after)
    return after
  })
}

/** Changes a schedule. @throws SCHEDULE_NOT_FOUND, SCHEDULE_NAME_EXISTS */
export function updateSchedule(scope: Scope, id: string, changes: ScheduleChanges): Promise<Schedule> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const before = await lockSchedule(scope, id)
    const { name } = changes
    await db
      .update(schedules)
      .set({ ...(name !== undefined && { name }), ...columnsOf(changes), updated_at: sql`now()` })
      .where(and(eq(schedules.organization_id, organization_id), eq(schedules.id, id)))
      .catch(nameExists)
    const after = await getSchedule(scope, id)
    await auditSchedule(scope, 'schedule.updated', before, after)
    if (changes.hours || changes.holidays) await beginReview(scope)
    return after
  })
}

/**
 * Deletes a schedule. Its policies are switched off: without it they would count every minute.
 * @throws SCHEDULE_NOT_FOUND
 */
export function deleteSchedule(scope: Scope, id: string): Promise<void> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const before = await lockSchedule(scope, id)
    await switchOffPolicies(scope, id)
    await db.delete(schedules).where(and(eq(schedules.organization_id, organization_id), eq(schedules.id, id)))
    await auditSchedule(scope, 'schedule.deleted', before, null)
  })
}

async function lockSchedule(scope: Scope, id: string): Promise<Schedule> {
  const { sql, organization_id } = scope
  await sql`select from schedules where organization_id = ${organization_id} and id = ${id} for update`
  return getSchedule(scope, id)
}

/** Hours of all days, and each holiday once. */
function columnsOf({ hours, holidays }: ScheduleChanges) {
  return {
    ...(hours && { hours: Object.fromEntries(DAYS.map((day) => [day, hours[day] ?? []])) }),
    ...(holidays && { holidays: [...new Set(holidays)].sort() }),
  }
}

async function auditSchedule(
  scope: Scope,
  action: 'schedule.created' | 'schedule.updated' | 'schedule.deleted',
  before: Schedule | null,
  after: Schedule | null,
): Promise<void> {
  await auditChanges(scope, {
    action,
    resource: { type: 'schedule', id: (after ?? before)!.id },
    changes: changesOf(before, after),
  })
}

function nameExists(error: unknown): never {
  throw violates(error, 'schedules_name') ? fieldError('SCHEDULE_NAME_EXISTS', '/name') : error
}
