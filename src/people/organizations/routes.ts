import Elysia from 'elysia'
import { NoContent, one } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { accountConnection, inOrganization, signedIn } from '../../http/admission/authenticate'
import { data, done } from '../../http/request/answer'
import { originOf } from '../../http/request/request'
import { leaveOrganization } from '../users/commands'
import { updateOrganization } from './commands'
import { Organization, OrganizationChanges } from './model'
import { getOrganization } from './queries'

const SECTION = { tags: ['Organization'], detail: { about: 'Settings of the organization, and leaving it.' } }

export const organizationRoutes = new Elysia(SECTION)
  .use(inOrganization)

  .get('/organization', ({ scope }) => data(getOrganization(scope)), {
    response: one(Organization),
    detail: { summary: 'Get organization', permission: 'organization:read' },
  })

  .patch('/organization', ({ scope, body }) => data(updateOrganization(scope, body)), {
    body: OrganizationChanges,
    response: one(Organization),
    detail: { summary: 'Update organization', permission: 'organization:write' },
  })

/** Routes about the organizations of the caller's account. */
export const ownOrganizationRoutes = new Elysia(SECTION)
  .use(signedIn)
  .delete(
    '/auth/me/organizations/:organization_id',
    ({ user, params, request }) =>
      done(leaveOrganization(accountConnection(request), user.id, params.organization_id, originOf(request))),
    {
      params: path('organization_id'),
      response: { 204: NoContent },
      detail: {
        summary: 'Leave organization',
        permission: 'account',
        codes: ['ORGANIZATION_NOT_FOUND', 'VALIDATION_ERROR'],
      },
    },
  )
