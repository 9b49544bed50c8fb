import { and, eq, sql } from 'drizzle-orm'
import { newId } from '../../base/db/columns'
import { sla_policies } from '../../base/db/schema'
import { violates } from '../../base/db/violations'
import { fieldError, unknownIds } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { requireKnown, storedFilter } from '../../delivery/webhooks/event-filter'
import { beginReview } from '../promises/review'
import { auditPolicy } from './audit-policy'
import type { NewSlaPolicy, SlaPolicy, SlaPolicyChanges } from './model'
import { getSlaPolicy } from './queries'

/** Policies of an organization: each ticket is compared with all of them. */
const MOST = 100

/**
 * Creates a policy, behind all others unless it has a position.
 * @throws SLA_POLICY_NAME_EXISTS, VALIDATION_ERROR, and as `columnsOf`
 */
export function createSlaPolicy(scope: Scope, policy: NewSlaPolicy): Promise<SlaPolicy> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const { n, last } = await lockAll(scope)
    if (n >= MOST) throw fieldError('VALIDATION_ERROR', '', `must be one of at most ${MOST} policies`)
    const columns = await columnsOf(scope, { position: last + 1, ...policy })
    const id = newId()
    const { position, targets } = { position: last + 1, targets: [], ...columns }
    await db
      .insert(sla_policies)
      .values({ ...columns, name: policy.name, position, targets, organization_id, id })
      .catch(isTaken)
    const after = await getSlaPolicy(scope, id)
    await auditPolicy(scope, 'sla_policy.created', null, after)
    await beginReview(scope)
    return after
  })
}

/**
 * Changes a policy: its filter and its targets as a whole.
 * @throws SLA_POLICY_NOT_FOUND, and as `createSlaPolicy`
 */
export function updateSlaPolicy(scope: Scope, id: string, changes: SlaPolicyChanges): Promise<SlaPolicy> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const before = await lockPolicy(scope, id)
    await db
      .update(sla_policies)
      .set({ ...(await columnsOf(scope, changes)), updated_at: sql`now()` })
      .where(and(eq(sla_policies.organization_id, organization_id), eq(sla_policies.id, id)))
      .catch(isTaken)
    const after = await getSlaPolicy(scope, id)
    await auditPolicy(scope, 'sla_policy.updated', before, after)
    await beginReview(scope)
    return after
  })
}

/** Deletes a policy. What it promised ends. @throws SLA_POLICY_NOT_FOUND */
export function deleteSlaPolicy(scope: Scope, id: string): Promise<void> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const before = await lockPolicy(scope, id)
    await db.delete(sla_policies).where(and(eq(sla_policies.organization_id, organization_id), eq(sla_policies.id, id)))
    await auditPolicy(scope, 'sla_policy.deleted', before, null)
    await beginReview(scope)
  })
}

/** Lets no other request add a policy until the caller's transaction ends. @returns their number and last position */
async function lockAll({ sql, organization_id }: Scope): Promise<{ n: number; last: number }> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`sla_policies ${organization_id}`}, 0))`
  const [all] = await sql<{ n: number; last: number }[]>`
    select count(*) as n, coalesce(max(position), 0) as last from sla_policies
    where organization_id = ${organization_id}`
  return all!
}

async function lockPolicy(scope: Scope, id: string): Promise<SlaPolicy> {
  const { sql, organization_id } = scope
  await sql`select from sla_policies where organization_id = ${organization_id} and id = ${id} for update`
  return getSlaPolicy(scope, id)
}

/**
 * Completes what was given, as columns have it.
 * @throws SCHEDULE_NOT_FOUND, or the code of an unknown id of the filter
 */
async function columnsOf(scope: Scope, { targets, filter, schedule_id, ...plain }: SlaPolicyChanges) {
  if (filter) await requireKnown(scope, filter)
  if (typeof schedule_id === 'string') await requireSchedule(scope, schedule_id)
  return {
    ...plain,
    ...(filter && { filter: JSON.parse(storedFilter(filter)!) as object }),
    ...(schedule_id !== undefined && { schedule_id: asIds([schedule_id ?? ''])[0] ?? null }),
    ...(targets && {
      targets: targets.map(({ priority, ...minutes }) => {
        const { first_reply_minutes = null, next_reply_minutes = null, resolve_minutes = null } = minutes
        return { priority, first_reply_minutes, next_reply_minutes, resolve_minutes }
      }),
    }),
  }
}

/** Finds a schedule that a body names, and keeps it from being deleted. @throws SCHEDULE_NOT_FOUND (422) */
async function requireSchedule({ sql, organization_id }: Scope, id: string): Promise<void> {
  const found = await sql`
    select from schedules where organization_id = ${organization_id} and id = any(${asIds([id])}::uuid[])
    for key share`
  if (found.length === 0) throw unknownIds('SCHEDULE_NOT_FOUND', '/schedule_id', [id])
}

function isTaken(error: unknown): never {
  if (violates(error, 'sla_policies_name')) throw fieldError('SLA_POLICY_NAME_EXISTS', '/name')
  if (violates(error, 'sla_policies_position')) {
    throw fieldError('VALIDATION_ERROR', '/position', 'is the position of another policy')
  }
  throw error
}
