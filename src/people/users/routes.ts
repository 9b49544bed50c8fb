import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query, queryWord } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { createUser, deleteUser, inviteAgain, resetSecondFactorOf, updateUser } from './commands'
import { NewUser, USER_STATUSES, User, UserChanges } from './model'
import { getUser, listUsers } from './queries'

export const userRoutes = new Elysia({
  tags: ['Users'],
  detail: { about: 'Members of the organization, people who are invited to it, and their roles.' },
})
  .use(inOrganization)

  .get('/users', ({ scope, query }) => listUsers(scope, query), {
    query: query({ ...Paging, status: queryWord(USER_STATUSES) }),
    response: pageOf(User),
    detail: { summary: 'List users', permission: 'users:read' },
  })

  .post('/users', ({ scope, body }) => created(createUser(scope, body)), {
    body: NewUser,
    response: { 201: one(User) },
    detail: {
      summary: 'Create user',
      permission: 'users:write',
      codes: ['EMAIL_ALREADY_EXISTS', 'EMAIL_SEND_FAILED'],
      idempotency: 'with the change',
    },
  })

  .get('/users/:user_id', ({ scope, params }) => data(getUser(scope, params.user_id)), {
    params: path('user_id'),
    response: one(User),
    detail: { summary: 'Get user', permission: 'users:read' },
  })

  .patch('/users/:user_id', ({ scope, params, body }) => data(updateUser(scope, params.user_id, body)), {
    params: path('user_id'),
    body: UserChanges,
    response: one(User),
    detail: { summary: 'Update user', permission: 'users:write', codes: ['EMAIL_ALREADY_EXISTS'] },
  })

  .post('/users/:user_id/invite', ({ scope, params }) => data(inviteAgain(scope, params.user_id)), {
    params: path('user_id'),
    response: one(User),
    detail: {
      summary: 'Send invitation again',
      permission: 'admin',
      codes: ['EMAIL_SEND_FAILED'],
      idempotency: 'with the change',
    },
  })

  .delete('/users/:user_id/second-factor', ({ scope, params }) => done(resetSecondFactorOf(scope, params.user_id)), {
    params: path('user_id'),
    response: { 204: NoContent },
    detail: { summary: 'Reset second factor', permission: 'admin', codes: ['SECOND_FACTOR_NOT_FOUND'] },
  })

  .delete('/users/:user_id', ({ scope, params }) => done(deleteUser(scope, params.user_id)), {
    params: path('user_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete user', permission: 'users:write' },
  })
