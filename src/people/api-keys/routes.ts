import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { createApiKey, revokeApiKey, updateApiKey } from './commands'
import { ApiKey, ApiKeyChanges, ApiKeyFilter, CreatedApiKey, NewApiKey } from './model'
import { getApiKey, listApiKeys } from './queries'

export const apiKeyRoutes = new Elysia({
  tags: ['API keys'],
  detail: { about: 'Credentials of programs, which do only what they were permitted.' },
})
  .use(inOrganization)

  .get('/api-keys', ({ scope, query }) => listApiKeys(scope, query), {
    query: ApiKeyFilter,
    response: pageOf(ApiKey),
    detail: { summary: 'List keys', permission: 'admin' },
  })

  .post('/api-keys', ({ scope, body }) => created(createApiKey(scope, body)), {
    body: NewApiKey,
    response: { 201: one(CreatedApiKey) },
    // An answer that is kept for repeating it would keep the key.
    detail: { summary: 'Create key', permission: 'admin', idempotency: 'never' },
  })

  .get('/api-keys/:api_key_id', ({ scope, params }) => data(getApiKey(scope, params.api_key_id)), {
    params: path('api_key_id'),
    response: one(ApiKey),
    detail: { summary: 'Get key', permission: 'admin' },
  })

  .patch('/api-keys/:api_key_id', ({ scope, params, body }) => data(updateApiKey(scope, params.api_key_id, body)), {
    params: path('api_key_id'),
    body: ApiKeyChanges,
    response: one(ApiKey),
    detail: { summary: 'Update key', permission: 'admin' },
  })

  .delete('/api-keys/:api_key_id', ({ scope, params }) => done(revokeApiKey(scope, params.api_key_id)), {
    params: path('api_key_id'),
    response: { 204: NoContent },
    detail: { summary: 'Revoke key', permission: 'admin' },
  })
