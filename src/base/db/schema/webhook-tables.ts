/** Tables of webhooks, their deliveries, and the feed of events. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { createdAt, instant, updatedAt } from '../columns'
import { root } from './organization-tables'
import { distributedTable, isOneOf, reference, tenant } from './table-parts'
import { DELIVERY_STATUSES, EVENTS, WEBHOOK_STATUSES } from './word-lists'

export const webhooks = distributedTable(
  'webhooks',
  {
    ...root(),
    url: text().notNull(),
    events: text({ enum: EVENTS }).array().notNull(),
    /** Encrypted with a key derived from SECRET_KEY. */
    secret: text(),
    /** The secret before this one, encrypted: it signs too for 24 hours, so that receivers can change over. */
    previous_secret: text(),
    previous_secret_until: instant(),
    active: boolean().notNull().default(true),
    status: text({ enum: WEBHOOK_STATUSES }).notNull().default('active'),
    failure_count: integer().notNull().default(0),
    /** Which events it wants, beside their types (`delivery/webhooks/event-filter.ts`); null for all. */
    filter: jsonb(),
    /** One delivery at a time, in the order of the events; the next one after a success. */
    ordered: boolean().notNull().default(false),
    /** The delivery that made it failed. */
    failed_delivery_id: uuid(),
    /** When the admins were last told that it failed. */
    failure_told_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
    /** Set when the webhook is hidden; the row stays until the retention has removed its deliveries. */
    deleted_at: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    check('webhooks_status', isOneOf(table.status, WEBHOOK_STATUSES)),
    check('webhooks_events', sql`cardinality(${table.events}) > 0`),
    check('webhooks_failure_count', sql`${table.failure_count} >= 0`),
    check(
      'webhooks_previous_secret',
      sql`num_nulls(${table.previous_secret}, ${table.previous_secret_until}) in (0, 2)`,
    ),
  ],
)

/** Events that were published, with the exact bytes that their deliveries send. */
export const events = distributedTable(
  'events',
  {
    ...tenant(),
    type: text({ enum: EVENTS }).notNull(),
    body: text().notNull(),
    created_at: createdAt(),
    /** `data.id` of the body. Null when a process of the release before wrote the event. */
    resource_id: uuid(),
    /** `data.ticket.id` of the body. */
    ticket_id: uuid(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('events_age').on(table.id),
    check('events_type', isOneOf(table.type, EVENTS)),
  ],
)

/**
 * The one order of an organization's events. A deferred trigger of `events` writes these rows at the commit: events of
 * a transaction get the same `place`, which is above all that are visible then, and are told apart by `nth`. Writers of
 * an organization hold a shared lock from there to the end of their commit. Who has held that lock alone sees all
 * places up to the highest one that is visible (`delivery/events/settled-place.ts`).
 */
export const event_places = distributedTable(
  'event_places',
  {
    organization_id: uuid().notNull(),
    /** Rises by 2 ** 20 with each commit; below that are bits of the transaction's id, for commits at the same time. */
    place: bigint({ mode: 'bigint' }).notNull(),
    nth: integer().notNull(),
    event_id: uuid().notNull(),
    type: text({ enum: EVENTS }).notNull(),
    resource_id: uuid(),
    ticket_id: uuid(),
    /** `timestamp` of the body. */
    happened_at: instant().notNull(),
    /** Begin of the transaction, when it took more than a minute. Null for the others. */
    began_at: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.place, table.nth] }),
    uniqueIndex('event_places_event').on(table.organization_id, table.event_id),
    index('event_places_age').on(table.happened_at),
    index('event_places_long').on(table.organization_id, table.place).where(sql`${table.began_at} is not null`),
  ],
)

/** The order of an organization's events as far as it is known beside their places; no row when nothing is. */
export const event_feeds = distributedTable('event_feeds', {
  organization_id: uuid().primaryKey(),
  /** Changes with each restore of the database, which ends all cursors of before. */
  epoch: uuid(),
  /** The last place that the retention has removed. */
  removed_place: bigint({ mode: 'bigint' }).notNull().default(sql`0`),
  /** The latest `happened_at` that the retention has removed. */
  removed_until: instant(),
})

/** Deliveries: one event for one webhook. */
export const deliveries = distributedTable(
  'deliveries',
  {
    ...tenant(),
    webhook_id: uuid().notNull(),
    event_id: uuid().notNull(),
    event: text({ enum: EVENTS }).notNull(),
    status: text({ enum: DELIVERY_STATUSES }).notNull().default('pending'),
    attempts: integer().notNull().default(0),
    response_code: integer(),
    response_time_ms: integer(),
    error: text(),
    next_attempt_at: instant(),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('deliveries_webhook').on(table.organization_id, table.webhook_id, table.id),
    index('deliveries_event').on(table.organization_id, table.event_id),
    index('deliveries_age').on(table.id),
    reference('deliveries_webhook', [table.organization_id, table.webhook_id], webhooks, 'cascade'),
    reference('deliveries_event', [table.organization_id, table.event_id], events, 'cascade'),
    check('deliveries_status', isOneOf(table.status, DELIVERY_STATUSES)),
    check('deliveries_attempts', sql`${table.attempts} >= 0`),
  ],
)

export const delivery_attempts = distributedTable(
  'delivery_attempts',
  {
    organization_id: uuid().notNull(),
    delivery_id: uuid().notNull(),
    attempt: integer().notNull(),
    started_at: instant().notNull(),
    response_code: integer(),
    response_time_ms: integer().notNull(),
    error: text(),
    /** The first 4 KiB of the receiver's answer. */
    response_head: text(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.delivery_id, table.attempt] }),
    reference('delivery_attempts_delivery', [table.organization_id, table.delivery_id], deliveries, 'cascade'),
    check('delivery_attempts_attempt', sql`${table.attempt} > 0`),
  ],
)
