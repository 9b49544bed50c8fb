import type { Fragment, Sql } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { requirePerson } from '../../http/request/permissions'
import type { Viewer } from './model'

/** The others who have a ticket open, by name. */
export async function findOtherViewers(scope: Scope, ticket_id: string): Promise<Viewer[]> {
  const { id } = requirePerson(scope)
  return (await findViewers(scope, ticket_id)).filter(({ user }) => user.id !== id)
}

/** All who have a ticket open, by name. */
export async function findViewers({ sql, organization_id }: Scope, ticket_id: string): Promise<Viewer[]> {
  return sql<Viewer[]>`
    select json_build_object('id', u.id, 'name', u.name) as user, v.writing, v.seen_at
    from viewers v
    join memberships m on m.organization_id = ${organization_id} and m.user_id = v.user_id
      and m.active and m.removed_at is null
    join users u on u.id = m.user_id
    where v.organization_id = ${organization_id} and v.ticket_id = ${ticket_id} and not ${isOver(sql)}
    order by lower(u.name), u.id`
}

/** SQL: a row counts no more. */
export function isOver(sql: Sql): Fragment {
  return sql`seen_at <= now() - interval '60 seconds'`
}
