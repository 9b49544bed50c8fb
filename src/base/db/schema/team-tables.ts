/** Tables of teams. */
import { sql } from 'drizzle-orm'
import { bigint, check, foreignKey, index, integer, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { createdAt, updatedAt } from '../columns'
import { memberships } from './member-tables'
import { root } from './organization-tables'
import { distributedTable, isOneOf, reference, referenceTable } from './table-parts'
import { ASSIGNMENTS } from './word-lists'

/** Members who share the work on tickets. */
export const teams = referenceTable(
  'teams',
  {
    ...root(),
    name: text().notNull(),
    /** How a ticket that comes unassigned gets its assignee (`desk/teams/assign.ts`). */
    assign: text({ enum: ASSIGNMENTS }).notNull().default('none'),
    /** Open and pending tickets of a member, from which on the team gives no more; null: any number. */
    capacity: integer(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('teams_name').on(table.organization_id, sql`lower(${table.name})`),
    check('teams_assign', isOneOf(table.assign, ASSIGNMENTS)),
    check('teams_capacity', sql`${table.capacity} > 0`),
  ],
)

export const team_members = distributedTable(
  'team_members',
  {
    organization_id: uuid().notNull(),
    team_id: uuid().notNull(),
    user_id: uuid().notNull(),
    /** Rises with each ticket that the team gives: the lowest in the team is next. */
    turn: bigint({ mode: 'number' }).notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.team_id, table.user_id] }),
    index('team_members_user').on(table.organization_id, table.user_id),
    reference('team_members_team', [table.organization_id, table.team_id], teams, 'cascade'),
    foreignKey({
      name: 'team_members_user_fk',
      columns: [table.organization_id, table.user_id],
      foreignColumns: [memberships.organization_id, memberships.user_id],
    }),
  ],
)
