/** Tables of sessions and of all ways to sign in. */
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
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { bytes, createdAt, id, instant, updatedAt } from '../columns'
import { memberships, users } from './member-tables'
import { root } from './organization-tables'
import { isOneOf, localTable, referenceTable } from './table-parts'
import { PROVIDER_TOKEN_KINDS, PROVISIONS } from './word-lists'

/** Sessions: each is a refresh token and the access tokens that it was exchanged for, which name the session's id. */
export const refresh_tokens = localTable(
  'refresh_tokens',
  {
    token_hash: bytes().primaryKey(),
    /** Made by the database too: processes of the release before this one write no id. */
    id: uuid().notNull().default(sql`gen_random_uuid()`),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    expires_at: instant().notNull(),
    created_at: instant().notNull().default(sql`now()`),
    last_used_at: instant(),
    /** Address of the client at the last use. */
    ip: text(),
    /** The name that the client gave itself at the last use. */
    user_agent: text(),
    /** When the person signed out, which ends the session. */
    signed_out_at: instant(),
    /** The organization whose identity provider was used: the session acts there alone. Null: with a password. */
    provider_organization_id: uuid(),
    /** The ids of the person and its session at that provider. */
    provider_subject: text(),
    provider_sid: text(),
  },
  (table) => [
    index('refresh_tokens_provider')
      .on(table.provider_organization_id, table.provider_subject)
      .where(sql`${table.provider_organization_id} is not null`),
    index('refresh_tokens_user').on(table.user_id),
    index('refresh_tokens_expiry').on(table.expires_at),
    uniqueIndex('refresh_tokens_id').on(table.id),
  ],
)

/** Where the members of an organization sign in instead of with a password (OpenID Connect). */
export const identity_providers = referenceTable(
  'identity_providers',
  {
    ...root(),
    issuer: text().notNull(),
    client_id: text().notNull(),
    /** Encrypted; null for a public client. */
    client_secret: text(),
    redirect_uris: text().array().notNull().default([]),
    trust_email: boolean().notNull().default(false),
    provision: text({ enum: PROVISIONS }).notNull().default('none'),
    domains: text().array().notNull().default([]),
    role_claim: text(),
    role_values: jsonb().notNull(),
    session_seconds: integer().notNull(),
    required: boolean().notNull().default(false),
    created_at: instant().notNull().default(sql`now()`),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('identity_providers_organization').on(table.organization_id),
    check('identity_providers_provision', isOneOf(table.provision, PROVISIONS)),
  ],
)

/** The id of a member at the provider of an organization. */
export const identities = referenceTable(
  'identities',
  {
    organization_id: uuid().notNull(),
    user_id: uuid().notNull(),
    issuer: text().notNull(),
    subject: text().notNull(),
    linked_at: instant().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.user_id] }),
    uniqueIndex('identities_subject').on(table.organization_id, table.issuer, table.subject),
    foreignKey({
      name: 'identities_membership_fk',
      columns: [table.organization_id, table.user_id],
      foreignColumns: [memberships.organization_id, memberships.user_id],
    }).onDelete('cascade'),
  ],
)

/** Words that count once on the way to a provider and back: states, codes, and ids of logout tokens. */
export const provider_tokens = localTable(
  'provider_tokens',
  {
    organization_id: uuid().notNull(),
    kind: text({ enum: PROVIDER_TOKEN_KINDS }).notNull(),
    /** SHA-256 of the token. */
    token_hash: bytes().notNull(),
    data: jsonb().notNull(),
    expires_at: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.kind, table.token_hash] }),
    index('provider_tokens_expiry').on(table.expires_at),
    check('provider_tokens_kind', isOneOf(table.kind, PROVIDER_TOKEN_KINDS)),
  ],
)

/** Second factors of accounts (TOTP). One without `confirmed_at` is being set up and does not count yet. */
export const second_factors = localTable('second_factors', {
  /** Id of the account. */
  id: uuid()
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  /** Encrypted, in base32. */
  secret: text().notNull(),
  /** When it was made. */
  made_at: instant().notNull().default(sql`now()`),
  confirmed_at: instant(),
  /** The last 30 seconds whose code was used: counted from 1970. */
  last_step: integer(),
  /** SHA-256 of those that are left, in base64url. */
  recovery_codes: text().array().notNull().default([]),
})

/** Sign-ins whose password was right, and that wait for the code of the second factor. */
export const sign_in_challenges = localTable(
  'sign_in_challenges',
  {
    /** SHA-256 of what the client sends with the code. */
    token_hash: bytes().primaryKey(),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    wrong_codes: integer().notNull().default(0),
    expires_at: instant().notNull(),
  },
  (table) => [
    index('sign_in_challenges_user').on(table.user_id),
    index('sign_in_challenges_expiry').on(table.expires_at),
  ],
)

/** Links for forgotten passwords. Used ones stay until they expire, because an account gets few in an hour. */
export const password_resets = localTable(
  'password_resets',
  {
    id: id().primaryKey(),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /**
     * The organization whose mailbox sent the link, so that it proves nothing to others; null for the operator's
     * server.
     */
    organization_id: uuid(),
    /** SHA-256 of the token in the link. */
    token_hash: bytes().notNull(),
    created_at: createdAt(),
    expires_at: instant().notNull(),
    used_at: instant(),
  },
  (table) => [
    uniqueIndex('password_resets_token').on(table.token_hash),
    index('password_resets_user').on(table.user_id),
    index('password_resets_expiry').on(table.expires_at),
  ],
)
