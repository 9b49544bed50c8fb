import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { createWebhook, deleteWebhook, updateWebhook } from './commands'
import {
  Delivery,
  DeliveryDetail,
  DeliveryFilter,
  NewWebhook,
  Replay,
  Replayed,
  Webhook,
  WebhookChanges,
} from './model'
import { getDeliveryDetail, getWebhook, listDeliveries, listWebhooks } from './queries'
import { replayWebhook } from './replay'
import { retryDelivery, testWebhook } from './send-now'

export const webhookRoutes = new Elysia({
  tags: ['Webhooks'],
  detail: { about: 'Subscriptions to events, and their deliveries.' },
})
  .use(inOrganization)

  .get('/webhooks', ({ scope, query }) => listWebhooks(scope, query), {
    query: query(Paging),
    response: pageOf(Webhook),
    detail: { summary: 'List webhooks', permission: 'webhooks:read' },
  })

  .post('/webhooks', ({ scope, body }) => created(createWebhook(scope, body)), {
    body: NewWebhook,
    response: { 201: one(Webhook) },
    detail: { summary: 'Create webhook', permission: 'webhooks:write', idempotency: 'with the change' },
  })

  .get('/webhooks/:webhook_id', ({ scope, params }) => data(getWebhook(scope, params.webhook_id)), {
    params: path('webhook_id'),
    response: one(Webhook),
    detail: { summary: 'Get webhook', permission: 'webhooks:read' },
  })

  .patch('/webhooks/:webhook_id', ({ scope, params, body }) => data(updateWebhook(scope, params.webhook_id, body)), {
    params: path('webhook_id'),
    body: WebhookChanges,
    response: one(Webhook),
    detail: { summary: 'Update webhook', permission: 'webhooks:write' },
  })

  .delete('/webhooks/:webhook_id', ({ scope, params }) => done(deleteWebhook(scope, params.webhook_id)), {
    params: path('webhook_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete webhook', permission: 'webhooks:write' },
  })

  .post('/webhooks/:webhook_id/test', ({ scope, params }) => data(testWebhook(scope, params.webhook_id)), {
    params: path('webhook_id'),
    response: one(Delivery),
    detail: {
      summary: 'Test webhook',
      permission: 'webhooks:write',
      codes: ['WEBHOOK_DISABLED'],
      idempotency: 'afterwards',
    },
  })

  .post(
    '/webhooks/:webhook_id/replay',
    ({ scope, params, body }) => data(replayWebhook(scope, params.webhook_id, body)),
    {
      params: path('webhook_id'),
      body: Replay,
      response: one(Replayed),
      detail: {
        summary: 'Replay webhook',
        permission: 'webhooks:write',
        codes: ['WEBHOOK_DISABLED'],
        idempotency: 'with the change',
      },
    },
  )

  .get(
    '/webhooks/:webhook_id/deliveries',
    ({ scope, params, query }) => listDeliveries(scope, params.webhook_id, query),
    {
      params: path('webhook_id'),
      query: DeliveryFilter,
      response: pageOf(Delivery),
      detail: { summary: 'List deliveries', permission: 'webhooks:read' },
    },
  )

  .get(
    '/webhooks/:webhook_id/deliveries/:delivery_id',
    ({ scope, params }) => data(getDeliveryDetail(scope, params.webhook_id, params.delivery_id)),
    {
      params: path('webhook_id', 'delivery_id'),
      response: one(DeliveryDetail),
      detail: { summary: 'Get delivery', permission: 'webhooks:read' },
    },
  )

  .post(
    '/webhooks/:webhook_id/deliveries/:delivery_id/retry',
    ({ scope, params }) => data(retryDelivery(scope, params.webhook_id, params.delivery_id)),
    {
      params: path('webhook_id', 'delivery_id'),
      response: one(Delivery),
      detail: {
        summary: 'Retry delivery',
        permission: 'webhooks:write',
        codes: ['WEBHOOK_DISABLED'],
        idempotency: 'afterwards',
      },
    },
  )
