import type { Fragment } from '../db/transact'
import { ApiError } from '../errors'
import type { Scope } from '../scope'
import { type Page, page } from '../shapes/page'
import type { Paging } from '../shapes/query'
import type { User } from './model'

/** The members of the organization by name. */
export function listUsers(scope: Scope, query: Paging): Promise<Page<User>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    sort: { keys: [sql`lower(u.name)`, sql`u.id`], direction: 'asc' },
    rows: ({ slice }) => selectUsers(scope, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from memberships where organization_id = ${organization_id} and removed_at is null`,
  })
}

/** @throws USER_NOT_FOUND */
export async function getUser(scope: Scope, id: string): Promise<User> {
  const [user] = await selectUsers(scope, scope.sql`and m.user_id = ${id}`)
  if (!user) throw new ApiError('USER_NOT_FOUND')
  return user
}

function selectUsers({ sql, organization_id }: Scope, rest: Fragment) {
  return sql<User[]>`
    select u.id, u.email, u.name, m.role, m.hourly_rate, coalesce(m.currency, o.currency) as currency, m.active,
      m.created_at
    from memberships m
    join users u on u.id = m.user_id
    join organizations o on o.id = m.organization_id
    where m.organization_id = ${organization_id} and m.removed_at is null ${rest}`
}
