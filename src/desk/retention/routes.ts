import Elysia from 'elysia'
import { one } from '../../base/shapes/answers'
import { inOrganization } from '../../http/admission/authenticate'
import { data } from '../../http/request/answer'
import { updateRetention } from './commands'
import { Retention, RetentionChanges, RetentionPreview } from './model'
import { getRetention, previewRetention } from './queries'

export const retentionRoutes = new Elysia({
  tags: ['Retention'],
  detail: { about: 'Rules that erase or delete old tickets, and labels that keep them.' },
})
  .use(inOrganization)

  .get('/retention', ({ scope }) => data(getRetention(scope)), {
    response: one(Retention),
    detail: { summary: 'Get retention', permission: 'retention:read' },
  })

  .patch('/retention', ({ scope, body }) => data(updateRetention(scope, body)), {
    body: RetentionChanges,
    response: one(Retention),
    detail: { summary: 'Update retention', permission: 'admin', codes_422: ['LABEL_NOT_FOUND', 'COMPANY_NOT_FOUND'] },
  })

  .post('/retention/preview', ({ scope, body }) => data(previewRetention(scope, body)), {
    body: RetentionChanges,
    response: one(RetentionPreview),
    detail: {
      summary: 'Preview retention',
      permission: 'retention:read',
      reads: true,
      codes_422: ['LABEL_NOT_FOUND', 'COMPANY_NOT_FOUND'],
      idempotency: 'with the change',
    },
  })
