/** Tables of accounts, members, invitations and API keys. */
import { sql } from 'drizzle-orm'
import { boolean, check, foreignKey, index, jsonb, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { bytes, createdAt, id, instant, rate, updatedAt } from '../columns'
import { organizations, root } from './organization-tables'
import { isCurrency, isOneOf, isRate, localTable, referenceTable, tenant } from './table-parts'
import { NOTIFY_REASONS, ROLES } from './word-lists'

/** Accounts, shared by organizations. */
export const users = referenceTable(
  'users',
  {
    id: id().primaryKey(),
    email: text().notNull(),
    /** See `addressKey`. */
    email_key: text().notNull(),
    name: text().notNull(),
    password_hash: text().notNull(),
    /** The password was set through a link that went to the address, by a way that no organization can read. */
    is_password_held: boolean().notNull().default(false),
    /** When sessions were last ended: access tokens that name no session count only when they are younger. */
    sessions_ended_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [uniqueIndex('users_email').on(table.email_key)],
)

/** A user in an organization. Removal only marks the row: tickets and time entries keep pointing at it. */
export const memberships = referenceTable(
  'memberships',
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    user_id: uuid()
      .notNull()
      .references(() => users.id),
    role: text({ enum: ROLES }).notNull().default('agent'),
    active: boolean().notNull().default(true),
    /** Takes tickets that teams give. */
    available: boolean().notNull().default(true),
    hourly_rate: rate(),
    currency: text(),
    created_at: instant().notNull().default(sql`clock_timestamp()`),
    updated_at: updatedAt(),
    removed_at: instant(),
    /** An import brought the person, and nobody has let the person in since (`POST /users`). */
    is_imported: boolean().notNull().default(false),
    /** The reasons for which the member wants letters about tickets. */
    notify: text({ enum: NOTIFY_REASONS }).array().notNull().default(sql`'{}'`),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.user_id] }),
    index('memberships_new_unassigned').on(table.organization_id).where(sql`'new_unassigned' = any(${table.notify})`),
    index('memberships_user').on(table.user_id, table.created_at),
    check('memberships_role', isOneOf(table.role, ROLES)),
    check('memberships_hourly_rate', isRate(table.hourly_rate)),
    check('memberships_currency', isCurrency(table.currency)),
  ],
)

/** Credentials of programs. A revoked one stays, because the audit log and timelines name it. */
export const api_keys = referenceTable(
  'api_keys',
  {
    ...root(),
    name: text().notNull(),
    /** `dk_` and 10 characters: what people see of the key. */
    prefix: text().notNull(),
    /** SHA-256 of the key. */
    key_hash: bytes().notNull(),
    /** Words as they were given: `http/request/permissions.ts` says what each includes. */
    permissions: text().array().notNull(),
    /** CIDRs; empty: from everywhere. */
    allowed_networks: text().array().notNull(),
    /** Null when the operator made it. */
    created_by_id: uuid(),
    created_at: createdAt(),
    /** Written once a minute (`http/admission/key-uses.ts`). */
    last_used_at: instant(),
    revoked_at: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('api_keys_hash').on(table.key_hash),
    uniqueIndex('api_keys_prefix').on(table.prefix),
    foreignKey({
      name: 'api_keys_creator_fk',
      columns: [table.organization_id, table.created_by_id],
      foreignColumns: [memberships.organization_id, memberships.user_id],
    }),
    check('api_keys_permissions', sql`cardinality(${table.permissions}) > 0`),
  ],
)

/** Invitations that wait for an answer: accepted, declined and taken-back ones have no row. */
export const invitations = referenceTable(
  'invitations',
  {
    ...root(),
    email: text().notNull(),
    /** The key that addresses are compared by (`addressKey`). */
    email_key: text().notNull(),
    name: text().notNull(),
    role: text({ enum: ROLES }).notNull(),
    hourly_rate: rate(),
    currency: text(),
    /** SHA-256 of the token in the link. */
    token_hash: bytes().notNull(),
    /**
     * The link went by a way that no organization can read, so it proves the address to all of them: by the operator's
     * server, or from the operator's hand.
     */
    is_proof: boolean().notNull(),
    expires_at: instant().notNull(),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('invitations_email').on(table.organization_id, table.email_key),
    index('invitations_address').on(table.email_key),
    uniqueIndex('invitations_token').on(table.token_hash),
    index('invitations_expiry').on(table.expires_at),
    check('invitations_role', isOneOf(table.role, ROLES)),
    check('invitations_hourly_rate', isRate(table.hourly_rate)),
    check('invitations_currency', isCurrency(table.currency)),
  ],
)

/**
 * Entries of the audit log about accounts that are not in the log of their organization yet
 * (`people/auth/account-audit.ts`).
 */
export const account_entries = localTable(
  'account_entries',
  {
    ...tenant(),
    user_id: uuid().notNull(),
    /** The row of the audit log. */
    entry: jsonb().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('account_entries_user').on(table.user_id),
  ],
)
