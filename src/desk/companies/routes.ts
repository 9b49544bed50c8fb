import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { createCompany, deleteCompany, updateCompany } from './commands'
import { linkContacts } from './link'
import { Company, CompanyChanges, CompanyFilter, CompanyWithDetails, Linked, NewCompany } from './model'
import { getCompany, listCompanies } from './queries'

export const companyRoutes = new Elysia({
  tags: ['Companies'],
  detail: { about: 'Groups of contacts with a billing rate and email domains.' },
})
  .use(inOrganization)

  .get('/companies', ({ scope, query }) => listCompanies(scope, query), {
    query: CompanyFilter,
    response: pageOf(Company),
    detail: { summary: 'List companies', permission: 'companies:read' },
  })

  .post('/companies', ({ scope, body }) => created(createCompany(scope, body)), {
    body: NewCompany,
    response: { 201: one(CompanyWithDetails) },
    detail: { summary: 'Create company', permission: 'companies:write', idempotency: 'with the change' },
  })

  .get('/companies/:company_id', ({ scope, params }) => data(getCompany(scope, params.company_id)), {
    params: path('company_id'),
    response: one(CompanyWithDetails),
    detail: { summary: 'Get company', permission: 'companies:read' },
  })

  .patch('/companies/:company_id', ({ scope, params, body }) => data(updateCompany(scope, params.company_id, body)), {
    params: path('company_id'),
    body: CompanyChanges,
    response: one(CompanyWithDetails),
    detail: { summary: 'Update company', permission: 'companies:write' },
  })

  .delete('/companies/:company_id', ({ scope, params }) => done(deleteCompany(scope, params.company_id)), {
    params: path('company_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete company', permission: 'companies:write' },
  })

  .post('/companies/:company_id/link-contacts', ({ scope, params }) => data(linkContacts(scope, params.company_id)), {
    params: path('company_id'),
    response: one(Linked),
    detail: { summary: 'Link matching contacts', permission: 'companies:write', idempotency: 'with the change' },
  })
