/** Tables of tickets and of what is kept for each. */
import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { createdAt, instant, tsvector, updatedAt } from '../columns'
import { companies, contacts } from './customer-tables'
import { mailboxes } from './mailbox-tables'
import { memberships } from './member-tables'
import { organizations, root } from './organization-tables'
import { customFields, distributedTable, isOneOf, reference, tenant } from './table-parts'
import { teams } from './team-tables'
import { SORT_INDEXES } from './ticket-order'
import {
  ACTOR_TYPES,
  PROMISE_METRICS,
  RATING_SCORES,
  RETENTION_STATUSES,
  TICKET_PRIORITIES,
  TICKET_STATUSES,
} from './word-lists'

export const tickets = distributedTable(
  'tickets',
  {
    ...tenant(),
    number: integer().notNull(),
    code: text().notNull(),
    subject: text().notNull(),
    status: text({ enum: TICKET_STATUSES }).notNull().default('open'),
    priority: text({ enum: TICKET_PRIORITIES }).notNull().default('normal'),
    contact_id: uuid(),
    company_id: uuid(),
    assignee_id: uuid(),
    team_id: uuid(),
    /** The mailbox that received the conversation; answers leave from it. */
    mailbox_id: uuid(),
    /** The ticket that has its messages and its time since a merge: the end of the chain (`desk/merging`). */
    merged_into_id: uuid(),
    /** The ticket that it was merged into itself, which may have been merged since. */
    merged_first_into_id: uuid(),
    merged_at: instant(),
    /** The status that it gets back when the merge is undone. */
    status_before_merge: text({ enum: TICKET_STATUSES }),
    /** The ticket whose messages it was opened with. */
    split_from_id: uuid(),
    parent_id: uuid(),
    /** Set while it is pending until then, and kept below a merge. A row of the outbox wakes it. */
    snoozed_until: instant(),
    /** The contact's newest word on the help (`desk/ratings`). A merge leaves each ticket its own. */
    rating_score: text({ enum: RATING_SCORES }),
    rating_comment: text(),
    /** In whole seconds. */
    rated_at: instant(),
    /** The newest public message. Writers keep these four (`desk/turn/turn.ts`). */
    last_message_id: uuid(),
    /** The first public message of the customer's side since the team's last, without automatic replies. */
    waiting_message_id: uuid(),
    /** Public messages, and all files; null in rows of releases without them, until a job has counted them. */
    message_count: integer(),
    attachment_count: integer(),
    /** As of a company. */
    external_id: text(),
    ...customFields(),
    /** The policy that fits (`desk/promises`), which may be gone; null: none. Writers keep the next three, too. */
    sla_policy_id: uuid(),
    /** The promise that ends next, or the oldest that is breached: then it was due before now. */
    sla_metric: text({ enum: PROMISE_METRICS }),
    sla_due_at: instant(),
    /** When four fifths of it are over. */
    sla_soon_at: instant(),
    /** An import brought the ticket then, or messages a split: nothing before it is promised. */
    sla_from: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
    /** Set when the ticket is hidden; it is purged after the retention. */
    deleted_at: instant(),
    /** Set when only id, code and subject are left, because time was logged on the ticket. */
    purged_at: instant(),
    /** When all that it said was erased; what came later is erased again. */
    erased_at: instant(),
  },
  (table) => {
    const live = sql`${table.deleted_at} is null`
    return [
      primaryKey({ columns: [table.organization_id, table.id] }),
      unique('tickets_number').on(table.organization_id, table.number),
      // A deleted ticket frees its external id.
      uniqueIndex('tickets_external_id')
        .on(table.organization_id, table.external_id)
        .where(sql`${table.external_id} is not null and ${table.deleted_at} is null`),
      index('tickets_live').on(table.organization_id, table.id).where(live),
      index('tickets_status').on(table.organization_id, table.status, table.id).where(live),
      index('tickets_assignee').on(table.organization_id, table.assignee_id, table.status, table.id).where(live),
      index('tickets_contact').on(table.organization_id, table.contact_id, table.id).where(live),
      index('tickets_company').on(table.organization_id, table.company_id, table.id).where(live),
      index('tickets_updated').on(table.organization_id, table.updated_at, table.id).where(live),
      index('tickets_priority').on(table.organization_id, sql`ticket_rank(${table.priority})`, table.id).where(live),
      ...SORT_INDEXES.map(({ name, key }) => index(name).on(table.organization_id, sql.raw(key), table.id).where(live)),
      // For what is unread.
      index('tickets_assignee_news')
        .on(table.organization_id, table.assignee_id, table.last_message_id, table.id)
        .where(live),
      index('tickets_mailbox').on(table.organization_id, table.mailbox_id, table.id).where(live),
      index('tickets_team').on(table.organization_id, table.team_id, table.id).where(live),
      // Reports count by it how many tickets each of these has open.
      index('tickets_open_groups')
        .on(table.organization_id, table.team_id, table.mailbox_id, table.company_id)
        .where(sql`status in ('open', 'pending') and ${live}`),
      index('tickets_merged')
        .on(table.organization_id, table.merged_into_id, table.id)
        .where(sql`${table.merged_into_id} is not null`),
      index('tickets_parent').on(table.organization_id, table.parent_id, table.id).where(sql`parent_id is not null`),
      index('tickets_snoozed').on(table.organization_id, table.id).where(sql`snoozed_until is not null`),
      index('tickets_rating')
        .on(table.organization_id, table.rating_score, table.id)
        .where(sql`${live} and rating_score is not null`),
      // For retention: it counts tickets of one status by age, and reads no rows.
      index('tickets_resting')
        .on(table.organization_id, table.status, table.updated_at, table.id, table.company_id, table.erased_at)
        .where(sql`${live} and ${table.merged_into_id} is null and ${isOneOf(table.status, RETENTION_STATUSES)}`),
      // For the job that counts the messages of older rows.
      index('tickets_uncounted')
        .on(table.organization_id, table.id)
        .where(sql`${live} and ${table.message_count} is null`),
      index('tickets_deleted').on(table.deleted_at).where(sql`${table.deleted_at} is not null and purged_at is null`),
      reference('tickets_contact', [table.organization_id, table.contact_id], contacts),
      reference('tickets_company', [table.organization_id, table.company_id], companies),
      reference('tickets_mailbox', [table.organization_id, table.mailbox_id], mailboxes),
      reference('tickets_team', [table.organization_id, table.team_id], teams),
      foreignKey({
        name: 'tickets_assignee_fk',
        columns: [table.organization_id, table.assignee_id],
        foreignColumns: [memberships.organization_id, memberships.user_id],
      }),
      check('tickets_status', isOneOf(table.status, TICKET_STATUSES)),
      check('tickets_priority', isOneOf(table.priority, TICKET_PRIORITIES)),
      check('tickets_rating_score', isOneOf(table.rating_score, RATING_SCORES)),
      check('tickets_number_positive', sql`${table.number} > 0`),
    ]
  },
)

/** One search document for each ticket; every word is prefixed with the organization's number and a block. */
export const ticket_search = distributedTable(
  'ticket_search',
  {
    organization_id: uuid().notNull(),
    ticket_id: uuid().notNull(),
    document: tsvector().notNull(),
    /** Bytes of words added so far, which limits the size of the document (`desk/search/ticket-document.ts`). */
    size: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.ticket_id] }),
    index('ticket_search_document').using('gin', table.document),
    reference('ticket_search_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
  ],
)

export const labels = distributedTable(
  'labels',
  {
    ...root(),
    name: text().notNull(),
    color: text().notNull(),
    description: text(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('labels_name').on(table.organization_id, sql`lower(${table.name})`),
    check('labels_color', sql`${table.color} ~ '^#[0-9A-Fa-f]{6}$'`),
  ],
)

export const ticket_labels = distributedTable(
  'ticket_labels',
  { organization_id: uuid().notNull(), ticket_id: uuid().notNull(), label_id: uuid().notNull() },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.ticket_id, table.label_id] }),
    index('ticket_labels_label').on(table.organization_id, table.label_id, table.ticket_id),
    reference('ticket_labels_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
    reference('ticket_labels_label', [table.organization_id, table.label_id], labels, 'cascade'),
  ],
)

/**
 * Things that imports brought (`operate/import`): which row the key of another system is here. A row stays when one
 * is deleted or erased here, so that the next import does not bring it back. Keys and contents are hashes.
 */
export const imported_rows = distributedTable(
  'imported_rows',
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    /** Hash of the kind of thing and its key in the other system. */
    key: uuid().notNull(),
    row_id: uuid().notNull(),
    /** Hash of what was imported; null beside a second key of the same thing. */
    digest: uuid(),
    /** The mark by which a change is seen that was made here: the time of change of the row, or a hash of its text. */
    state: text(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.key] })],
)

/** People who take part in a ticket's conversation besides its contact. */
export const participants = distributedTable(
  'participants',
  {
    ...tenant(),
    ticket_id: uuid().notNull(),
    name: text(),
    email: text().notNull(),
    /** See `addressKey`. */
    email_key: text().notNull(),
    contact_id: uuid(),
    confirmed: boolean().notNull().default(true),
    /** The merged ticket whose participant or contact it is; null when it takes part in this ticket by itself. */
    original_ticket_id: uuid(),
    /** It was here before the merge, not confirmed. */
    was_listed: boolean().notNull().default(false),
    /** The contact's last reply to a message that this person got went to the organization alone. */
    left_out: boolean().notNull().default(false),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('participants_email').on(table.organization_id, table.ticket_id, table.email_key),
    index('participants_contact').on(table.organization_id, table.contact_id),
    reference('participants_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
    reference('participants_contact', [table.organization_id, table.contact_id], contacts),
  ],
)

/** The activity timeline of a ticket. */
export const activities = distributedTable(
  'activities',
  {
    ...tenant(),
    ticket_id: uuid().notNull(),
    type: text().notNull(),
    actor_type: text({ enum: ACTOR_TYPES }).notNull(),
    actor_id: uuid(),
    actor_name: text(),
    /** The rule by which the system did it, with its name at that time. */
    rule: jsonb().$type<{ id: string; name: string }>(),
    data: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('activities_ticket').on(table.organization_id, table.ticket_id, table.id),
    reference('activities_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
    check('activities_actor_type', isOneOf(table.actor_type, ACTOR_TYPES)),
  ],
)
