import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { ExternalIdPath } from '../../base/shapes/external-id'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { requireTag } from '../../http/request/tags'
import { createCompany, deleteCompany, putCompany, updateCompany } from './commands'
import { linkContacts } from './link'
import {
  Company,
  CompanyByExternalId,
  CompanyChanges,
  CompanyFilter,
  CompanyWithDetails,
  Linked,
  NewCompany,
} from './model'
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
    detail: {
      summary: 'Create company',
      permission: 'companies:write',
      codes: ['EXTERNAL_ID_EXISTS'],
      idempotency: 'with the change',
    },
  })

  .put(
    '/companies/by-external-id/:external_id',
    async ({ request, scope, params, body }) => {
      const header = request.headers.get('if-match')
      const judge = (company: CompanyWithDetails | undefined) => requireTag(header, company && { data: company })
      const { company, is_new } = await putCompany(scope, params.external_id, body, judge)
      return is_new ? created(Promise.resolve(company)) : data(company)
    },
    {
      params: ExternalIdPath,
      body: CompanyByExternalId,
      response: { 200: one(CompanyWithDetails), 201: one(CompanyWithDetails) },
      detail: {
        summary: 'Create or update company',
        description:
          'Changes the company with this external id, as PATCH does: 200. Else creates one, which needs `name`: 201.',
        permission: 'companies:write',
        if_match: 'by its command',
      },
    },
  )

  .get('/companies/:company_id', ({ scope, params }) => data(getCompany(scope, params.company_id)), {
    params: path('company_id'),
    response: one(CompanyWithDetails),
    detail: { summary: 'Get company', permission: 'companies:read' },
  })

  .patch('/companies/:company_id', ({ scope, params, body }) => data(updateCompany(scope, params.company_id, body)), {
    params: path('company_id'),
    body: CompanyChanges,
    response: one(CompanyWithDetails),
    detail: { summary: 'Update company', permission: 'companies:write', codes: ['EXTERNAL_ID_EXISTS'] },
  })

  .delete('/companies/:company_id', ({ scope, params }) => done(deleteCompany(scope, params.company_id)), {
    params: path('company_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete company', permission: 'companies:write' },
  })

  .post('/companies/:company_id/link-contacts', ({ scope, params }) => data(linkContacts(scope, params.company_id)), {
    params: path('company_id'),
    response: one(Linked),
    detail: { summary: 'Link matching contacts', permission: 'companies:write', idempotency: 'afterwards' },
  })
