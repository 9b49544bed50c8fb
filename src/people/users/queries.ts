import { addressKey } from '../../base/address/email'
import type { Fragment, Sql } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import { rolesThatMay } from '../../http/request/permissions'
import type { User } from './model'

/** The roles that may manage users. An organization always keeps one active member with such a role. */
export const ADMINS = rolesThatMay('users:write')

type UserQuery = Paging & { status?: User['status'] }

/** The members of the organization and the people invited to it, by name. */
export function listUsers(scope: Scope, query: UserQuery): Promise<Page<User>> {
  const { sql } = scope
  const { status } = query
  const where = sql`where ${status ? sql`u.status = ${status}` : sql`true`}`
  return page(scope, query, {
    name: 'users',
    sort: {
      keys: [
        { sql: sql`lower(u.name)`, field: 'name', bound: (name) => sql`lower(${name})` },
        { sql: sql`u.id`, field: 'id' },
      ],
      direction: 'asc',
    },
    rows: ({ slice }) => sql<User[]>`select u.* from (${people(scope)}) as u ${where} ${slice}`,
    count: () => sql<{ total: number }[]>`select count(*) as total from (${people(scope)}) as u ${where}`,
  })
}

/** A member of the organization, or an invitation to it. @throws USER_NOT_FOUND */
export async function getUser(scope: Scope, id: string): Promise<User> {
  const [user] = await scope.sql<User[]>`select u.* from (${people(scope)}) as u where u.id = ${id}`
  if (!user) throw new ApiError('USER_NOT_FOUND')
  return user
}

/** A member of the organization. @throws USER_NOT_FOUND */
export async function getMember(scope: Scope, id: string): Promise<User> {
  const [user] = await scope.sql<User[]>`select u.* from (${members(scope)}) as u where u.id = ${id}`
  if (!user) throw new ApiError('USER_NOT_FOUND')
  return user
}

/** Finds a member by the account, active or not, as an actor in the organization. */
export async function findPerson(
  { sql }: Pick<Scope, 'sql'>,
  user_id: string,
  organization_id: string,
): Promise<{ name: string; email: string; role: User['role'] } | undefined> {
  const [person] = await sql<{ name: string; email: string; role: User['role'] }[]>`
    select u.name, u.email, m.role
    from memberships m join users u on u.id = m.user_id
    where m.organization_id = ${organization_id} and m.user_id = ${user_id} and m.removed_at is null`
  return person
}

/** Tells whether an email is that of a member of the organization, without those of an import. */
export async function isMember({ sql, organization_id }: Scope, email: string): Promise<boolean> {
  const found = await sql`
    select from memberships m join users u on u.id = m.user_id
    where m.organization_id = ${organization_id} and m.removed_at is null and not m.is_imported
      and u.email_key = ${addressKey(email)}`
  return found.length > 0
}

/** Tells whether a member came by an import and was not let in since. */
export async function isImported({ sql, organization_id }: Scope, user_id: string): Promise<boolean> {
  const found = await sql`
    select from memberships where organization_id = ${organization_id} and user_id = ${user_id} and is_imported`
  return found.length > 0
}

/**
 * Locks the active admins of the organization until the caller's transaction ends. They are locked in one order, so
 * that two admins who remove each other at the same time wait for each other instead of both succeeding. Tickets that
 * are assigned to them do not wait.
 */
export async function lockAdmins({ sql, organization_id }: Scope): Promise<void> {
  await sql`
    select from memberships
    where organization_id = ${organization_id} and role in ${sql(ADMINS)} and removed_at is null
    order by user_id for no key update`
}

export async function hasActiveAdmin({ sql, organization_id }: Scope): Promise<boolean> {
  const found = await sql`
    select from memberships
    where organization_id = ${organization_id} and role in ${sql(ADMINS)} and active and removed_at is null limit 1`
  return found.length > 0
}

/**
 * Tells whether another organization has, had or awaits a member with this email: an invitation that can still be
 * accepted counts as a membership, and an import does not: anybody's address can stand in its files.
 */
export async function isReliedOnElsewhere({ sql, organization_id }: Scope, email: string): Promise<boolean> {
  const [found] = await sql<{ is_relied_on: boolean }[]>`
    select exists (
      select 1 from memberships m join users u on u.id = m.user_id
      where m.organization_id <> ${organization_id} and u.email_key = ${addressKey(email)} and not m.is_imported
    ) or exists (
      select 1 from invitations
      where organization_id <> ${organization_id} and email_key = ${addressKey(email)} and expires_at > now()
    ) as is_relied_on`
  return found!.is_relied_on
}

/** SQL of everybody in the organization. */
function people(scope: Scope): Fragment {
  return scope.sql`${members(scope)} union all ${invited(scope)}`
}

function members({ sql, organization_id }: Scope): Fragment {
  return sql`
    select ${userFields(
      sql,
      { person: 'u', terms: 'm' },
      { status: sql`case when m.active then 'active' else 'inactive' end`, available: sql`m.available` },
    )}
    from memberships m
    join users u on u.id = m.user_id
    join organizations o on o.id = ${organization_id}
    where m.organization_id = ${organization_id} and m.removed_at is null`
}

function invited({ sql, organization_id }: Scope): Fragment {
  return sql`
    select ${userFields(sql, { person: 'i', terms: 'i' }, { status: sql`'invited'`, available: sql`true` })}
    from invitations i
    join organizations o on o.id = ${organization_id}
    where i.organization_id = ${organization_id}`
}

/**
 * The select list of a `User`, with the organization as `o`.
 * @param aliases of the tables with the name of the person, and with the role
 */
function userFields(
  sql: Sql,
  aliases: { person: string; terms: string },
  { status, available }: { status: Fragment; available: Fragment },
): Fragment {
  const [person, terms] = [sql(aliases.person), sql(aliases.terms)]
  return sql`${person}.id, ${person}.email, ${person}.name, ${terms}.role, ${terms}.hourly_rate,
    coalesce(${terms}.currency, o.currency) as currency, (${status}) = 'active' as active,
    ${available} as available, ${status} as status,
    ${terms}.created_at`
}
