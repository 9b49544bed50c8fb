import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { checkRecords } from './check-records'
import { createDomain, deleteDomain, verifyDomain } from './commands'
import { Domain, DomainRecords, NewDomain } from './model'
import { listDomains } from './queries'

export const domainRoutes = new Elysia({
  tags: ['Domains'],
  detail: { about: 'Domains of mailboxes, which an organization proves to be its own.' },
})
  .use(inOrganization)

  .get('/domains', ({ scope, query }) => listDomains(scope, query), {
    query: query(Paging),
    response: pageOf(Domain),
    detail: { summary: 'List domains', permission: 'mailboxes:read' },
  })

  .post('/domains', ({ scope, body }) => created(createDomain(scope, body)), {
    body: NewDomain,
    response: { 201: one(Domain) },
    detail: {
      summary: 'Create domain',
      permission: 'mailboxes:write',
      codes: ['DOMAIN_ALREADY_EXISTS'],
      idempotency: 'with the change',
    },
  })

  .post('/domains/:domain_id/verify', ({ scope, params }) => data(verifyDomain(scope, params.domain_id)), {
    params: path('domain_id'),
    response: one(Domain),
    detail: {
      summary: 'Verify domain',
      permission: 'mailboxes:write',
      codes: ['DOMAIN_NOT_VERIFIED'],
      idempotency: 'afterwards',
    },
  })

  .get('/domains/:domain_id/records', ({ scope, params }) => data(checkRecords(scope, params.domain_id)), {
    params: path('domain_id'),
    response: one(DomainRecords),
    detail: {
      summary: 'Check records of domain',
      description: 'DNS is asked when the domain is verified. Its answers are kept for up to 5 minutes',
      permission: 'mailboxes:read',
    },
  })

  .delete('/domains/:domain_id', ({ scope, params }) => done(deleteDomain(scope, params.domain_id)), {
    params: path('domain_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete domain', permission: 'mailboxes:write' },
  })
