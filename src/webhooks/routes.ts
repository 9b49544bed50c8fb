import Elysia from 'elysia'
import { data } from '../http/answer'
import { asAdmin, inOrganization } from '../http/authenticate'
import { NoContent, one, pageOf } from '../shapes/answers'
import { path } from '../shapes/fields'
import { Paging, query } from '../shapes/query'
import { createWebhook, deleteWebhook, updateWebhook } from './commands'
import { Delivery, DeliveryDetail, DeliveryFilter, NewWebhook, Webhook, WebhookChanges } from './model'
import { getDeliveryDetail, getWebhook, listDeliveries, listWebhooks } from './queries'
import { retryDelivery, testWebhook } from './send-now'

const reads = new Elysia({ tags: ['Webhooks'] })
  .use(inOrganization)

  .get('/webhooks', ({ scope, query }) => listWebhooks(scope, query), {
    query: query(Paging),
    response: pageOf(Webhook),
  })

  .get('/webhooks/:webhook_id', ({ scope, params }) => data(getWebhook(scope, params.webhook_id)), {
    params: path('webhook_id'),
    response: one(Webhook),
  })

  .get(
    '/webhooks/:webhook_id/deliveries',
    ({ scope, params, query }) => listDeliveries(scope, params.webhook_id, query),
    { params: path('webhook_id'), query: DeliveryFilter, response: pageOf(Delivery) },
  )

  .get(
    '/webhooks/:webhook_id/deliveries/:delivery_id',
    ({ scope, params }) => data(getDeliveryDetail(scope, params.webhook_id, params.delivery_id)),
    { params: path('webhook_id', 'delivery_id'), response: one(DeliveryDetail) },
  )

const writes = new Elysia({ tags: ['Webhooks'] })
  .use(asAdmin)

  .post('/webhooks', async ({ scope, body, status }) => status(201, await data(createWebhook(scope, body))), {
    body: NewWebhook,
    response: { 201: one(Webhook) },
  })

  .patch('/webhooks/:webhook_id', ({ scope, params, body }) => data(updateWebhook(scope, params.webhook_id, body)), {
    params: path('webhook_id'),
    body: WebhookChanges,
    response: one(Webhook),
  })

  .delete(
    '/webhooks/:webhook_id',
    async ({ scope, params, status }) => {
      await deleteWebhook(scope, params.webhook_id)
      return status(204, undefined)
    },
    { params: path('webhook_id'), response: { 204: NoContent } },
  )

  .post('/webhooks/:webhook_id/test', ({ scope, params }) => data(testWebhook(scope, params.webhook_id)), {
    params: path('webhook_id'),
    response: one(Delivery),
  })

  .post(
    '/webhooks/:webhook_id/deliveries/:delivery_id/retry',
    ({ scope, params }) => data(retryDelivery(scope, params.webhook_id, params.delivery_id)),
    { params: path('webhook_id', 'delivery_id'), response: one(Delivery) },
  )

export const webhookRoutes = new Elysia().use(reads).use(writes)
