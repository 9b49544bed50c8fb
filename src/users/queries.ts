import type { PendingQuery, Row } from 'postgres'
import { ApiError } from '../errors'
import type { Scope } from '../scope'
import type { PageMeta } from '../shapes/answers'
import { type Paging, pageOf } from '../shapes/query'
import type { User } from './model'

/** The members of the organization by name. */
export async function listUsers(scope: Scope, query: Paging): Promise<{ data: User[]; meta: PageMeta }> {
  const { sql, organization_id } = scope
  const { page, per_page, offset } = pageOf(query)
  const [data, [count]] = await Promise.all([
    selectUsers(scope, sql`order by lower(u.name), u.id limit ${per_page} offset ${offset}`),
    sql<{ total: number }[]>`
      select count(*) as total from memberships where organization_id = ${organization_id} and removed_at is null`,
  ])
  return { data, meta: { total: count!.total, page, per_page } }
}

/** @throws USER_NOT_FOUND */
export async function getUser(scope: Scope, id: string): Promise<User> {
  const [user] = await selectUsers(scope, scope.sql`and m.user_id = ${id}`)
  if (!user) throw new ApiError('USER_NOT_FOUND')
  return user
}

function selectUsers({ sql, organization_id }: Scope, rest: PendingQuery<Row[]>) {
  return sql<User[]>`
    select u.id, u.email, u.name, m.role, m.hourly_rate, coalesce(m.currency, o.currency) as currency, m.active,
      m.created_at
    from memberships m
    join users u on u.id = m.user_id
    join organizations o on o.id = m.organization_id
    where m.organization_id = ${organization_id} and m.removed_at is null ${rest}`
}
