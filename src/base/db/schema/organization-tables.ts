/** Tables of organizations, of what was done in them, and of answers to repeated requests. */
import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, jsonb, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { bytes, createdAt, id, instant, rate, updatedAt } from '../columns'
import { distributedTable, isCurrency, isOneOf, isPrefix, isRate, referenceTable, tenant } from './table-parts'
import { AUDIT_ACTOR_TYPES, SENDER_POLICIES, SPAM_POLICIES } from './word-lists'

export const organizations = referenceTable(
  'organizations',
  {
    id: id().primaryKey(),
    /** Short number of the organization: the prefix of its words in the search index. */
    number: integer().notNull().generatedAlwaysAsIdentity(),
    name: text().notNull(),
    ticket_prefix: text().notNull().default('TKT'),
    hourly_rate: rate(),
    currency: text().notNull().default('USD'),
    /** A name of the tz database: its days are those of time entries. */
    time_zone: text().notNull().default('UTC'),
    reopen_on_reply: boolean().notNull().default(true),
    sender_policy: text({ enum: SENDER_POLICIES }).notNull().default('flag'),
    spam_policy: text({ enum: SPAM_POLICIES }).notNull().default('hold'),
    /** Addresses and domains of forms, whose mail is by the address in Reply-To; as they were given. */
    form_senders: text().array().notNull().default([]),
    /** Members who sign in with a password need a second factor to act here. */
    require_second_factor: boolean().notNull().default(false),
    /** Origins of pages whose scripts may use customers' tokens. */
    portal_origins: text().array().notNull().default([]),
    /** Minutes after a ticket was resolved in which its contact is asked for a rating; null: nobody is asked. */
    ask_rating_after_minutes: integer(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    check('organizations_ticket_prefix', isPrefix(table.ticket_prefix)),
    check('organizations_hourly_rate', isRate(table.hourly_rate)),
    check('organizations_currency', isCurrency(table.currency)),
    check('organizations_sender_policy', isOneOf(table.sender_policy, SENDER_POLICIES)),
    check('organizations_spam_policy', isOneOf(table.spam_policy, SPAM_POLICIES)),
  ],
)

/** Is empty. Processes of release 0.2.0 read it; a later release drops it. */
export const fills = referenceTable(
  'fills',
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    kind: text().notNull(),
    after_id: uuid(),
    begun_at: instant().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.kind] }),
    check('fills_kind', isOneOf(table.kind, ['time_entries.company_id', 'ticket_search.document'])),
  ],
)

/** The next ticket number of each organization, updated in short transactions apart (`desk/tickets/code.ts`). */
export const ticket_counters = distributedTable('ticket_counters', {
  organization_id: uuid()
    .primaryKey()
    .references(() => organizations.id),
  next_number: integer().notNull().default(1),
})

/**
 * Answers of POSTs with an Idempotency-Key, kept for 24 hours, and leases of those that run (`http/rerun`). `answer`
 * may be set before `lease_until` is null: then the change is committed, and only the end of the run is missing.
 */
export const idempotency_keys = distributedTable(
  'idempotency_keys',
  {
    organization_id: uuid().notNull(),
    /** Id of the user, API key or contact that sent it. The name is that of releases without API keys. */
    user_id: uuid().notNull(),
    /** SHA-256 of the path and the key. */
    key_digest: bytes().notNull(),
    /** SHA-256 of the request's content; null while an upload is still to be read. */
    request_digest: bytes(),
    /** Names the run; a run whose lease ran out changes nothing any more. */
    token: uuid().notNull(),
    /** End of the time in which the run counts as alive; null once it has answered. */
    lease_until: instant(),
    status: integer(),
    /** The body, byte for byte. */
    answer: text(),
    created_at: instant().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.user_id, table.key_digest] }),
    index('idempotency_keys_age').on(table.created_at),
    check('idempotency_keys_answer', sql`num_nulls(${table.status}, ${table.answer}) in (0, 2)`),
    check('idempotency_keys_end', sql`${table.lease_until} is not null or ${table.answer} is not null`),
  ],
)

/**
 * The audit log (`base/audit/audit.ts`). A trigger refuses to change or delete a row, except to the job that removes
 * old ones and to the erasure of a person: both name themselves with `set local deskwire.audit_log`.
 */
export const audit_log = distributedTable(
  'audit_log',
  {
    ...tenant(),
    actor_type: text({ enum: AUDIT_ACTOR_TYPES }).notNull(),
    actor_id: uuid(),
    /** Name at that time. */
    actor_name: text(),
    action: text().notNull(),
    resource_type: text(),
    resource_id: uuid(),
    changes: jsonb(),
    ip: text(),
    user_agent: text(),
    request_id: text(),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('audit_log_actor').on(table.organization_id, table.actor_id, table.id),
    index('audit_log_action').on(table.organization_id, table.action, table.id),
    index('audit_log_resource').on(table.organization_id, table.resource_id, table.id),
    index('audit_log_age').on(table.created_at),
    check('audit_log_actor_type', isOneOf(table.actor_type, AUDIT_ACTOR_TYPES)),
    check('audit_log_resource', sql`num_nulls(${table.resource_type}, ${table.resource_id}) in (0, 2)`),
  ],
)

/** Key columns of tables that refer to the organization directly. */
export function root() {
  return {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    id: id(),
  }
}
