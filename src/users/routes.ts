import Elysia from 'elysia'
import { data } from '../http/answer'
import { asAdmin, inOrganization } from '../http/authenticate'
import { NoContent, one, pageOf } from '../shapes/answers'
import { path } from '../shapes/fields'
import { Paging, query } from '../shapes/query'
import { createUser, deleteUser, updateUser } from './commands'
import { NewUser, User, UserChanges } from './model'
import { getUser, listUsers } from './queries'

const reads = new Elysia({ tags: ['Users'] })
  .use(inOrganization)

  .get('/users', ({ scope, query }) => listUsers(scope, query), { query: query(Paging), response: pageOf(User) })

  .get('/users/:user_id', ({ scope, params }) => data(getUser(scope, params.user_id)), {
    params: path('user_id'),
    response: one(User),
  })

const writes = new Elysia({ tags: ['Users'] })
  .use(asAdmin)

  .post('/users', async ({ scope, body, status }) => status(201, await data(createUser(scope, body))), {
    body: NewUser,
    response: { 201: one(User) },
  })

  .patch('/users/:user_id', ({ scope, params, body }) => data(updateUser(scope, params.user_id, body)), {
    params: path('user_id'),
    body: UserChanges,
    response: one(User),
  })

  .delete(
    '/users/:user_id',
    async ({ scope, params, status }) => {
      await deleteUser(scope, params.user_id)
      return status(204, undefined)
    },
    { params: path('user_id'), response: { 204: NoContent } },
  )

export const userRoutes = new Elysia().use(reads).use(writes)
