/** Tables of rules that remove old tickets. */
import { sql } from 'drizzle-orm'
import { jsonb, primaryKey, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../columns'
import { distributedTable } from './table-parts'

/** When an organization erases or deletes old tickets, and the labels of what is never removed. */
export const retention = distributedTable(
  'retention',
  {
    organization_id: uuid().notNull(),
    /** `desk/retention/model.ts`. Rules of an earlier release name labels and companies that are gone, and fit none. */
    rules: jsonb().notNull().default([]),
    hold_label_ids: uuid().array().notNull().default(sql`'{}'`),
    /** Rules wait for a day after it. */
    changed_at: instant().notNull().default(sql`now()`),
    applied_at: instant(),
  },
  (table) => [primaryKey({ columns: [table.organization_id] })],
)

/** Tickets that rules have erased, until their events are erased, too: the ids of all that belonged to them. */
export const retention_erasures = distributedTable(
  'retention_erasures',
  { organization_id: uuid().notNull(), id: uuid().notNull(), ids: uuid().array().notNull() },
  (table) => [primaryKey({ columns: [table.organization_id, table.id] })],
)
