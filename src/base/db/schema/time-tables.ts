/** Tables of time entries, timers and sums of time. */
import { type SQL, sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  date,
  foreignKey,
  index,
  integer,
  numeric,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { createdAt, instant, rate, updatedAt } from '../columns'
import { memberships } from './member-tables'
import { organizations } from './organization-tables'
import { distributedTable, isCurrency, isRate, moved, reference, summedUp, tenant } from './table-parts'
import { tickets } from './ticket-tables'

export const time_entries = distributedTable(
  'time_entries',
  {
    ...tenant(),
    ticket_id: uuid().notNull(),
    ...moved(),
    /**
     * The company of the ticket that it was logged on. Triggers keep it, so that no sum has to read tickets
     * (`desk/time-entries/companies.ts`).
     */
    company_id: uuid(),
    user_id: uuid().notNull(),
    duration_minutes: integer().notNull(),
    description: text(),
    billable: boolean().notNull().default(true),
    /** Fixed when the time is logged. Two decimals of it, as release 0.2.0 reads it; so is `amount`. */
    rate: numeric({ precision: 9, scale: 2, mode: 'number' }),
    currency: text().notNull(),
    amount: numeric({ precision: 14, scale: 2, mode: 'number' }).generatedAlwaysAs(
      (): SQL => sql`round(duration_minutes * rate / 60, 2)`,
    ),
    /** Where the currency has not two decimals: the rate, and the decimals of the amount (`time-entries/price.ts`). */
    exact_rate: rate(),
    decimals: smallint(),
    date: date().notNull(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    // All but `time_entries_ticket` include the columns that are summed up, the first also company and user.
    index('time_entries_of_days').on(table.organization_id, table.date, table.id),
    index('time_entries_ticket').on(table.organization_id, table.ticket_id, table.date, table.id),
    index('time_entries_of_company').on(table.organization_id, table.company_id, table.date, table.id),
    index('time_entries_of_user').on(table.organization_id, table.user_id, table.date, table.id),
    reference('time_entries_ticket', [table.organization_id, table.ticket_id], tickets, 'restrict'),
    foreignKey({
      name: 'time_entries_user_fk',
      columns: [table.organization_id, table.user_id],
      foreignColumns: [memberships.organization_id, memberships.user_id],
    }),
    check('time_entries_duration', sql`${table.duration_minutes} between 1 and 525600`),
    check('time_entries_rate', isRate(table.rate)),
    check('time_entries_exact_rate', isRate(table.exact_rate)),
    check('time_entries_currency', isCurrency(table.currency)),
  ],
)

/** Running timers: one for each member. Stopping it makes a time entry. */
export const timers = distributedTable(
  'timers',
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    user_id: uuid().notNull(),
    id: uuid().notNull(),
    ticket_id: uuid().notNull(),
    ...moved(),
    description: text(),
    billable: boolean().notNull(),
    /** As it was given; null leaves the choice to the moment when the timer stops. */
    rate: rate(),
    started_at: instant().notNull().default(sql`clock_timestamp()`),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.user_id] }),
    uniqueIndex('timers_id').on(table.organization_id, table.id),
    index('timers_ticket').on(table.organization_id, table.ticket_id),
    reference('timers_ticket', [table.organization_id, table.ticket_id], tickets, 'restrict'),
    foreignKey({
      name: 'timers_user_fk',
      columns: [table.organization_id, table.user_id],
      foreignColumns: [memberships.organization_id, memberships.user_id],
    }),
    check('timers_rate', isRate(table.rate)),
  ],
)

/** Sums of the time entries of each day. The changes below are to be added (`desk/time-entries/totals.ts`). */
export const time_totals = distributedTable(
  'time_totals',
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    ...summedUp(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.date, table.currency, table.billable] })],
)

/** Changes of those sums: a trigger on `time_entries` inserts them with each change, a job folds them into the sums. */
export const time_total_changes = distributedTable(
  'time_total_changes',
  {
    organization_id: uuid().notNull(),
    id: bigint({ mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    ...summedUp(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.id] })],
)
