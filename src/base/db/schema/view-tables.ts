/** Tables of what members keep and see: filters and macros, who has a ticket open, and how far it was read. */
import { sql } from 'drizzle-orm'
import { boolean, check, foreignKey, index, jsonb, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { createdAt, instant, updatedAt } from '../columns'
import { memberships } from './member-tables'
import { root } from './organization-tables'
import { distributedTable, reference } from './table-parts'
import { tickets } from './ticket-tables'
import { TEXT_FORMATS } from './word-lists'

/** Saved filters of the ticket list. */
export const views = distributedTable(
  'views',
  {
    ...root(),
    name: text().notNull(),
    /** Query parameters of `GET /tickets`, as texts. */
    filter: jsonb().$type<Record<string, string>>().notNull().default({}),
    sort: text(),
    shared: boolean().notNull().default(false),
    /** Null: of an API key, or of a member who was removed. */
    owner_id: uuid(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('views_owner').on(table.organization_id, table.owner_id),
    foreignKey({
      name: 'views_owner_fk',
      columns: [table.organization_id, table.owner_id],
      foreignColumns: [memberships.organization_id, memberships.user_id],
    }),
    check('views_private_is_owned', sql`${table.shared} or ${table.owner_id} is not null`),
  ],
)

/** Prepared answers with changes of the ticket. */
export const macros = distributedTable(
  'macros',
  {
    ...root(),
    name: text().notNull(),
    /** With variables (`desk/templates/variables.ts`). */
    body: text(),
    /** Null without a body, and in rows that a release without formats wrote. */
    format: text({ enum: TEXT_FORMATS }),
    is_internal: boolean().notNull().default(false),
    changes: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('macros_name').on(table.organization_id, sql`lower(${table.name})`),
  ],
)

/** Members who have a ticket open, and when they last said so (`desk/viewing`). */
export const viewers = distributedTable(
  'viewers',
  {
    organization_id: uuid().notNull(),
    ticket_id: uuid().notNull(),
    user_id: uuid().notNull(),
    writing: boolean().notNull(),
    seen_at: instant().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.ticket_id, table.user_id] }),
    index('viewers_age').on(table.seen_at),
    reference('viewers_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
  ],
)

/** How far people have read a ticket (`desk/read-marks`). */
export const read_marks = distributedTable(
  'read_marks',
  {
    organization_id: uuid().notNull(),
    ticket_id: uuid().notNull(),
    user_id: uuid().notNull(),
    /** The last message or note that is read, which may be elsewhere by now; null: none. */
    message_id: uuid(),
    marked_at: instant().notNull().default(sql`now()`),
    /** Somebody else has written since, or messages of others came by a merge. Writers keep it for lists. */
    unread: boolean().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.ticket_id, table.user_id] }),
    index('read_marks_person').on(table.organization_id, table.user_id, table.unread, table.ticket_id),
    reference('read_marks_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
  ],
)
