import Elysia from 'elysia'
import type { ErrorCode } from '../../base/errors'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { createSlaPolicy, deleteSlaPolicy, updateSlaPolicy } from './commands'
import { NewSlaPolicy, SlaPolicy, SlaPolicyChanges } from './model'
import { getSlaPolicy, listSlaPolicies } from './queries'

const CODES: ErrorCode[] = ['SLA_POLICY_NAME_EXISTS']

export const slaPolicyRoutes = new Elysia({
  tags: ['SLA policies'],
  detail: { about: 'Which tickets are promised an answer and an end within how many minutes.' },
})
  .use(inOrganization)

  .get('/sla-policies', ({ scope, query }) => listSlaPolicies(scope, query), {
    query: query(Paging),
    response: pageOf(SlaPolicy),
    detail: { summary: 'List policies', description: 'By position', permission: 'sla_policies:read' },
  })

  .post('/sla-policies', ({ scope, body }) => created(createSlaPolicy(scope, body)), {
    body: NewSlaPolicy,
    response: { 201: one(SlaPolicy) },
    detail: {
      summary: 'Create policy',
      permission: 'sla_policies:write',
      codes: CODES,
      idempotency: 'with the change',
    },
  })

  .get('/sla-policies/:sla_policy_id', ({ scope, params }) => data(getSlaPolicy(scope, params.sla_policy_id)), {
    params: path('sla_policy_id'),
    response: one(SlaPolicy),
    detail: { summary: 'Get policy', permission: 'sla_policies:read' },
  })

  .patch(
    '/sla-policies/:sla_policy_id',
    ({ scope, params, body }) => data(updateSlaPolicy(scope, params.sla_policy_id, body)),
    {
      params: path('sla_policy_id'),
      body: SlaPolicyChanges,
      response: one(SlaPolicy),
      detail: { summary: 'Update policy', permission: 'sla_policies:write', codes: CODES },
    },
  )

  .delete('/sla-policies/:sla_policy_id', ({ scope, params }) => done(deleteSlaPolicy(scope, params.sla_policy_id)), {
    params: path('sla_policy_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete policy', permission: 'sla_policies:write' },
  })
