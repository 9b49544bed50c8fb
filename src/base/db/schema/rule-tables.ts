/** Tables of rules: macros that the service applies by itself. */
import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, jsonb, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { createdAt, instant, updatedAt } from '../columns'
import { root } from './organization-tables'
import { distributedTable, isOneOf, reference, tenant } from './table-parts'
import { tickets } from './ticket-tables'
import { macros } from './view-tables'
import { type EVENTS, RULE_STATUSES } from './word-lists'

/** Macros that are applied when an event happens. */
export const rules = distributedTable(
  'rules',
  {
    ...root(),
    name: text().notNull(),
    /** The event that it waits for. Any name may stand here: the program checks it. */
    on: text().$type<(typeof EVENTS)[number]>().notNull(),
    /** As in `webhooks`. */
    filter: jsonb(),
    /** Null once the macro was deleted: the rule is switched off. */
    macro_id: uuid(),
    active: boolean().notNull().default(true),
    status: text({ enum: RULE_STATUSES }).notNull().default('active'),
    /** The tickets on which it failed since it last worked. */
    failed_ticket_ids: uuid().array().notNull().default(sql`'{}'`),
    /** When the admins were last told that it was switched off, or failed. */
    failure_told_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('rules_name').on(table.organization_id, sql`lower(${table.name})`),
    index('rules_macro').on(table.organization_id, table.macro_id),
    reference('rules_macro', [table.organization_id, table.macro_id], macros, 'restrict'),
    check('rules_status', isOneOf(table.status, RULE_STATUSES)),
    check('rules_has_macro', sql`${table.macro_id} is not null or not ${table.active}`),
  ],
)

/** Rules that are still to be applied to a ticket after a change. The outbox row of kind rule has the same id. */
export const rule_runs = distributedTable(
  'rule_runs',
  {
    ...tenant(),
    ticket_id: uuid().notNull(),
    /** In the order of their names; the first is next. */
    rule_ids: uuid().array().notNull(),
    /** The message of the event, for a rule that waits for one of a message. */
    message_id: uuid(),
    /** Tries of the first rule that failed. */
    tries: integer().notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('rule_runs_ticket').on(table.organization_id, table.ticket_id),
    reference('rule_runs_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
    check('rule_runs_rules', sql`cardinality(${table.rule_ids}) > 0`),
  ],
)
