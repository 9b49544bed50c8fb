/** Imports companies, contacts and labels. */
import { ownersOf, toDomain } from '../../base/address/domains'
import { addressKey } from '../../base/address/email'
import { insertRows } from '../../base/db/insert-rows'
import { fieldError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { faultsOfRate } from '../../base/shapes/money'
import { type Company, NewCompany } from '../../desk/companies/model'
import { addressesAfter } from '../../desk/contacts/contact-addresses'
import { type ContactFields, lockContacts, writeContact } from '../../desk/contacts/contact-rows'
import { NewContact } from '../../desk/contacts/model'
import { searchText } from '../../desk/contacts/search-text'
import { wordsOfCustom } from '../../desk/custom/custom-words'
import { changedCustom } from '../../desk/custom/values'
import { NewLabel } from '../../desk/labels/model'
import {
  byExternalId,
  type Find,
  type Kind,
  keyIn,
  type Line,
  leaveUnknown,
  matchNames,
  type Placed,
  timesOf,
  unknownKey,
  upsert,
} from './kind'

export const COMPANIES: Kind<NewCompany> = {
  name: 'companies',
  model: NewCompany,
  most: 200,
  shape: (given) => given,
  judge: ({ hourly_rate, currency }) => faultsOfRate('/hourly_rate', hourly_rate, currency),
  match: (scope, lines) => byExternalId(scope, 'companies', lines),
  states: (scope, ids) => timesOf(scope, 'companies', ids),
  stateOf: ({ updated_at }) => updated_at,
  write: writeCompanies,
}

async function writeCompanies(scope: Scope, lines: Placed<NewCompany>[]): Promise<undefined> {
  const { organization_id } = scope
  const rows = lines.map(({ id, input, updated_at }) => {
    const { name, domains = [], hourly_rate, currency, ticket_prefix, notes, external_id } = input
    const custom = changedCustom({}, input.custom)
    return {
      ...{ organization_id, id, name, hourly_rate, currency, ticket_prefix, notes, external_id, updated_at },
      domains: [...new Set(domains.map((domain) => toDomain(domain.trim())!))],
      custom: JSON.stringify(custom),
      custom_words: wordsOfCustom(organization_id, custom),
    }
  })
  await upsert(scope, 'companies', rows)
}

export const CONTACTS: Kind<NewContact> = {
  name: 'contacts',
  model: NewContact,
  most: 200,
  shape: (given) => ({ ...given, emails: othersOf(given), company_id: keyIn(given, 'company_id', 'company') }),
  references: ({ company_id }) => (company_id ? [['companies', company_id]] : []),
  judge: ({ company_id }, find, losses) => {
    if (!company_id) return []
    const id = find('companies', company_id)
    if (id === undefined) return [unknownKey('/company_id', 'companies')]
    leaveUnknown(losses, '/company_id', 'companies', id)
    return []
  },
  match: matchContacts,
  states: (scope, ids) => timesOf(scope, 'contacts', ids),
  stateOf: ({ updated_at }) => updated_at,
  write: writeContacts,
}

/** The addresses besides the primary one, which an export has among them. */
function othersOf({ email, emails }: Record<string, unknown>): unknown {
  if (!Array.isArray(emails) || typeof email !== 'string') return emails
  const primary = addressKey(email.trim())
  return emails.filter((one) => typeof one !== 'string' || addressKey(one.trim()) !== primary)
}

function emailsOf({ email, emails = [] }: NewContact): string[] {
  return [...new Set([email, ...emails].map(addressKey))]
}

async function matchContacts(scope: Scope, lines: Line<NewContact>[]): Promise<Map<string, string>> {
  const { sql, organization_id } = scope
  const keys = lines.flatMap(({ input }) => emailsOf(input))
  const found = await sql<{ email_key: string; contact_id: string }[]>`
    select email_key, contact_id from contact_addresses
    where organization_id = ${organization_id} and email_key = any(${keys}::text[])`
  const ids = new Map(found.map(({ email_key, contact_id }) => [email_key, contact_id]))
  const matched = await byExternalId(scope, 'contacts', lines)
  for (const { keys, input } of lines) {
    const id = emailsOf(input)
      .map((email) => ids.get(email))
      .find((one) => one !== undefined)
    if (id) matched.set(keys[0]!, id)
  }
  return matched
}

async function writeContacts(scope: Scope, lines: Placed<NewContact>[], find: Find): Promise<undefined> {
  const companyOf = await companiesByDomain(scope, lines)
  const fieldsOf = ({ input }: Line<NewContact>): ContactFields => {
    const { name, phone = null, notes = null, external_id = null, company_id } = input
    const addresses = addressesAfter([], input)
    const owner = addresses.map(({ email }) => companyOf(email)).find((id) => id !== undefined)
    const company = company_id === undefined ? owner : company_id && find('companies', company_id)
    const custom = changedCustom({}, input.custom)
    return { name, phone, notes, external_id, custom, addresses, company_id: company ?? null }
  }
  await insertContacts(
    scope,
    lines.filter(({ is_new }) => is_new).map((line) => ({ ...line, fields: fieldsOf(line) })),
  )
  const changed = lines.filter(({ is_new }) => !is_new)
  const { contacts } = await lockContacts(
    scope,
    changed.map(({ id }) => id),
  )
  for (const line of changed) {
    const { id, updated_at: locked_at } = line
    await writeContact(scope, id, contacts.get(id)!, fieldsOf(line), { locked_at })
  }
}

/** Writes new contacts, with all addresses of each. @throws EMAIL_ALREADY_EXISTS */
async function insertContacts(scope: Scope, lines: (Placed<NewContact> & { fields: ContactFields })[]): Promise<void> {
  const { sql, organization_id } = scope
  const rows = lines.map(({ id, fields, updated_at }) => {
    const { addresses, custom, ...columns } = fields
    const search = searchText({ name: fields.name, emails: addresses.map(({ email }) => email) })
    const custom_words = wordsOfCustom(organization_id, custom)
    const texts = { search, custom: JSON.stringify(custom), custom_words }
    return { organization_id, id, ...columns, ...addresses[0]!, ...texts, updated_at }
  })
  const others = lines.flatMap(({ id: contact_id, fields }) =>
    fields.addresses.slice(1).map((address, position) => ({ organization_id, contact_id, position, ...address })),
  )
  // In one order, so that two transactions never wait for each other.
  const byKey = (a: { email_key: string }, b: { email_key: string }) => (a.email_key < b.email_key ? -1 : 1)
  const end = sql`on conflict do nothing returning 1 as n`
  const made = await insertRows(sql, 'contacts', rows.toSorted(byKey), end)
  const added = await insertRows(sql, 'contact_addresses', others.toSorted(byKey), end)
  if (made.length < rows.length || added.length < others.length) throw fieldError('EMAIL_ALREADY_EXISTS', '/email')
}

/** Finds the companies of contacts that name none, by the domains of their addresses. */
async function companiesByDomain({ sql, organization_id }: Scope, lines: Line<NewContact>[]) {
  if (lines.every(({ input }) => input.company_id !== undefined)) return () => undefined
  const candidates = await sql<Pick<Company, 'id' | 'domains'>[]>`
    select id, domains from companies where organization_id = ${organization_id} and domains <> '{}'
    order by id for key share`
  return ownersOf(candidates)
}

export const LABELS: Kind<NewLabel> = {
  name: 'labels',
  model: NewLabel,
  most: 200,
  shape: ({ color = '#6B7280', ...given }) => ({ ...given, color }),
  match: (scope, lines) => matchNames(scope, 'labels', lines),
  states: (scope, ids) => timesOf(scope, 'labels', ids),
  stateOf: ({ updated_at }) => updated_at,
  write: writeLabels,
}

async function writeLabels(scope: Scope, lines: Placed<NewLabel>[]): Promise<undefined> {
  const { organization_id } = scope
  const rows = lines.map(({ id, input: { name, color, description }, updated_at }) => {
    return { organization_id, id, name, color, description, updated_at }
  })
  await upsert(scope, 'labels', rows)
}
