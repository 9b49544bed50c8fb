/**
 * Defines every table, constraint and word list. All are in one file, whatever its length: tables of most rooms point
 * at those of others, so both ends of each key are here, and a change of the schema is one file beside its migration.
 *
 * `organization_id` is first in the primary key and in every foreign key of a tenant's table, so that a row can never
 * point into another organization. Ids are UUIDv7 and `created_at` is computed from them: order by id is order by time.
 */
import { type SQL, sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  date,
  foreignKey,
  index,
  integer,
  jsonb,
  numeric,
  pgTableCreator,
  primaryKey,
  real,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { bytes, createdAt, id, instant, money, rate, tsvector, updatedAt } from './columns'

export const ROLES = ['admin', 'agent'] as const
/** People who become members by signing in at the provider: nobody, by the domain of the email, by the role claim. */
export const PROVISIONS = ['none', 'domain', 'claim'] as const
export const PROVIDER_TOKEN_KINDS = ['state', 'code', 'logout'] as const
export const TICKET_STATUSES = ['open', 'pending', 'resolved', 'closed'] as const
/** Ordered by rank, lowest first. */
export const TICKET_PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const
/** What is counted. Days are those of creation, in UTC. */
export const TALLY_KINDS = [
  'tickets',
  'tickets_of_contact',
  'tickets_of_company',
  'tickets_of_label',
  'tickets_of_custom',
  'tickets_of_day',
  'contacts_of_company',
] as const
/** Columns that an upgrade fills in steps. */
export const FILL_KINDS = ['time_entries.company_id', 'ticket_search.document'] as const
export const MESSAGE_DIRECTIONS = ['inbound', 'outbound'] as const
/** How a message came: by mail, by the API, or from a customer's page. */
export const MESSAGE_CHANNELS = ['email', 'api', 'portal'] as const
/** The tickets that a customer's token shows: the contact's, or also those of its company. */
export const CONTACT_TOKEN_SCOPES = ['own', 'company'] as const
export const EMAIL_STATUSES = ['none', 'queued', 'sent', 'failed', 'bounced'] as const
export const RECIPIENT_STATUSES = ['queued', 'sent', 'failed', 'bounced'] as const
const RECIPIENT_KINDS = ['to', 'cc'] as const
export const SMTP_SECURITIES = ['none', 'starttls', 'tls'] as const
export const RETENTION_STATUSES = ['resolved', 'closed'] as const
export const RETENTION_ACTIONS = ['erase', 'delete'] as const
export const OAUTH_GRANTS = ['client_credentials', 'refresh_token'] as const
/** The TXT record of the domain, or `cli domain allow`. */
const DOMAIN_VERIFIERS = ['dns', 'operator'] as const
/** Providers that bring mail over HTTPS. */
export const INLET_PROVIDERS = ['raw', 'postmark', 'cloudmailin', 'mailgun', 'sendgrid'] as const
/** Spam is held until somebody releases it, or filed like other mail. */
export const SPAM_POLICIES = ['hold', 'mark'] as const
export const SENDER_RULE_ACTIONS = ['block', 'allow'] as const
/** Judges of spam: a trusted relay, rspamd, or a rule of the organization. */
export const SPAM_JUDGES = ['relay', 'rspamd', 'sender_rule'] as const
/** What a scan for viruses says of a file. `pending`: it is still to be asked; `skipped`: too large for the scanner. */
export const SCANS = ['clean', 'infected', 'pending', 'skipped'] as const
export const WEBHOOK_STATUSES = ['active', 'failed'] as const
export const DELIVERY_STATUSES = ['pending', 'retrying', 'success', 'failed', 'cancelled'] as const
export const OUTBOX_KINDS = ['webhook', 'email', 'inbound', 'letter'] as const
/** Authors of drafts. */
export const AUTHOR_TYPES = ['user', 'api_key'] as const
export const ACTOR_TYPES = ['user', 'api_key', 'contact', 'system'] as const
/** Actors of the audit log. Customers do nothing that it lists. */
export const AUDIT_ACTOR_TYPES = ['user', 'api_key', 'operator', 'system'] as const
export const INBOUND_OUTCOMES = [
  'pending',
  'ticket',
  'message',
  'bounce',
  'duplicate',
  'own',
  'unmatched_bounce',
  'unparsed',
  'spam',
] as const
/** Outcomes in the ledger as the API shows it. Refused mail has a table of its own. */
export const LEDGER_OUTCOMES = [...INBOUND_OUTCOMES, 'refused'] as const
export const THREADING_RULES = ['in_reply_to', 'references', 'message_id', 'reply_tag', 'subject_code', 'new'] as const
/** Results of SPF, DKIM, DMARC and ARC (RFC 8601, section 2.7). */
export const AUTHENTICATION_RESULTS = [
  'none',
  'pass',
  'fail',
  'softfail',
  'neutral',
  'policy',
  'temperror',
  'permerror',
] as const
/** `flag` only shows whose mail is not proven to be theirs; `restrict` gives such mail fewer rights. */
export const SENDER_POLICIES = ['flag', 'restrict'] as const
export const EVENTS = [
  'ticket.created',
  'ticket.updated',
  'ticket.deleted',
  'ticket.assigned',
  'ticket.status_changed',
  'ticket.erased',
  'ticket.merged',
  'ticket.unmerged',
  'ticket.split',
  'message.created',
  'message.deleted',
  'message.email_sent',
  'message.email_failed',
  'message.email_bounced',
  'message.erased',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'company.created',
  'company.updated',
  'company.deleted',
  'label.created',
  'label.updated',
  'label.deleted',
  'time_entry.created',
  'time_entry.updated',
  'time_entry.deleted',
  'inbound_message.filed',
  'organization.imported',
  'test.ping',
] as const

/**
 * Where the rows of a table are when the database is spread over several machines (`cluster/distribute.ts`). On one
 * machine it means nothing.
 * - distributed: with the other rows of their organization, on one of the machines;
 * - reference: a copy on every machine, for what is read over all organizations or written seldom;
 * - local: on the first machine alone, for what has no organization, or must be written while the others are away.
 */
export type TableKind = 'distributed' | 'reference' | 'local'

/** The kinds of all tables, by name. */
export const TABLE_KINDS = new Map<string, TableKind>()

const distributedTable = tableOfKind('distributed')
const referenceTable = tableOfKind('reference')
const localTable = tableOfKind('local')

function tableOfKind(kind: TableKind) {
  return pgTableCreator((name) => {
    TABLE_KINDS.set(name, kind)
    return name
  })
}

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
    reopen_on_reply: boolean().notNull().default(true),
    sender_policy: text({ enum: SENDER_POLICIES }).notNull().default('flag'),
    spam_policy: text({ enum: SPAM_POLICIES }).notNull().default('hold'),
    /** Addresses and domains of forms, whose mail is by the address in Reply-To; as they were given. */
    form_senders: text().array().notNull().default([]),
    /** Members who sign in with a password need a second factor to act here. */
    require_second_factor: boolean().notNull().default(false),
    /** Origins of pages whose scripts may use customers' tokens. */
    portal_origins: text().array().notNull().default([]),
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

/**
 * Organizations whose older rows an upgrade has yet to fill, step by step, with what a release added
 * (`base/db/fills.ts`).
 */
export const fills = referenceTable(
  'fills',
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    kind: text({ enum: FILL_KINDS }).notNull(),
    /** The last id that was filled; null before the first step. */
    after_id: uuid(),
    /** When the release that needs it has migrated the database. */
    begun_at: instant().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.kind] }),
    check('fills_kind', isOneOf(table.kind, FILL_KINDS)),
  ],
)

/** The next ticket number of each organization, updated in short transactions apart (`desk/tickets/code.ts`). */
export const ticket_counters = distributedTable('ticket_counters', {
  organization_id: uuid()
    .primaryKey()
    .references(() => organizations.id),
  next_number: integer().notNull().default(1),
})

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
    hourly_rate: rate(),
    currency: text(),
    created_at: instant().notNull().default(sql`clock_timestamp()`),
    updated_at: updatedAt(),
    removed_at: instant(),
    /** An import brought the person, and nobody has let the person in since (`POST /users`). */
    is_imported: boolean().notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.user_id] }),
    index('memberships_user').on(table.user_id, table.created_at),
    check('memberships_role', isOneOf(table.role, ROLES)),
    check('memberships_hourly_rate', isRate(table.hourly_rate)),
    check('memberships_currency', isCurrency(table.currency)),
  ],
)

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
    /** What the client called itself at the last use. */
    user_agent: text(),
    /** When the person signed out, which ends the session. */
    signed_out_at: instant(),
    /** The organization whose identity provider was used: the session acts there alone. Null: with a password. */
    provider_organization_id: uuid(),
    /** What that provider calls the person, and its own session. */
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

/** What the provider of an organization calls a member. */
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

/** What counts once on the way to a provider and back: states, codes, and ids of logout tokens. */
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

/** Invitations that wait for an answer: accepted, declined and taken-back ones have no row. */
export const invitations = referenceTable(
  'invitations',
  {
    ...root(),
    email: text().notNull(),
    /** What addresses are compared by (`addressKey`). */
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

/** When invitations were sent, to count them: a day is kept. */
export const invitation_letters = referenceTable(
  'invitation_letters',
  {
    ...tenant(),
    /** See `addressKey`. */
    email_key: text().notNull(),
    sent_at: instant().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('invitation_letters_organization').on(table.organization_id, table.sent_at),
    index('invitation_letters_address').on(table.email_key, table.sent_at),
  ],
)

/** Mail of the service itself that waits to be sent. A row goes when its letter was sent or given up. */
export const letters = distributedTable(
  'letters',
  {
    ...tenant(),
    /** The invitation or the password reset. */
    about_id: uuid().notNull(),
    /** The mailbox that sends it; null for the operator's server. */
    mailbox_id: uuid(),
    recipient: text().notNull(),
    /** Subject and text with a link that opens an account: encrypted with a key derived from SECRET_KEY. */
    sealed_text: text().notNull(),
    expires_at: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('letters_about').on(table.organization_id, table.about_id),
    index('letters_expiry').on(table.expires_at),
  ],
)

export const mailboxes = referenceTable(
  'mailboxes',
  {
    ...root(),
    address: text().notNull(),
    /** See `addressKey`. */
    address_key: text().notNull(),
    /** Mail to the address comes here: true for one mailbox of an address, in all organizations together. */
    has_address: boolean().notNull().default(true),
    name: text(),
    active: boolean().notNull().default(true),
    is_default: boolean().notNull().default(false),
    plus_addressing: boolean().notNull().default(true),
    smtp_host: text(),
    smtp_port: integer(),
    smtp_security: text({ enum: SMTP_SECURITIES }),
    smtp_username: text(),
    /** Encrypted with a key derived from SECRET_KEY. */
    smtp_password: text(),
    /** An API key set the server last, so letters with links that open accounts do not leave by it. */
    is_smtp_by_key: boolean().notNull().default(false),
    /** Signs what it sends (RFC 6376); null does not. */
    dkim_domain: text(),
    dkim_selector: text(),
    /** PEM, encrypted with a key derived from SECRET_KEY. */
    dkim_private_key: text(),
    /** The envelope sender names the message, so that every report about the message comes back with its name. */
    verp: boolean().notNull().default(false),
    /** Stands below public answers in the email, with variables (`desk/templates/variables.ts`). */
    signature: text(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('mailboxes_address').on(table.address_key).where(sql`${table.has_address}`),
    uniqueIndex('mailboxes_own_address').on(table.organization_id, table.address_key),
    uniqueIndex('mailboxes_default').on(table.organization_id).where(sql`${table.is_default}`),
    check('mailboxes_smtp_security', isOneOf(table.smtp_security, SMTP_SECURITIES)),
    check('mailboxes_smtp_port', sql`${table.smtp_port} between 1 and 65535`),
    check(
      'mailboxes_smtp_complete',
      sql`num_nulls(${table.smtp_host}, ${table.smtp_port}, ${table.smtp_security}) in (0, 3)`,
    ),
    check(
      'mailboxes_dkim_complete',
      sql`num_nulls(${table.dkim_domain}, ${table.dkim_selector}, ${table.dkim_private_key}) in (0, 3)`,
    ),
  ],
)

/** Domains of mailboxes that an organization says are its own. */
/** URLs that take mail for a mailbox over HTTPS. */
export const inlets = referenceTable(
  'inlets',
  {
    ...root(),
    mailbox_id: uuid().notNull(),
    provider: text({ enum: INLET_PROVIDERS }).notNull(),
    /** SHA-256 of the token in the URL. */
    token_hash: bytes().notNull(),
    /** Encrypted; null: the token alone is asked for. */
    signing_key: text(),
    /** A former one works until then; null for the present one. */
    ends_at: instant(),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('inlets_hash').on(table.token_hash),
    uniqueIndex('inlets_present').on(table.organization_id, table.mailbox_id).where(sql`${table.ends_at} is null`),
    reference('inlets_mailbox', [table.organization_id, table.mailbox_id], mailboxes, 'cascade'),
    check('inlets_provider', isOneOf(table.provider, INLET_PROVIDERS)),
  ],
)

export const domains = referenceTable(
  'domains',
  {
    ...root(),
    /** Lower case, Punycode. */
    domain: text().notNull(),
    /** The value of the TXT record that proves it. */
    challenge: text().notNull(),
    /** Null while it is not proven. */
    verified_at: instant(),
    verified_by: text({ enum: DOMAIN_VERIFIERS }),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('domains_domain').on(table.organization_id, table.domain),
    check('domains_verified_by', isOneOf(table.verified_by, DOMAIN_VERIFIERS)),
    check('domains_verified_complete', sql`num_nulls(${table.verified_at}, ${table.verified_by}) in (0, 2)`),
  ],
)

/** Addresses of deleted mailboxes, which stay the organization's for a while (`mail/mailboxes/claims.ts`). */
export const released_addresses = referenceTable(
  'released_addresses',
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    address_key: text().notNull(),
    released_at: instant().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.address_key] }),
    index('released_addresses_key').on(table.address_key),
  ],
)

export const companies = distributedTable(
  'companies',
  {
    ...root(),
    name: text().notNull(),
    /** Lower case, punycode, in the order given. */
    domains: text().array().notNull().default(sql`'{}'`),
    hourly_rate: rate(),
    currency: text(),
    ticket_prefix: text(),
    notes: text(),
    /** The customer's own name for it in another system. */
    external_id: text(),
    ...customFields(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('companies_external_id')
      .on(table.organization_id, table.external_id)
      .where(sql`${table.external_id} is not null`),
    withWords('companies_custom', table.custom_words),
    index('companies_domains').using('gin', table.organization_id, table.domains),
    check('companies_hourly_rate', isRate(table.hourly_rate)),
    check('companies_currency', isCurrency(table.currency)),
    check('companies_ticket_prefix', isPrefix(table.ticket_prefix)),
    check('companies_domains_count', sql`cardinality(${table.domains}) <= 20`),
  ],
)

export const contacts = distributedTable(
  'contacts',
  {
    ...root(),
    name: text().notNull(),
    email: text().notNull(),
    /** See `addressKey`. */
    email_key: text().notNull(),
    phone: text(),
    company_id: uuid(),
    notes: text(),
    /** As of a company. */
    external_id: text(),
    /** Name and addresses in lower case and without accents, for the substring search. */
    search: text().notNull(),
    ...customFields(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('contacts_external_id')
      .on(table.organization_id, table.external_id)
      .where(sql`${table.external_id} is not null`),
    withWords('contacts_custom', table.custom_words),
    uniqueIndex('contacts_email').on(table.organization_id, table.email_key),
    index('contacts_company').on(table.organization_id, table.company_id, table.id),
    index('contacts_updated').on(table.organization_id, table.updated_at, table.id),
    index('contacts_name').on(table.organization_id, sql`lower(${table.name})`, table.id),
    index('contacts_search').using('gin', table.organization_id, sql`${table.search} gin_trgm_ops`),
    // With `search` as an included column: a search without a trigram reads this index instead of the rows.
    index('contacts_list').on(table.organization_id, table.id),
    reference('contacts_company', [table.organization_id, table.company_id], companies),
  ],
)

/** Tokens of customers (`http/admission/customer-tokens.ts`). They end with the key or the admin that made them. */
export const contact_tokens = distributedTable(
  'contact_tokens',
  {
    ...tenant(),
    contact_id: uuid().notNull(),
    /** SHA-256 of the token. */
    token_hash: bytes().notNull(),
    scope: text({ enum: CONTACT_TOKEN_SCOPES }).notNull(),
    /** The API key or the admin that made it. */
    api_key_id: uuid(),
    user_id: uuid(),
    expires_at: instant().notNull(),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('contact_tokens_hash').on(table.organization_id, table.token_hash),
    index('contact_tokens_contact').on(table.organization_id, table.contact_id),
    index('contact_tokens_expiry').on(table.expires_at),
    reference('contact_tokens_contact', [table.organization_id, table.contact_id], contacts, 'cascade'),
    check('contact_tokens_scope', isOneOf(table.scope, CONTACT_TOKEN_SCOPES)),
    check('contact_tokens_maker', sql`num_nulls(${table.api_key_id}, ${table.user_id}) = 1`),
  ],
)

/**
 * All addresses of contacts, the primary ones too: triggers keep those as `contacts` has them. Whatever looks for a
 * contact by an address looks here.
 */
export const contact_addresses = distributedTable(
  'contact_addresses',
  {
    organization_id: uuid().notNull(),
    /** See `addressKey`. */
    email_key: text().notNull(),
    contact_id: uuid().notNull(),
    email: text().notNull(),
    /** The order of those that are not primary. */
    position: integer().notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.email_key] }),
    index('contact_addresses_contact').on(table.organization_id, table.contact_id),
    reference('contact_addresses_contact', [table.organization_id, table.contact_id], contacts, 'cascade'),
  ],
)

/** Contacts that were merged into others, each with the contact that it is now, however often that was merged. */
export const merged_contacts = distributedTable(
  'merged_contacts',
  {
    ...tenant(),
    contact_id: uuid().notNull(),
    /** The external id of the merged contact, which names the other one from then on. */
    external_id: text(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('merged_contacts_contact').on(table.organization_id, table.contact_id),
    uniqueIndex('merged_contacts_external_id')
      .on(table.organization_id, table.external_id)
      .where(sql`${table.external_id} is not null`),
    reference('merged_contacts_contact', [table.organization_id, table.contact_id], contacts, 'cascade'),
  ],
)

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
    /** As of a company. */
    external_id: text(),
    ...customFields(),
    created_at: createdAt(),
    updated_at: updatedAt(),
    /** Set when the ticket is hidden; it is purged after the retention. */
    deleted_at: instant(),
    /** Set when only id, code and subject are left, because time was logged on the ticket. */
    purged_at: instant(),
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
      index('tickets_merged')
        .on(table.organization_id, table.merged_into_id, table.id)
        .where(sql`${table.merged_into_id} is not null`),
      index('tickets_deleted').on(table.deleted_at).where(sql`${table.deleted_at} is not null and purged_at is null`),
      reference('tickets_contact', [table.organization_id, table.contact_id], contacts),
      reference('tickets_company', [table.organization_id, table.company_id], companies),
      reference('tickets_mailbox', [table.organization_id, table.mailbox_id], mailboxes),
      foreignKey({
        name: 'tickets_assignee_fk',
        columns: [table.organization_id, table.assignee_id],
        foreignColumns: [memberships.organization_id, memberships.user_id],
      }),
      check('tickets_status', isOneOf(table.status, TICKET_STATUSES)),
      check('tickets_priority', isOneOf(table.priority, TICKET_PRIORITIES)),
      check('tickets_number_positive', sql`${table.number} > 0`),
    ]
  },
)

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

function figure() {
  return bigint({ mode: 'number' }).notNull().default(0)
}

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

export const messages = distributedTable(
  'messages',
  {
    ...tenant(),
    ticket_id: uuid().notNull(),
    ...moved(),
    /** Text as the agent gave it, or the plain text of the email. */
    body: text().notNull(),
    /** Sanitized: safe to show in a page. */
    body_html: text().notNull(),
    /** The new part of an inbound email, without quoted history and signature. */
    reply_text: text(),
    is_internal: boolean().notNull().default(false),
    direction: text({ enum: MESSAGE_DIRECTIONS }),
    /** Null in rows of releases without channels (`desk/messages/queries.ts`). */
    channel: text({ enum: MESSAGE_CHANNELS }),
    sender_name: text().notNull(),
    sender_email: text(),
    auto_reply: boolean().notNull().default(false),
    /** Inbound email: true when DMARC proves From, false when From is forged, null when nobody can tell. */
    sender_verified: boolean(),
    /** Inbound email: where its sender wants answers, when that is another address. */
    reply_to: text(),
    cc: text().array().notNull().default(sql`'{}'`),
    /** Without angle brackets. */
    email_message_id: text(),
    email_status: text({ enum: EMAIL_STATUSES }).notNull().default('none'),
    email_error: text(),
    /** The mailbox that sends its email; null in rows of releases that did not keep it. The same holds below. */
    mailbox_id: uuid(),
    email_attempts: integer(),
    /** What the mailbox's server said last. */
    server_response: text(),
    /** The mailbox's signature as its email has it, sanitized. */
    signature_html: text(),
    /** The author of the draft that it was sent from, with the name at that time. */
    drafted_by: jsonb().$type<{ type: (typeof AUTHOR_TYPES)[number]; id: string; name: string }>(),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('messages_ticket').on(table.organization_id, table.ticket_id, table.id),
    reference('messages_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
    index('messages_outbound')
      .on(table.organization_id, table.id, table.ticket_id)
      .where(sql`${table.email_status} <> 'none'`),
    index('messages_undelivered')
      .on(table.organization_id, table.email_status, table.id)
      .where(sql`${table.email_status} in ('queued', 'failed', 'bounced')`),
    index('messages_mailbox')
      .on(table.organization_id, table.mailbox_id, table.id)
      .where(sql`${table.mailbox_id} is not null`),
    check('messages_direction', isOneOf(table.direction, MESSAGE_DIRECTIONS)),
    check('messages_channel', isOneOf(table.channel, MESSAGE_CHANNELS)),
    check('messages_note', sql`${table.is_internal} = (${table.direction} is null)`),
    check('messages_email_status', isOneOf(table.email_status, EMAIL_STATUSES)),
  ],
)

/** Replies and notes that are not sent yet. */
export const drafts = distributedTable(
  'drafts',
  {
    ...tenant(),
    ticket_id: uuid().notNull(),
    ...moved(),
    author_type: text({ enum: AUTHOR_TYPES }).notNull(),
    author_id: uuid().notNull(),
    body: text().notNull(),
    /** Sanitized: safe to show in a page. */
    body_html: text().notNull(),
    /** Plain text, for the search once it is sent. */
    text: text().notNull(),
    is_internal: boolean().notNull(),
    /** Null: the confirmed participants when it is sent. */
    cc: text().array(),
    /** The newest public message that its author has seen. It may be deleted since. */
    based_on: uuid(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('drafts_ticket').on(table.organization_id, table.ticket_id, table.id),
    index('drafts_author').on(table.organization_id, table.author_id, table.id),
    reference('drafts_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
    check('drafts_author_type', isOneOf(table.author_type, AUTHOR_TYPES)),
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

/** Recipients of a message that goes out by email, with the outcome for each. */
export const message_recipients = distributedTable(
  'message_recipients',
  {
    organization_id: uuid().notNull(),
    message_id: uuid().notNull(),
    position: integer().notNull(),
    kind: text({ enum: RECIPIENT_KINDS }).notNull(),
    name: text(),
    email: text().notNull(),
    /** See `addressKey`. */
    email_key: text().notNull(),
    status: text({ enum: RECIPIENT_STATUSES }).notNull().default('queued'),
    error: text(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.message_id, table.position] }),
    index('message_recipients_email').on(table.organization_id, table.email_key, table.message_id),
    index('message_recipients_domain').on(
      table.organization_id,
      sql`substring(${table.email_key} from '[^@]*$')`,
      table.message_id,
    ),
    reference('message_recipients_message', [table.organization_id, table.message_id], messages, 'cascade'),
    check('message_recipients_kind', isOneOf(table.kind, RECIPIENT_KINDS)),
    check('message_recipients_status', isOneOf(table.status, RECIPIENT_STATUSES)),
  ],
)

/** Message-IDs that lead to a ticket: those of its messages, and those that its messages referred to. */
export const email_anchors = distributedTable(
  'email_anchors',
  {
    organization_id: uuid().notNull(),
    /** Without angle brackets. */
    email_message_id: text().notNull(),
    ticket_id: uuid().notNull(),
    message_id: uuid(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.email_message_id, table.ticket_id] }),
    index('email_anchors_ticket').on(table.organization_id, table.ticket_id),
    index('email_anchors_message').on(table.organization_id, table.message_id),
    reference('email_anchors_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
    reference('email_anchors_message', [table.organization_id, table.message_id], messages),
  ],
)

/**
 * What imports have brought (`operate/import`): which row the key of another system is here. A row stays when the thing
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
    /** What tells a change that was made here: the time of change of the row, or a hash of its text. */
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

export const attachments = distributedTable(
  'attachments',
  {
    ...tenant(),
    /** Null until a message uses the upload. */
    message_id: uuid(),
    /** The draft that uses the upload. */
    draft_id: uuid(),
    /** Id of the user, API key or contact who uploaded it; null for a file of an email and rows of older releases. */
    uploader_id: uuid(),
    /** A contact uploaded it, so that nobody else can use it. */
    is_by_contact: boolean().notNull().default(false),
    filename: text().notNull(),
    content_type: text().notNull(),
    size: bigint({ mode: 'number' }).notNull(),
    /** SHA-256 of the bytes, lower case hex: the ETag. */
    digest: text().notNull(),
    storage_key: text().notNull(),
    /** Content-ID of an inline image of an email, without angle brackets. */
    content_id: text(),
    /** What a scan for viruses found; null when it came while there was no scanner. */
    scan: text({ enum: SCANS }),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('attachments_pending').on(table.organization_id, table.id).where(sql`${table.scan} = 'pending'`),
    index('attachments_message').on(table.organization_id, table.message_id, table.id),
    index('attachments_draft').on(table.organization_id, table.draft_id).where(sql`${table.draft_id} is not null`),
    index('attachments_unused').on(table.id).where(sql`${table.message_id} is null`),
    index('attachments_unused_by').on(table.organization_id, table.uploader_id).where(sql`${table.message_id} is null`),
    reference('attachments_message', [table.organization_id, table.message_id], messages, 'cascade'),
    reference('attachments_draft', [table.organization_id, table.draft_id], drafts, 'cascade'),
    check('attachments_size', sql`${table.size} >= 0`),
    check('attachments_scan', isOneOf(table.scan, SCANS)),
    check('attachments_storage_key', isStorageKey(table.storage_key, 'attachments')),
  ],
)

/** Stored bytes whose row is gone, or may never be committed. A background job removes them after `due_at`. */
export const storage_removals = localTable(
  'storage_removals',
  { storage_key: text().primaryKey(), due_at: instant().notNull().default(sql`now()`) },
  (table) => [
    index('storage_removals_due').on(table.due_at),
    check('storage_removals_storage_key', isStorageKey(table.storage_key, '(attachments|inbound)')),
  ],
)

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
    /** Fixed when the time is logged. */
    rate: rate(),
    currency: text().notNull(),
    amount: money().generatedAlwaysAs((): SQL => sql`round(duration_minutes * rate / 60, 2)`),
    date: date().notNull(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    // All but `time_entries_ticket` include the columns that are summed up, the first also company and user.
    index('time_entries_date').on(table.organization_id, table.date, table.id),
    index('time_entries_ticket').on(table.organization_id, table.ticket_id, table.date, table.id),
    index('time_entries_company').on(table.organization_id, table.company_id, table.date, table.id),
    index('time_entries_user').on(table.organization_id, table.user_id, table.date, table.id),
    reference('time_entries_ticket', [table.organization_id, table.ticket_id], tickets, 'restrict'),
    foreignKey({
      name: 'time_entries_user_fk',
      columns: [table.organization_id, table.user_id],
      foreignColumns: [memberships.organization_id, memberships.user_id],
    }),
    check('time_entries_duration', sql`${table.duration_minutes} between 1 and 525600`),
    check('time_entries_rate', isRate(table.rate)),
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

export const webhooks = distributedTable(
  'webhooks',
  {
    ...root(),
    url: text().notNull(),
    events: text({ enum: EVENTS }).array().notNull(),
    /** Encrypted with a key derived from SECRET_KEY. */
    secret: text(),
    /** The secret before this one, encrypted: it signs too for 24 hours, so that receivers can change over. */
    previous_secret: text(),
    previous_secret_until: instant(),
    active: boolean().notNull().default(true),
    status: text({ enum: WEBHOOK_STATUSES }).notNull().default('active'),
    failure_count: integer().notNull().default(0),
    /** Which events it wants, beside their types (`delivery/webhooks/event-filter.ts`); null for all. */
    filter: jsonb(),
    /** One delivery at a time, in the order of the events; the next one after a success. */
    ordered: boolean().notNull().default(false),
    /** The delivery that made it failed. */
    failed_delivery_id: uuid(),
    /** When the admins were last told that it failed. */
    failure_told_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
    /** Set when the webhook is hidden; the row stays until the retention has removed its deliveries. */
    deleted_at: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    check('webhooks_status', isOneOf(table.status, WEBHOOK_STATUSES)),
    check('webhooks_events', sql`cardinality(${table.events}) > 0`),
    check('webhooks_failure_count', sql`${table.failure_count} >= 0`),
    check(
      'webhooks_previous_secret',
      sql`num_nulls(${table.previous_secret}, ${table.previous_secret_until}) in (0, 2)`,
    ),
  ],
)

/** Events that were published, with the exact bytes that their deliveries send. */
export const events = distributedTable(
  'events',
  {
    ...tenant(),
    type: text({ enum: EVENTS }).notNull(),
    body: text().notNull(),
    created_at: createdAt(),
    /** `data.id` of the body. Null when a process of the release before wrote the event. */
    resource_id: uuid(),
    /** `data.ticket.id` of the body. */
    ticket_id: uuid(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('events_age').on(table.id),
    check('events_type', isOneOf(table.type, EVENTS)),
  ],
)

/**
 * The one order of an organization's events. A deferred trigger of `events` writes these rows at the commit: events of
 * a transaction get the same `place`, which is above all that are visible then, and are told apart by `nth`. Writers of
 * an organization hold a shared lock from there to the end of their commit. Who has held that lock alone sees all
 * places up to the highest one that is visible (`delivery/events/settled-place.ts`).
 */
export const event_places = distributedTable(
  'event_places',
  {
    organization_id: uuid().notNull(),
    /** Rises by 2 ** 20 with each commit; below that are bits of the transaction's id, for commits at the same time. */
    place: bigint({ mode: 'bigint' }).notNull(),
    nth: integer().notNull(),
    event_id: uuid().notNull(),
    type: text({ enum: EVENTS }).notNull(),
    resource_id: uuid(),
    ticket_id: uuid(),
    /** `timestamp` of the body. */
    happened_at: instant().notNull(),
    /** Begin of the transaction, when it took more than a minute. Null for the others. */
    began_at: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.place, table.nth] }),
    uniqueIndex('event_places_event').on(table.organization_id, table.event_id),
    index('event_places_age').on(table.happened_at),
    index('event_places_long').on(table.organization_id, table.place).where(sql`${table.began_at} is not null`),
  ],
)

/** What is known of the order of an organization's events beside their places; no row when nothing is. */
export const event_feeds = distributedTable('event_feeds', {
  organization_id: uuid().primaryKey(),
  /** Changes with each restore of the database, which ends all cursors of before. */
  epoch: uuid(),
  /** The last place that the retention has removed. */
  removed_place: bigint({ mode: 'bigint' }).notNull().default(sql`0`),
  /** The latest `happened_at` that the retention has removed. */
  removed_until: instant(),
})

/** Deliveries: one event for one webhook. */
export const deliveries = distributedTable(
  'deliveries',
  {
    ...tenant(),
    webhook_id: uuid().notNull(),
    event_id: uuid().notNull(),
    event: text({ enum: EVENTS }).notNull(),
    status: text({ enum: DELIVERY_STATUSES }).notNull().default('pending'),
    attempts: integer().notNull().default(0),
    response_code: integer(),
    response_time_ms: integer(),
    error: text(),
    next_attempt_at: instant(),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('deliveries_webhook').on(table.organization_id, table.webhook_id, table.id),
    index('deliveries_event').on(table.organization_id, table.event_id),
    index('deliveries_age').on(table.id),
    reference('deliveries_webhook', [table.organization_id, table.webhook_id], webhooks, 'cascade'),
    reference('deliveries_event', [table.organization_id, table.event_id], events, 'cascade'),
    check('deliveries_status', isOneOf(table.status, DELIVERY_STATUSES)),
    check('deliveries_attempts', sql`${table.attempts} >= 0`),
  ],
)

export const delivery_attempts = distributedTable(
  'delivery_attempts',
  {
    organization_id: uuid().notNull(),
    delivery_id: uuid().notNull(),
    attempt: integer().notNull(),
    started_at: instant().notNull(),
    response_code: integer(),
    response_time_ms: integer().notNull(),
    error: text(),
    /** The first 4 KiB of the receiver's answer. */
    response_head: text(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.delivery_id, table.attempt] }),
    reference('delivery_attempts_delivery', [table.organization_id, table.delivery_id], deliveries, 'cascade'),
    check('delivery_attempts_attempt', sql`${table.attempt} > 0`),
  ],
)

/**
 * Work that is left: a row for each webhook delivery to send (id of the delivery), each email to send (id of the
 * message), each inbound email to file (id of the ledger row) and each letter to send (its id). Finished work has no
 * row.
 */
export const outbox = distributedTable(
  'outbox',
  {
    organization_id: uuid().notNull(),
    id: uuid().notNull(),
    kind: text({ enum: OUTBOX_KINDS }).notNull(),
    /** Shares a limit of work in flight: the webhook, the mailbox or the organization. */
    lane_id: uuid().notNull(),
    /** Time when it is due; infinity while it is parked, such as for a failed webhook. */
    run_at: instant().notNull().default(sql`now()`),
    lease_until: instant().notNull().default(sql`'-infinity'`),
    /** Names the claim that holds the lease. Every settle names it too, so that a late worker changes nothing. */
    lease_token: uuid(),
    attempts: integer().notNull().default(0),
    /** Times it was leased; far more than attempts means that it kills its workers. */
    claims: integer().notNull().default(0),
    /** The trace of the request or mail that caused it, for the attempt; null when nothing is traced. */
    traceparent: text(),
    /** Since when it is to be done: faults of a mailbox are tried only for some days. */
    queued_at: instant().notNull().default(sql`now()`),
    /** Place of the event in the order of all (`event_places`), for a delivery of an ordered webhook that waits. */
    place: bigint({ mode: 'bigint' }),
    nth: integer(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('outbox_due').on(table.kind, table.run_at),
    index('outbox_lane').on(table.lane_id, table.run_at),
    index('outbox_waiting').on(table.lane_id, table.place, table.nth).where(sql`${table.run_at} = 'infinity'`),
    check('outbox_kind', isOneOf(table.kind, OUTBOX_KINDS)),
    check('outbox_counts', sql`${table.attempts} >= 0 and ${table.claims} >= 0`),
  ],
)

/** When an organization erases or deletes old tickets, and the labels of what is never removed. */
export const retention = distributedTable(
  'retention',
  {
    organization_id: uuid().notNull(),
    /** `desk/retention/model.ts`. Labels and companies that are deleted stay named, and fit no ticket. */
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

/** How a mailbox gets the tokens with which it signs in to its server (OAuth2). */
export const mailbox_sign_ins = distributedTable(
  'mailbox_sign_ins',
  {
    organization_id: uuid().notNull(),
    /** The mailbox's. */
    id: uuid().notNull(),
    grant: text({ enum: OAUTH_GRANTS }).notNull(),
    token_url: text().notNull(),
    client_id: text().notNull(),
    scope: text(),
    /** This and the tokens are encrypted with a key derived from SECRET_KEY. */
    client_secret: text(),
    refresh_token: text(),
    access_token: text(),
    /** Until when the access token is used. */
    access_token_until: instant(),
    /** The fetch of a token that is under way, and until when no other begins. */
    fetched_by: uuid(),
    fetched_until: instant(),
    /** Another one after each change of the settings, but not of the tokens. */
    version: uuid().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    check('mailbox_sign_ins_grant', isOneOf(table.grant, OAUTH_GRANTS)),
  ],
)

/** Lanes of the outbox whose mail server is at fault. Their work is parked, and one row tries now and then. */
export const lane_faults = distributedTable(
  'lane_faults',
  {
    organization_id: uuid().notNull(),
    /** The mailbox, or for letters the organization. */
    lane_id: uuid().notNull(),
    /** What went wrong last, without addresses. */
    error: text().notNull(),
    failing_since: instant().notNull().default(sql`now()`),
    tries: integer().notNull().default(1),
    /** When the next row tries. */
    try_at: instant().notNull(),
    /** The row of the outbox that tried last, or tries now. */
    tried_id: uuid().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.lane_id] })],
)

/** The mail ledger: a row for every message that got a 250, for each organization and delivery. */
export const inbound_messages = distributedTable(
  'inbound_messages',
  {
    ...tenant(),
    mailbox_id: uuid(),
    mailbox_address: text().notNull(),
    /** The address at RCPT, with its +tag. */
    recipient: text().notNull(),
    /** The organization's addresses at RCPT, and once it is filed those of To and Cc; empty in older rows. */
    recipients: text().array().notNull().default(sql`'{}'`),
    /** What a search finds the row by (`base/address/search-keys.ts`): senders, and recipients; empty in older rows. */
    from_keys: text().array().notNull().default(sql`'{}'`),
    to_keys: text().array().notNull().default(sql`'{}'`),
    /** Empty for the null sender, and for imports; null when an inlet was not told it. */
    envelope_sender: text(),
    /**
     * Address of the client that delivered it over SMTP, or that an inlet was told. Null for imports and rows of older
     * releases, like the next two.
     */
    remote_address: text(),
    /** The name that the client gave in HELO or EHLO. */
    helo: text(),
    /** Delivered over TLS. */
    tls: boolean(),
    /** Address of the trusted relay that connected and named that client by XCLIENT. */
    relay_address: text(),
    /** As in `messages`; null while pending. */
    sender_verified: boolean(),
    authentication: jsonb().$type<Record<'spf' | 'dkim' | 'dmarc' | 'arc', (typeof AUTHENTICATION_RESULTS)[number]>>(),
    email_message_id: text(),
    from_name: text(),
    from_email: text(),
    subject: text(),
    /** As the judge counts; null without a number, or a judge. */
    spam_score: real(),
    spam_by: text({ enum: SPAM_JUDGES }),
    size: bigint({ mode: 'number' }).notNull(),
    outcome: text({ enum: INBOUND_OUTCOMES }).notNull().default('pending'),
    rule: text({ enum: THREADING_RULES }),
    ticket_id: uuid(),
    message_id: uuid(),
    /** Storage key of the raw bytes; null once the retention has removed them. */
    storage_key: text(),
    received_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('inbound_messages_outcome').on(table.organization_id, table.outcome, table.id),
    index('inbound_messages_mailbox').on(table.organization_id, table.mailbox_id, table.id),
    index('inbound_messages_age').on(table.id).where(sql`${table.storage_key} is not null`),
    index('inbound_messages_storage').on(table.storage_key),
    reference('inbound_messages_mailbox', [table.organization_id, table.mailbox_id], mailboxes),
    check('inbound_messages_outcome', isOneOf(table.outcome, INBOUND_OUTCOMES)),
    check('inbound_messages_spam_by', isOneOf(table.spam_by, SPAM_JUDGES)),
    check('inbound_messages_rule', isOneOf(table.rule, THREADING_RULES)),
    check('inbound_messages_storage_key', isStorageKey(table.storage_key, 'inbound')),
  ],
)

/** Senders whose mail is held, or never held for spam. */
export const sender_rules = distributedTable(
  'sender_rules',
  {
    ...tenant(),
    /** As it was given: an address, or a domain, which stands for those below it, too. */
    sender: text().notNull(),
    /** The `addressKey` of the address, or the domain in lower case and Punycode. */
    sender_key: text().notNull(),
    action: text({ enum: SENDER_RULE_ACTIONS }).notNull(),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('sender_rules_sender').on(table.organization_id, table.sender_key),
    check('sender_rules_action', isOneOf(table.action, SENDER_RULE_ACTIONS)),
  ],
)

/** Mail that was refused for good, at a domain where no other organization has a mailbox; kept for 30 days. */
export const refused_messages = distributedTable(
  'refused_messages',
  {
    ...tenant(),
    /** The address at RCPT. */
    recipient: text().notNull(),
    /** Empty for the null sender. */
    envelope_sender: text().notNull(),
    /** As in the ledger. */
    from_keys: text().array().notNull(),
    to_keys: text().array().notNull(),
    /** What the client was told, such as `550 5.1.1 No such mailbox here`. */
    smtp_reply: text().notNull(),
    remote_address: text().notNull(),
    helo: text(),
    tls: boolean().notNull(),
    received_at: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.id] })],
)

/** Fingerprints by which a message is recognized when it is delivered again (`mail/inbound/fingerprint.ts`). */
export const inbound_fingerprints = distributedTable(
  'inbound_fingerprints',
  {
    organization_id: uuid().notNull(),
    fingerprint: text().notNull(),
    inbound_message_id: uuid().notNull(),
    /** Digests of the texts that came under its Message-ID; null without one, and in rows of older releases. */
    words: text().array(),
    /** A mailing list passed one of the messages on. */
    from_list: boolean().notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.fingerprint] }),
    index('inbound_fingerprints_message').on(table.organization_id, table.inbound_message_id),
  ],
)

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

/** Key columns of tables that refer to the organization directly. */
function root() {
  return {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    id: id(),
  }
}

/**
 * Key columns of tables that are written often. Their other keys prove the organization; this one would lock its row.
 */
function tenant() {
  return { organization_id: uuid().notNull(), id: id() }
}

/** Columns of what moves when tickets are merged. */
function moved() {
  return {
    /** The ticket that it was written on; null while it is there. */
    original_ticket_id: uuid(),
  }
}

/** Columns for custom fields, with their words (`desk/custom/custom-words.ts`): null when there are none. */
function customFields() {
  return {
    custom: jsonb().$type<Record<string, string | number | boolean | string[]>>().notNull().default({}),
    custom_words: uuid().array(),
  }
}

/** The index of such words: each belongs to one organization. */
function withWords(name: string, words: AnyPgColumn) {
  return index(name).using('gin', words).where(sql`${words} is not null`)
}

/** Columns of a tally and of its changes. */
function tallied() {
  return {
    kind: text({ enum: TALLY_KINDS }).notNull(),
    /**
     * Id of the contact, company or label, word of a custom field, zeros for all tickets and for no company. Of a day
     * the first id that can be made on it.
     */
    key: uuid().notNull(),
    /** Status of the tickets; null for contacts. */
    status: text({ enum: TICKET_STATUSES }),
    n: integer().notNull(),
  }
}

/** Columns of the sums of a day and of their changes. */
function summedUp() {
  return {
    date: date().notNull(),
    currency: text().notNull(),
    billable: boolean().notNull(),
    entries: integer().notNull(),
    minutes: bigint({ mode: 'number' }).notNull(),
    /** Entries that have a rate, and so an amount. */
    priced: integer().notNull(),
    amount: numeric({ precision: 20, scale: 2, mode: 'number' }).notNull(),
  }
}

/**
 * A foreign key inside the organization. By default a deletion clears only the second column. drizzle-kit cannot
 * express `on delete set null (column)`, so that is written into the migration by hand.
 */
function reference(
  name: string,
  columns: [AnyPgColumn, AnyPgColumn],
  table: { organization_id: AnyPgColumn; id: AnyPgColumn },
  onDelete: 'set null' | 'cascade' | 'restrict' = 'set null',
) {
  return foreignKey({ name: `${name}_fk`, columns, foreignColumns: [table.organization_id, table.id] }).onDelete(
    onDelete,
  )
}

function isOneOf(column: AnyPgColumn, words: readonly string[]) {
  return sql`${column} in (${sql.raw(words.map((word) => `'${word}'`).join(', '))})`
}

/** The form of `desk/attachments/storage-key.ts`: another key could lead to other files of the machine. */
function isStorageKey(column: AnyPgColumn, folder: string) {
  return sql`${column} ~ ${sql.raw(`'^${folder}/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`)}`
}

function isRate(column: AnyPgColumn) {
  return sql`${column} between 0 and 1000000`
}

function isCurrency(column: AnyPgColumn) {
  return sql`${column} ~ '^[A-Z]{3}$'`
}

function isPrefix(column: AnyPgColumn) {
  return sql`${column} ~ '^[A-Z][A-Z0-9]{0,9}$'`
}
