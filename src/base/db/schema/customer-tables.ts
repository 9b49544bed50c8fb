/** Tables of contacts and companies. */
import { sql } from 'drizzle-orm'
import { check, index, integer, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { bytes, createdAt, instant, rate, updatedAt } from '../columns'
import { root } from './organization-tables'
import {
  customFields,
  distributedTable,
  isCurrency,
  isOneOf,
  isPrefix,
  isRate,
  reference,
  tenant,
  withWords,
} from './table-parts'
import { ACTOR_TYPES, CONTACT_TOKEN_SCOPES, DEED_KINDS } from './word-lists'

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
    /** The deed that works on it (`deeds`): until it ends nobody else writes to it. */
    deed_id: uuid(),
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

/**
 * Work that goes in many short transactions, and is not done yet. It ends by itself, also after a crash (`desk/deeds`).
 */
export const deeds = distributedTable(
  'deeds',
  {
    ...tenant(),
    kind: text({ enum: DEED_KINDS }).notNull(),
    /** The contact, company or other thing that it is about. */
    subject_id: uuid().notNull(),
    /** Contacts that are merged into it, or get it. */
    source_ids: uuid().array().notNull().default(sql`'{}'`),
    /** The person or key that began it, as timelines name them. */
    actor_type: text({ enum: ACTOR_TYPES }).notNull(),
    actor_id: uuid(),
    actor_name: text(),
    /** When another process goes on with it, unless it is done by then. */
    run_at: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('deeds_run').on(table.run_at),
    check('deeds_kind', isOneOf(table.kind, DEED_KINDS)),
    check('deeds_actor_type', isOneOf(table.actor_type, ACTOR_TYPES)),
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
