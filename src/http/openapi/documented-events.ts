/** Webhooks of the document: the request that each event sends. */
import type { TSchema } from '@sinclair/typebox'
import { Instant, Uuid } from '../../base/shapes/answers'
import { mapValues, type Schema, toSchema } from './documented-schemas'
import type { NamedSchemas } from './named-schemas'

/** Headers of a delivery. */
const DELIVERY_HEADERS = {
  'X-Service-Event': 'Type of the event',
  'X-Service-Event-Id': 'The same for all webhooks that get the event',
  'X-Service-Delivery': 'The same for all attempts: drop what has been seen',
  'X-Service-Timestamp': 'Time of the event',
  'X-Service-Signature': '`sha256=` and the HMAC of the body, when the webhook has a secret',
  'webhook-id': 'As X-Service-Delivery (Standard Webhooks)',
  'webhook-timestamp': 'Time of the attempt, in seconds since 1970',
  'webhook-signature': 'Signatures of Standard Webhooks, when the webhook has a secret',
}

/** Documents the request of each event. @param models of `data`, by event */
export function webhooksOf(models: Record<string, TSchema>, names: NamedSchemas) {
  const parameters = Object.entries(DELIVERY_HEADERS).map(([name, description]) => ({
    ...{ name, in: 'header', required: !/signature/i.test(name), description },
    schema: { type: 'string' },
  }))
  return mapValues(models, (model, event) => ({
    post: {
      tags: ['Webhooks'],
      summary: `Event ${event}`,
      operationId: `on${pascalCase(event)}`,
      description: 'Sent to the address of a webhook that subscribes to it.',
      security: [],
      parameters,
      requestBody: {
        required: true,
        content: { 'application/json': { schema: names.add(`${pascalCase(event)}Event`, eventSchema(event, model)) } },
      },
      responses: { '2XX': { description: 'Taken. Any other answer is a failure, which is tried again' } },
    },
  }))
}

function eventSchema(event: string, model: TSchema): Schema {
  const properties = {
    event: { type: 'string', enum: [event], description: 'Its type' },
    timestamp: toSchema(Instant),
    organization_id: toSchema(Uuid),
    data: toSchema(model),
  }
  return { type: 'object', required: Object.keys(properties), properties }
}

/** Names the event `ticket.status_changed` TicketStatusChanged. */
function pascalCase(event: string): string {
  return event.replace(/(?:^|[._])(\w)/g, (_, letter) => letter.toUpperCase())
}
