/** Tables of mailboxes, their domains, inlets and sign-ins, and of rules about senders. */
import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { bytes, createdAt, instant, updatedAt } from '../columns'
import { organizations, root } from './organization-tables'
import { distributedTable, isOneOf, reference, referenceTable, tenant } from './table-parts'
import { teams } from './team-tables'
import {
  DOMAIN_VERIFIERS,
  INLET_PROVIDERS,
  OAUTH_GRANTS,
  QUOTES,
  SENDER_RULE_ACTIONS,
  SMTP_SECURITIES,
  TEXT_FORMATS,
} from './word-lists'

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
    /** Stands in From of answers instead of the name, with variables. */
    from_name: text(),
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
    /** Null without one, and in rows that a release without formats wrote. */
    signature_format: text({ enum: TEXT_FORMATS }),
    /** The API gives new ones `last`: a release without quotations makes them without. */
    quote: text({ enum: QUOTES }).notNull().default('none'),
    /** The team of tickets that open here. */
    team_id: uuid(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    uniqueIndex('mailboxes_address').on(table.address_key).where(sql`${table.has_address}`),
    uniqueIndex('mailboxes_own_address').on(table.organization_id, table.address_key),
    uniqueIndex('mailboxes_default').on(table.organization_id).where(sql`${table.is_default}`),
    reference('mailboxes_team', [table.organization_id, table.team_id], teams),
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
