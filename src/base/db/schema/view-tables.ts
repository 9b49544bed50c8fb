/** Tables of what people keep to look at tickets and to answer them. */
import { sql } from 'drizzle-orm'
import { boolean, check, foreignKey, index, jsonb, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { createdAt, updatedAt } from '../columns'
import { memberships } from './member-tables'
import { root } from './organization-tables'
import { distributedTable } from './table-parts'
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
