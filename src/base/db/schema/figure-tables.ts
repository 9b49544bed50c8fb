/** Tables of counts, and of their changes that are not summed up yet. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../columns'
import { organizations } from './organization-tables'
import { distributedTable, figure, isOneOf, tallied } from './table-parts'
import { FACT_KINDS, TALLY_KINDS, TICKET_PRIORITIES, TICKET_STATUSES } from './word-lists'

/**
 * Number of tickets of each kind, without deleted ones. The changes below are to be added (`desk/tickets/counts.ts`).
 */
export const ticket_counts = distributedTable(
  'ticket_counts',
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    status: text({ enum: TICKET_STATUSES }).notNull(),
    priority: text({ enum: TICKET_PRIORITIES }).notNull(),
    assignee_id: uuid(),
    n: integer().notNull(),
  },
  (table) => [
    unique('ticket_counts_kind')
      .on(table.organization_id, table.status, table.priority, table.assignee_id)
      .nullsNotDistinct(),
  ],
)

/** Changes of those numbers: a trigger on `tickets` inserts them with each change, a job folds them into the counts. */
export const ticket_count_changes = distributedTable(
  'ticket_count_changes',
  {
    organization_id: uuid().notNull(),
    id: bigint({ mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    status: text({ enum: TICKET_STATUSES }).notNull(),
    priority: text({ enum: TICKET_PRIORITIES }).notNull(),
    assignee_id: uuid(),
    n: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.id] })],
)

/**
 * Numbers of tickets, without deleted ones, and of contacts. The changes below are to be added
 * (`desk/tallies/tallies.ts`).
 */
export const tallies = distributedTable('tallies', { organization_id: uuid().notNull(), ...tallied() }, (table) => [
  unique('tallies_key').on(table.organization_id, table.kind, table.key, table.status).nullsNotDistinct(),
  check('tallies_kind', isOneOf(table.kind, TALLY_KINDS)),
])

/**
 * Figures of an organization for each minute, quarter of an hour and six hours
 * (`base/metrics/organization-figures.ts`).
 */
export const stats = distributedTable(
  'stats',
  {
    organization_id: uuid().notNull(),
    /** Seconds that the row stands for. */
    size_s: integer().notNull(),
    at: instant().notNull(),
    mail_tickets: figure(),
    mail_messages: figure(),
    mail_bounces: figure(),
    mail_others: figure(),
    emails_sent: figure(),
    emails_failed: figure(),
    emails_bounced: figure(),
    deliveries_ok: figure(),
    deliveries_failed: figure(),
    /** Sum over all deliveries. */
    delivery_ms: figure(),
    requests_ok: figure(),
    requests_refused: figure(),
    requests_failed: figure(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.size_s, table.at] })],
)

/** Changes of those numbers: triggers insert them with each change, a job folds them into the numbers. */
export const tally_changes = distributedTable(
  'tally_changes',
  {
    organization_id: uuid().notNull(),
    id: bigint({ mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    ...tallied(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.kind, table.key, table.id] })],
)

/**
 * Events of tickets, as reports count them (`desk/facts`). Triggers add a row for each, and keep in all rows of a
 * ticket the groups that it is in now: a report reads the rows of its days, and nothing else.
 */
export const ticket_facts = distributedTable(
  'ticket_facts',
  {
    organization_id: uuid().notNull(),
    at: instant().notNull(),
    id: bigint({ mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    ticket_id: uuid().notNull(),
    kind: text({ enum: FACT_KINDS }).notNull(),
    /** Whole seconds since the ticket came: until the first reply and until each resolving. */
    seconds: integer(),
    /** The member who replied. */
    user_id: uuid(),
    promise_id: uuid(),
    /** The ticket is deleted or merged: its rows do not count. */
    hidden: boolean().notNull(),
    assignee_id: uuid(),
    team_id: uuid(),
    mailbox_id: uuid(),
    company_id: uuid(),
    priority: text({ enum: TICKET_PRIORITIES }).notNull(),
    label_ids: uuid().array().notNull().default(sql`'{}'`),
    /** The policy whose schedule counts the seconds. */
    sla_policy_id: uuid(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.at, table.id] }),
    index('ticket_facts_ticket').on(table.organization_id, table.ticket_id),
    check('ticket_facts_kind', isOneOf(table.kind, FACT_KINDS)),
  ],
)

/** Organizations with tickets of before the facts. Those whose ids come before this one have none yet. */
export const ticket_fact_fills = distributedTable('ticket_fact_fills', {
  organization_id: uuid()
    .primaryKey()
    .references(() => organizations.id),
  before_id: uuid().notNull(),
})
