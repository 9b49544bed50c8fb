import { and, eq, sql } from 'drizzle-orm'
import { newId } from '../../base/db/columns'
import { labels } from '../../base/db/schema'
import { violates } from '../../base/db/violations'
import { fieldError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { publish } from '../../delivery/webhooks/publish'
import { type Deed, deleteInSteps, STEP } from '../deeds/deeds'
import { requireNoHoldLabel } from '../holds/holds'
import { emptyNames } from '../naming/empty-names'
import type { LabelChanges, LabelWithUsage, NewLabel } from './model'
import { getLabel, lockLabel } from './queries'

/** Creates a label. @throws LABEL_NAME_EXISTS */
export function createLabel(scope: Scope, label: NewLabel): Promise<LabelWithUsage> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const created = await db
      .insert(labels)
      .values({ ...label, organization_id, id: newId() })
      .onConflictDoNothing()
      .returning({ id: labels.id })
    if (!created[0]) throw fieldError('LABEL_NAME_EXISTS', '/name')
    const data = await getLabel(scope, created[0].id)
    await publish(scope, [{ type: 'label.created', data }])
    return data
  })
}

/** Changes a label, on all tickets that carry it. No change, no event. @throws LABEL_NOT_FOUND, LABEL_NAME_EXISTS */
export function updateLabel(scope: Scope, id: string, changes: LabelChanges): Promise<LabelWithUsage> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const before = await lockLabel(scope, id)
    if (JSON.stringify({ ...before, ...changes }) === JSON.stringify(before)) return getLabel(scope, id)
    await db
      .update(labels)
      .set({ ...changes, updated_at: sql`now()` })
      .where(and(eq(labels.organization_id, organization_id), eq(labels.id, id)))
      .catch(nameExists)
    const data = await getLabel(scope, id)
    await publish(scope, [{ type: 'label.updated', data }])
    return data
  })
}

/** Deletes a label and takes it off all tickets; nothing else of a ticket changes. @throws LABEL_NOT_FOUND, ON_HOLD */
export function deleteLabel(scope: Scope, id: string): Promise<void> {
  // In the order of those who change what holds: their first change may come in between.
  const note = async (scope: Scope) => {
    await requireNoHoldLabel(scope, id)
    await lockLabel(scope, id)
    await requireNoHoldLabel(scope, id)
  }
  return deleteInSteps(scope, 'delete label', id, note, deleteSome)
}

/** A step of it. Tickets come before the label: in the order of those who put it on a ticket. */
export async function deleteSome(scope: Scope, { subject_id: id }: Pick<Deed, 'subject_id'>): Promise<boolean> {
  const { db, sql, organization_id } = scope
  if (!(await leaveTickets(scope, id))) return false
  const known = await sql`
    select from labels where organization_id = ${organization_id} and id = ${id} for no key update`
  if (known.length === 0) return true
  const data = await getLabel(scope, id)
  await db.delete(labels).where(and(eq(labels.organization_id, organization_id), eq(labels.id, id)))
  await publish(scope, [{ type: 'label.deleted', data }])
  await emptyNames(scope, 'label', id)
  return true
}

/** Takes a label off some tickets, whose rows are locked first. @returns true when no more have it */
async function leaveTickets({ sql, organization_id }: Scope, id: string): Promise<boolean> {
  const { count } = await sql`
    delete from ticket_labels
    where organization_id = ${organization_id} and label_id = ${id} and ticket_id = any(array(
      select t.id from ticket_labels l
      join tickets t on t.organization_id = ${organization_id} and t.id = l.ticket_id
      where l.organization_id = ${organization_id} and l.label_id = ${id}
      order by l.ticket_id limit ${STEP} for no key update of t
    ))`
  return count < STEP
}

function nameExists(error: unknown): never {
  throw violates(error, 'labels_name') ? fieldError('LABEL_NAME_EXISTS', '/name') : error
}
