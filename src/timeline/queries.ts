import { ApiError } from '../errors'
import type { Scope } from '../scope'
import { type Page, page } from '../shapes/page'
import type { Paging } from '../shapes/query'
import type { Activity } from './model'

/** The timeline of a ticket, oldest first. @throws TICKET_NOT_FOUND */
export function listActivity(scope: Scope, ticket_id: string, query: Paging): Promise<Page<Activity>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    sort: { keys: [sql`id`], direction: 'asc' },
    rows: ({ slice }) => sql<Activity[]>`
      select id, type, json_build_object('type', actor_type, 'id', actor_id, 'name', actor_name) as actor, data, created_at
      from activities
      where organization_id = ${organization_id} and ticket_id = ${ticket_id} ${slice}`,
    count: () => countActivities(scope, ticket_id),
  })
}

async function countActivities({ sql, organization_id }: Scope, ticket_id: string) {
  const counts = await sql<{ total: number }[]>`
    select (
      select count(*) from activities a where a.organization_id = t.organization_id and a.ticket_id = t.id
    ) as total
    from tickets t where t.organization_id = ${organization_id} and t.id = ${ticket_id} and t.deleted_at is null`
  if (counts.length === 0) throw new ApiError('TICKET_NOT_FOUND')
  return counts
}
