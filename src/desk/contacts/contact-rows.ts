/** The rows of contacts, as commands lock and write them. */
import { withChangeTime } from '../../base/db/change-time'
import { newId } from '../../base/db/columns'
import { violates } from '../../base/db/violations'
import { fieldError, unknownIds } from '../../base/errors'
import { type Scope, together } from '../../base/scope'
import { isUuid } from '../../base/shapes/ids'
import { wordsOfCustom } from '../custom/custom-words'
import type { Custom } from '../custom/model'
import { changedCustom } from '../custom/values'
import { busy, type Deed } from '../deeds/deeds'
import { findCompanyOf } from './company'
import { type Address, addressesAfter, addressesOf, writeAddresses } from './contact-addresses'
import type { NewContact } from './model'
import { searchText } from './search-text'

export type ContactFields = {
  name: string
  phone: string | null
  company_id: string | null
  notes: string | null
  external_id: string | null
  custom: Custom
  /** The primary one first. */
  addresses: Address[]
}

type Marked = { id: string; deed_id: string | null }

/**
 * Locks contacts against other changes and tickets that are made for them, but not against participants that begin to
 * refer to them. In one order, so that two transactions never wait for each other.
 * @param deed the deed that may write to those that are marked by it
 * @returns those that exist, and the time from which they are locked
 * @throws SERVICE_UNAVAILABLE for those that another deed works on
 */
export async function lockContacts(
  scope: Scope,
  ids: string[],
  deed?: Pick<Deed, 'id'>,
): Promise<{ contacts: Map<string, ContactFields>; locked_at: string }> {
  const { sql, organization_id } = scope
  // A second statement reads the addresses, because one that waited for a lock reads other tables as they were before.
  const [[rows, locked_at], addresses] = await together([
    withChangeTime(
      sql,
      sql<(Omit<ContactFields, 'addresses'> & Marked)[]>`
        select id, deed_id, name, phone, company_id, notes, external_id, custom from contacts
        where organization_id = ${organization_id} and id = any(${ids}::uuid[])
        order by id for no key update`,
    ),
    addressesOf(scope, ids),
  ])
  if (rows.some(({ deed_id }) => deed_id !== null && deed_id !== deed?.id)) throw busy()
  const contacts = rows.map(
    ({ id, deed_id: _, ...fields }) => [id, { ...fields, addresses: addresses.get(id) ?? [] }] as const,
  )
  return { contacts: new Map(contacts), locked_at }
}

/**
 * Writes a new contact with its addresses.
 * @returns its id; undefined when its primary address is taken
 * @throws INVALID_CUSTOM, EMAIL_ALREADY_EXISTS for another address, COMPANY_NOT_FOUND, VALIDATION_ERROR
 */
export async function insertContact(scope: Scope, contact: NewContact): Promise<string | undefined> {
  const { sql, organization_id } = scope
  const { name, phone = null, notes = null, external_id = null } = contact
  const custom = changedCustom({}, contact.custom)
  const addresses = addressesAfter([], contact)
  const emails = addresses.map(({ email }) => email)
  const company = contact.company_id === undefined ? findCompanyOf(scope, emails) : asStoredId(contact.company_id)
  const [company_id, updated_at] = await withChangeTime(sql, company)
  const { email, email_key } = addresses[0]!
  const [created] = await sql<{ id: string }[]>`
    insert into contacts
      (organization_id, id, name, email, email_key, phone, company_id, notes, external_id, custom,
        custom_words, search, updated_at)
    values (${organization_id}, ${newId()}, ${name}, ${email}, ${email_key}, ${phone}, ${company_id ?? null}, ${notes},
      ${external_id}, ${JSON.stringify(custom)}::text::jsonb, ${wordsOfCustom(organization_id, custom)}::uuid[],
      ${searchText({ name, emails })}, ${updated_at})
    on conflict do nothing
    returning id`.catch((error) => conflict(error, contact.company_id))
  if (created && addresses.length > 1) await writeAddresses(scope, created.id, addresses)
  return created?.id
}

/**
 * Writes a contact that the caller's transaction has locked.
 * @param company_id as it was asked for, for the error
 * @throws EMAIL_ALREADY_EXISTS, COMPANY_NOT_FOUND
 */
export async function writeContact(
  scope: Scope,
  id: string,
  before: ContactFields,
  after: ContactFields,
  { locked_at, company_id }: { locked_at: string; company_id?: string | null },
): Promise<void> {
  const { sql, organization_id } = scope
  const { name, phone, notes, external_id, custom, addresses } = after
  const { email, email_key } = addresses[0]!
  const search = searchText({ name, emails: addresses.map((one) => one.email) })
  await sql`
    update contacts set name = ${name}, email = ${email}, email_key = ${email_key}, phone = ${phone},
      company_id = ${after.company_id}, notes = ${notes}, external_id = ${external_id}, search = ${search},
      custom = ${JSON.stringify(custom)}::text::jsonb, custom_words = ${wordsOfCustom(organization_id, custom)}::uuid[],
      updated_at = ${locked_at}
    where organization_id = ${organization_id} and id = ${id}`.catch((error) => conflict(error, company_id))
  if (areOther(before.addresses, addresses)) await writeAddresses(scope, id, addresses)
}

/** True when the addresses differ, or the way in which they are written or ordered. */
export function areOther(before: Address[], after: Address[]): boolean {
  return before.length !== after.length || before.some(({ email }, index) => email !== after[index]?.email)
}

/** A string that is no UUID becomes a new id, which no company has: the foreign key refuses it like any unknown id. */
export function asStoredId(id: string | null): string | null {
  if (id === null) return null
  return isUuid(id) ? id.toLowerCase() : newId()
}

function conflict(error: unknown, company_id?: string | null): never {
  if (violates(error, 'contacts_email')) throw fieldError('EMAIL_ALREADY_EXISTS', '/email')
  if (violates(error, 'contacts_company_fk')) throw unknownIds('COMPANY_NOT_FOUND', '/company_id', [company_id ?? ''])
  throw error
}
