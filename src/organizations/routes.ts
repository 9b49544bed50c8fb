import Elysia from 'elysia'
import { data } from '../http/answer'
import { asAdmin, inOrganization } from '../http/authenticate'
import { one } from '../shapes/answers'
import { updateOrganization } from './commands'
import { Organization, OrganizationChanges } from './model'
import { getOrganization } from './queries'

const reads = new Elysia({ tags: ['Organization'] })
  .use(inOrganization)

  .get('/organization', ({ scope }) => data(getOrganization(scope)), { response: one(Organization) })

const writes = new Elysia({ tags: ['Organization'] })
  .use(asAdmin)

  .patch('/organization', ({ scope, body }) => data(updateOrganization(scope, body)), {
    body: OrganizationChanges,
    response: one(Organization),
  })

export const organizationRoutes = new Elysia().use(reads).use(writes)
