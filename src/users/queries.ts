import { rolesThatMay } from '../auth/permissions'
import type { Fragment } from '../db/transact'
import { ApiError } from '../errors'
import type { Scope } from '../scope'
import { type Page, page } from '../shapes/page'
import type { Paging } from '../shapes/query'
import type { User } from './model'

/** The roles that may manage users. An organization always keeps one active member with such a role. */
export const ADMINS = rolesThatMay('users:write')

/** The members of the organization, by name. */
export function listUsers(scope: Scope, query: Paging): Promise<Page<User>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    sort: { keys: [sql`lower(u.name)`, sql`u.id`], direction: 'asc' },
    rows: ({ slice }) => selectUsers(scope, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from memberships where organization_id = ${organization_id} and removed_at is null`,
  })
}

/** A member of the organization. @throws USER_NOT_FOUND */
export async function getUser(scope: Scope, id: string): Promise<User> {
  const [user] = await selectUsers(scope, scope.sql`and m.user_id = ${id}`)
  if (!user) throw new ApiError('USER_NOT_FOUND')
  return user
}

/**
 * Locks the active admins of the organization until the caller's transaction ends. They are locked in one order, so that
 * two admins who remove each other at the same time wait for each other instead of both succeeding.
 */
export async function lockAdmins({ sql, organization_id }: Scope): Promise<void> {
  await sql`
    select from memberships
    where organization_id = ${organization_id} and role in ${sql(ADMINS)} and removed_at is null
    order by user_id for update`
}

export async function hasActiveAdmin({ sql, organization_id }: Scope): Promise<boolean> {
  const found = await sql`
    select from memberships
    where organization_id = ${organization_id} and role in ${sql(ADMINS)} and active and removed_at is null limit 1`
  return found.length > 0
}

/** Tells whether an account is a member of another organization too. */
export async function isMemberElsewhere({ sql, organization_id }: Scope, user_id: string): Promise<boolean> {
  const found = await sql`
    select from memberships
    where organization_id <> ${organization_id} and user_id = ${user_id} and removed_at is null limit 1`
  return found.length > 0
}

/** Tells whether an account is or was a member of another organization. */
export async function wasMemberElsewhere({ sql, organization_id }: Scope, user_id: string): Promise<boolean> {
  const found = await sql`
    select from memberships where organization_id <> ${organization_id} and user_id = ${user_id} limit 1`
  return found.length > 0
}

/** The select list is the response: its columns are the fields of `User`. */
function selectUsers({ sql, organization_id }: Scope, rest: Fragment) {
  return sql<User[]>`
    select u.id, u.email, u.name, m.role, m.hourly_rate, coalesce(m.currency, o.currency) as currency, m.active,
      m.created_at
    from memberships m
    join users u on u.id = m.user_id
    join organizations o on o.id = m.organization_id
    where m.organization_id = ${organization_id} and m.removed_at is null ${rest}`
}
