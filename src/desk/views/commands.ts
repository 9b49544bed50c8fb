/** Saves filters of the ticket list. */
import { newId } from '../../base/db/columns'
import { ApiError, fieldError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { lacking, permits, personId } from '../../http/request/permissions'
import { isVisible, requireFilter } from '../tickets/saved-filter'
import type { NewView, View, ViewChanges } from './model'
import { getView, readView } from './queries'

/** Views of one owner, and of all that have none. */
const MOST = 100

/**
 * Saves a view. One of an API key has no owner, and is shared.
 * @throws VALIDATION_ERROR or the code of a filter, FORBIDDEN for a member who was removed meanwhile
 */
export function createView(scope: Scope, { name, filter = {}, ...input }: NewView): Promise<View> {
  requireFilter(scope, filter)
  const owner_id = personId(scope)
  const sort = input.sort ?? null
  const shared = input.shared ?? owner_id === null
  if (!shared && owner_id === null) throw unowned()
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await lockViewsOf(scope, owner_id)
    if (owner_id !== null) await requireMember(scope, owner_id)
    const [{ n } = { n: 0 }] = await sql<{ n: number }[]>`
      select count(*) as n from views v
      where v.organization_id = ${organization_id} and v.owner_id is not distinct from ${owner_id}::uuid`
    if (n >= MOST) throw fieldError('VALIDATION_ERROR', '', `must be one of at most ${MOST} views of its owner`)
    const id = newId()
    await sql`
      insert into views (organization_id, id, name, filter, sort, shared, owner_id)
      values (${organization_id}, ${id}, ${name}, ${JSON.stringify(filter)}::text::jsonb, ${sort}, ${shared}, ${owner_id})`
    return getView(scope, id)
  })
}

/** Changes a view. @throws VIEW_NOT_FOUND, FORBIDDEN, VALIDATION_ERROR or the code of a filter */
export function updateView(scope: Scope, id: string, changes: ViewChanges): Promise<View> {
  if (changes.filter) requireFilter(scope, changes.filter)
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const before = await lockView(scope, id)
    if (changes.shared === false && before.owner_id === null) throw unowned()
    const { name, filter, sort, shared } = { ...before, ...changes }
    await sql`
      update views set name = ${name}, filter = ${JSON.stringify(filter)}::text::jsonb, sort = ${sort},
        shared = ${shared}, updated_at = now()
      where organization_id = ${organization_id} and id = ${id}`
    return readView(scope, id)
  })
}

/** Deletes a view. @throws VIEW_NOT_FOUND, FORBIDDEN */
export function deleteView(scope: Scope, id: string): Promise<void> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await lockView(scope, id)
    await sql`delete from views where organization_id = ${organization_id} and id = ${id}`
  })
}

/**
 * Takes a member who leaves out of the views, in the caller's transaction, which has changed the membership's row:
 * shared ones stay without an owner, private ones go.
 */
export async function disownViews(scope: Scope, user_id: string): Promise<void> {
  const { sql, organization_id } = scope
  await lockViewsOf(scope, user_id)
  // In this order: what becomes private meanwhile goes, too.
  await sql`
    update views set owner_id = null
    where organization_id = ${organization_id} and owner_id = ${user_id} and shared`
  await sql`delete from views where organization_id = ${organization_id} and owner_id = ${user_id}`
}

type LockedView = Pick<View, 'name' | 'filter' | 'sort' | 'shared'> & { owner_id: string | null }

/** Locks a view that the caller may change. @throws VIEW_NOT_FOUND, FORBIDDEN */
async function lockView(scope: Scope, id: string): Promise<LockedView> {
  const { sql, organization_id } = scope
  const [view] = await sql<LockedView[]>`
    select v.name, v.filter, v.sort, v.shared, v.owner_id from views v
    where v.organization_id = ${organization_id} and v.id = ${id} and ${isVisible(scope)}
    for no key update`
  if (!view) throw new ApiError('VIEW_NOT_FOUND')
  const is_own = view.owner_id === personId(scope)
  if (!is_own && !permits(scope, 'admin')) throw lacking(scope, 'admin')
  return view
}

/** One at a time makes views of an owner, or ends the membership. */
async function lockViewsOf({ sql, organization_id }: Scope, owner_id: string | null): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`views ${organization_id} ${owner_id}`}, 0))`
}

/** @throws FORBIDDEN */
async function requireMember({ sql, organization_id }: Scope, user_id: string): Promise<void> {
  const member = await sql`
    select from memberships
    where organization_id = ${organization_id} and user_id = ${user_id} and removed_at is null`
  if (member.length === 0) throw new ApiError('FORBIDDEN')
}

function unowned(): ApiError {
  return fieldError('VALIDATION_ERROR', '/shared', 'must be true for a view without an owner')
}
