/** Tables of schedules, of policies for service levels, and of what they promise. */
import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, jsonb, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { createdAt, instant, updatedAt } from '../columns'
import { root } from './organization-tables'
import { distributedTable, isOneOf, reference, tenant } from './table-parts'
import { tickets } from './ticket-tables'
import { PROMISE_METRICS, PROMISE_OUTCOMES } from './word-lists'

/** Hours in which an organization works, by the clocks of its zone. */
export const schedules = distributedTable(
  'schedules',
  {
    ...root(),
    name: text().notNull(),
    /** `base/shapes/business-time.ts`: all seven days. */
    hours: jsonb().notNull(),
    /** Days without hours, in order. */
    holidays: jsonb().notNull().default([]),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('schedules_name').on(table.organization_id, sql`lower(${table.name})`),
  ],
)

/** Policies: they say which tickets are promised an answer or an end, and when. */
export const sla_policies = distributedTable(
  'sla_policies',
  {
    ...root(),
    name: text().notNull(),
    /** The first one that fits a ticket counts, the lowest position first. */
    position: integer().notNull(),
    /** As of webhooks: ids in lower case, each once. */
    filter: jsonb().notNull().default({}),
    /** Null: every minute counts. */
    schedule_id: uuid(),
    /** `desk/sla-policies/model.ts`. */
    targets: jsonb().notNull(),
    active: boolean().notNull().default(true),
    /** When the admins were last told that it was switched off. */
    failure_told_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('sla_policies_name').on(table.organization_id, sql`lower(${table.name})`),
    uniqueIndex('sla_policies_position').on(table.organization_id, table.position),
    reference('sla_policies_schedule', [table.organization_id, table.schedule_id], schedules),
  ],
)

/** Promises to tickets. A ticket has one of each metric, but one `next_reply` for each wait. */
export const promises = distributedTable(
  'promises',
  {
    ...tenant(),
    ticket_id: uuid().notNull(),
    /** Stays when the policy is deleted. */
    policy_id: uuid().notNull(),
    metric: text({ enum: PROMISE_METRICS }).notNull(),
    /** Those of the schedule until it is due. */
    minutes: integer().notNull(),
    began_at: instant().notNull(),
    /** Null while it is paused. */
    due_at: instant(),
    /** When four fifths of it are over; null while it is paused. */
    soon_at: instant(),
    /** The moment of the breach. */
    breached_at: instant(),
    ended_at: instant(),
    /** `kept`: it ended in time; `void`: it counts neither as kept nor as breached. Null while it runs. */
    outcome: text({ enum: PROMISE_OUTCOMES }),
    /** Its events are published once, also when its minutes grow later. */
    is_soon_told: boolean().notNull().default(false),
    is_breach_told: boolean().notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('promises_ticket').on(table.organization_id, table.ticket_id, table.metric, table.began_at),
    index('promises_breached').on(table.organization_id, table.breached_at).where(sql`breached_at is not null`),
    index('promises_ended').on(table.organization_id, table.ended_at).where(sql`ended_at is not null`),
    reference('promises_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
    check('promises_metric', isOneOf(table.metric, PROMISE_METRICS)),
    check('promises_outcome', isOneOf(table.outcome, PROMISE_OUTCOMES)),
    check('promises_end', sql`(ended_at is null) = (outcome is null)`),
  ],
)
