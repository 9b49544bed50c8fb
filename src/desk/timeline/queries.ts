import type { Fragment, Sql } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { firstRows, type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import type { Activity } from './model'
import { requireTicket } from './require-ticket'

/** The timeline of a ticket, oldest first. @throws TICKET_NOT_FOUND */
export function listActivity(scope: Scope, ticket_id: string, query: Paging): Promise<Page<Activity>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: `activity of ${ticket_id}`,
    ...timeline(scope, ticket_id, 'asc'),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from activities where organization_id = ${organization_id} and ticket_id = ${ticket_id}`,
    parent: () => requireTicket(scope, ticket_id),
  })
}

/** The last entries of the timeline of a ticket, newest first. */
export function latestActivity(scope: Scope, ticket_id: string, most: number): Promise<Activity[]> {
  return firstRows(scope, timeline(scope, ticket_id, 'desc'), most)
}

function timeline({ sql, organization_id }: Scope, ticket_id: string, direction: 'asc' | 'desc') {
  return {
    sort: { keys: [{ sql: sql`id`, field: 'id' as const }], direction },
    rows: ({ slice }: { slice: Fragment }) => sql<Activity[]>`
      select id, type, ${actorOf(sql)} as actor, data, created_at
      from activities
      where organization_id = ${organization_id} and ticket_id = ${ticket_id} ${slice}`,
  }
}

/** SQL for the doer of an entry, as answers show it. */
export function actorOf(sql: Sql): Fragment {
  return sql`
    case
      when rule is null then json_build_object('type', actor_type, 'id', actor_id, 'name', actor_name)
      else json_build_object('type', actor_type, 'id', actor_id, 'name', actor_name, 'rule', rule)
    end`
}
