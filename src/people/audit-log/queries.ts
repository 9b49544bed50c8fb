import type { Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { type Page, page } from '../../base/shapes/page'
import type { AuditLogEntry, AuditLogFilter } from './model'

/** Lists the audit log, newest first. Times of creation are bounds of ids, which begin with them. */
export function listAuditLog(scope: Scope, filter: AuditLogFilter): Promise<Page<AuditLogEntry>> {
  const { sql, organization_id } = scope
  const { actor_id, action, resource_type, resource_id, created_after, created_before } = filter
  const condition = sql`
    ${actor_id ? sql`and actor_id = ${actor_id}` : sql``}
    ${action ? sql`and action = ${action}` : sql``}
    ${resource_type ? sql`and resource_type = ${resource_type}` : sql``}
    ${resource_id ? sql`and resource_id = ${resource_id}` : sql``}
    ${created_after === undefined ? sql`` : sql`and id >= ${firstIdAt(created_after + 1)}`}
    ${created_before === undefined ? sql`` : sql`and id < ${firstIdAt(created_before)}`}`
  return page(scope, filter, {
    name: 'audit-log',
    sort: { keys: [{ sql: sql`id`, field: 'id' }], direction: 'desc' },
    // JSON is made of the rows of the page alone: the database would make it of those before the page too.
    rows: ({ slice, order }) => sql<AuditLogEntry[]>`
      select id, json_build_object('type', actor_type, 'id', actor_id, 'name', actor_name) as actor, action,
        case when resource_id is not null then json_build_object('type', resource_type, 'id', resource_id) end as resource,
        changes, ip, user_agent, request_id, created_at
      from (select * from audit_log where organization_id = ${organization_id} ${condition} ${slice}) as entry ${order}`,
    count: () => sql<{ total: number }[]>`
      select count(*) as total from audit_log where organization_id = ${organization_id} ${condition}`,
  })
}
