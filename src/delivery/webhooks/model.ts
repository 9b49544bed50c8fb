import { Type } from '@sinclair/typebox'
import { DELIVERY_STATUSES, EVENTS, MESSAGE_DIRECTIONS, TICKET_STATUSES, WEBHOOK_STATUSES } from '../../base/db/schema'
import { checkUrl } from '../../base/net/destination'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { body, flag, instantInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { Paging, query, queryWord } from '../../base/shapes/query'
import { FEW, filterIds, TICKET_FILTER } from '../../base/shapes/ticket-filter'
import { isSigningSecret } from './signature'

const url = text({
  max: 2048,
  trim: false,
  rule: (value) => checkUrl(value) === undefined,
  code: 'INVALID_URL',
  fault: 'must be an https URL without credentials',
  description: 'https only; redirects are not followed',
})
const events = Type.Array(oneOf(EVENTS, { code: 'INVALID_EVENTS' }), {
  minItems: 1,
  code: 'INVALID_EVENTS',
  fault: 'must be a list of at least one event',
})
const secret = text({
  min: 1,
  max: 255,
  trim: false,
  rule: isSigningSecret,
  fault: 'must have the base64 of at least 24 bytes after whsec_',
  description:
    'Signs the deliveries; it is never shown again. After whsec_ stands the base64 of at least 24 bytes. When it is changed, webhook-signature carries the signatures of ' +
    'the new and of the old one for 24 hours, the new one first; X-Service-Signature has the new one at once. ' +
    'null removes both',
})
const FILTER_FAULT =
  'must be an object with lists of 1 to 50 of status, priority, company_ids, label_ids, mailbox_ids, team_ids, or is_internal, direction'
const filter = Type.Object(
  {
    status: optional(
      Type.Array(oneOf(TICKET_STATUSES, { code: 'INVALID_STATUS' }), { ...FEW, description: 'Of the ticket' }),
    ),
    ...TICKET_FILTER,
    company_ids: filterIds('COMPANY_NOT_FOUND', "Of the ticket's contact, or of the contact or company itself"),
    mailbox_ids: filterIds('MAILBOX_NOT_FOUND', 'Of the ticket, or that the mail came to'),
    is_internal: optional(flag({ description: 'Of messages' })),
    direction: optional(oneOf(MESSAGE_DIRECTIONS, { description: 'Of messages' })),
  },
  {
    additionalProperties: false,
    fault: FILTER_FAULT,
    description:
      'Only events for which all of these hold; one value of a list is enough. Judged at the change: tickets, their ' +
      'messages and time by the ticket before or after it, `company_ids` also contacts and companies, `mailbox_ids` ' +
      'also filed mail. Other events pass. Null: all events',
  },
)
export type WebhookFilter = typeof filter.static

/** The model of a filter, for what is started by events, too. */
export const eventFilter = () => filter

const ordered = flag({
  description: 'Sends one delivery at a time, in the order of the events, the next one after a success. Default false',
})
const active = flag({ description: 'Default true. Setting it enables a failed webhook again' })

export const Webhook = Type.Object({
  id: Uuid,
  url: Type.String({ description: 'Where deliveries are posted' }),
  events: Type.Array(oneOf(EVENTS), { description: 'Types of events that are delivered' }),
  active: Type.Boolean({ description: 'Whether events are queued; stays true when the webhook fails' }),
  status: oneOf(WEBHOOK_STATUSES, { description: 'failed: a delivery used up its attempts; deliveries wait' }),
  has_secret: Type.Boolean({ description: 'Whether deliveries are signed' }),
  failure_count: Type.Integer({ description: 'Deliveries that used up their attempts since the last success' }),
  filter: orNull(filter),
  ordered: Type.Boolean({ description: 'Whether deliveries are sent one at a time, in the order of the events' }),
  created_at: Instant,
  updated_at: Instant,
})
export type Webhook = typeof Webhook.static

export const NewWebhook = body({
  url,
  events,
  secret: optional(secret),
  active: optional(active),
  filter: optional(filter),
  ordered: optional(ordered),
})
export type NewWebhook = typeof NewWebhook.static

export const WebhookChanges = body({
  url: optional(url),
  events: optional(events),
  secret: optional(nullable(secret)),
  active: optional(active),
  filter: optional(nullable(filter)),
  ordered: optional(ordered),
})
export type WebhookChanges = typeof WebhookChanges.static

export const Replay = body({
  since: instantInput({ description: 'Events from this `timestamp` on' }),
  until: optional(instantInput({ description: 'Events before it. Default: now' })),
  only: optional(
    oneOf(['failed', 'all'], {
      description:
        '`failed` (default): deliveries that failed or were cancelled, with the same id and bytes; `all`: every event ' +
        'that the webhook wants, also from before it was made, as new deliveries',
    }),
  ),
})
export type Replay = typeof Replay.static

export const Replayed = Type.Object({ queued: Type.Integer({ description: 'Deliveries that are sent now' }) })
export type Replayed = typeof Replayed.static

export const Delivery = Type.Object({
  id: Uuid,
  event_id: Type.String({ format: 'uuid', description: 'Of the event: the same for all webhooks that get it' }),
  event: oneOf(EVENTS, { description: 'Type of the event' }),
  status: oneOf(DELIVERY_STATUSES, {
    description:
      '`pending`: not tried yet; `failed`: all attempts used; `cancelled`: the webhook was deleted or switched off',
  }),
  response_code: orNull(Type.Integer({ description: 'Of the last attempt' })),
  response_time_ms: orNull(Type.Integer({ description: 'Of the last attempt' })),
  attempts: Type.Integer({ description: 'Attempts made so far' }),
  next_attempt_at: orNull(Instant, { description: 'When it is tried again, at the earliest' }),
  error: orNull(Type.String({ description: 'Why the last attempt failed' })),
  created_at: Instant,
})
export type Delivery = typeof Delivery.static

const DeliveryAttempt = Type.Object({
  attempt: Type.Integer({ description: 'From 1' }),
  started_at: Instant,
  response_code: orNull(Type.Integer({ description: 'HTTP status; null: there was no answer' })),
  response_time_ms: Type.Integer({ description: 'Until the answer or the error' }),
  error: orNull(Type.String({ description: 'Why it failed' })),
  response_head: orNull(Type.String({ description: 'The first 4 KiB of the answer' })),
})

export const DeliveryDetail = Type.Composite([
  Delivery,
  Type.Object({
    request_body: orNull(
      Type.String({ description: 'The exact body of the request; null for a key that may not read its event' }),
    ),
    response_head: orNull(Type.String({ description: 'The first 4 KiB of the last answer' })),
    attempt_log: Type.Array(DeliveryAttempt, { description: 'Every attempt, the first one first' }),
  }),
])
export type DeliveryDetail = typeof DeliveryDetail.static

export const DeliveryFilter = query({ ...Paging, status: queryWord(DELIVERY_STATUSES), event: queryWord(EVENTS) })
export type DeliveryFilter = typeof DeliveryFilter.static
