import Elysia from 'elysia'
import { data } from '../http/answer'
import { inOrganization } from '../http/authenticate'
import { one } from '../shapes/answers'
import { updateOrganization } from './commands'
import { Organization, OrganizationChanges } from './model'
import { getOrganization } from './queries'

export const organizationRoutes = new Elysia({
  tags: ['Organization'],
  detail: { about: 'Settings of the organization.' },
})
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
