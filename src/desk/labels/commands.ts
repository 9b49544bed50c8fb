import { and, eq, sql } from 'drizzle-orm'
import { newId } from '../../base/db/columns'
import { labels } from '../../base/db/schema'
import { violates } from '../../base/db/violations'
import { ApiError, fieldError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import type { LabelChanges, LabelWithUsage, NewLabel } from './model'
import { getLabel } from './queries'

/** Creates a label. @throws LABEL_NAME_EXISTS */
export async function createLabel(scope: Scope, label: NewLabel): Promise<LabelWithUsage> {
  const { db, organization_id } = scope
  const created = await db
    .insert(labels)
    .values({ ...label, organization_id, id: newId() })
    .onConflictDoNothing()
    .returning({ id: labels.id })
  if (!created[0]) throw fieldError('LABEL_NAME_EXISTS', '/name')
  return getLabel(scope, created[0].id)
}

/** Changes a label, on all tickets that carry it. @throws LABEL_NOT_FOUND, LABEL_NAME_EXISTS */
export async function updateLabel(scope: Scope, id: string, changes: LabelChanges): Promise<LabelWithUsage> {
  const { db, organization_id } = scope
  const updated = await db
    .update(labels)
    .set({ ...changes, updated_at: sql`now()` })
    .where(and(eq(labels.organization_id, organization_id), eq(labels.id, id)))
    .returning({ id: labels.id })
    .catch(nameExists)
  if (!updated[0]) throw new ApiError('LABEL_NOT_FOUND')
  return getLabel(scope, id)
}

/** Deletes a label and takes it off all tickets; nothing else of a ticket changes. @throws LABEL_NOT_FOUND */
export async function deleteLabel({ db, organization_id }: Scope, id: string): Promise<void> {
  const deleted = await db
    .delete(labels)
    .where(and(eq(labels.organization_id, organization_id), eq(labels.id, id)))
    .returning({ id: labels.id })
  if (!deleted[0]) throw new ApiError('LABEL_NOT_FOUND')
}

function nameExists(error: unknown): never {
  throw violates(error, 'labels_name') ? fieldError('LABEL_NAME_EXISTS', '/name') : error
}
