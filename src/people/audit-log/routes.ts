import Elysia from 'elysia'
import { pageOf } from '../../base/shapes/answers'
import { inOrganization } from '../../http/admission/authenticate'
import { AuditLogEntry, AuditLogFilter } from './model'
import { listAuditLog } from './queries'

export const auditLogRoutes = new Elysia({
  tags: ['Audit log'],
  detail: { about: 'Who did what in the organization, and from where.' },
})
  .use(inOrganization)

  .get('/audit-log', ({ scope, query }) => listAuditLog(scope, query), {
    query: AuditLogFilter,
    response: pageOf(AuditLogEntry),
    detail: { summary: 'List audit log', permission: 'audit_log:read' },
  })
