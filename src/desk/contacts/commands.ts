import { addressKey } from '../../base/address/email'
import { withChangeTime } from '../../base/db/change-time'
import { newId } from '../../base/db/columns'
import { violates } from '../../base/db/violations'
import { ApiError, fieldError, unknownIds } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { isUuid } from '../../base/shapes/ids'
import { findSubscribers, type NewEvent, publish } from '../../delivery/webhooks/publish'
import { deleteContactRow } from '../privacy/delete-contact-row'
import { findCompanyOf } from './company'
import type { ContactChanges, ContactWithTickets, NewContact } from './model'
import { type ContactRef, getContact, getContacts } from './queries'
import { searchText } from './search-text'
import { giveCompanyToTickets, takeFromTickets } from './tickets'

/** Contacts that are read and published by one statement each. */
const PUBLISH_BATCH = 500

/**
 * Creates a contact, linked to a company by its email's domain unless `company_id` says otherwise.
 * @throws EMAIL_ALREADY_EXISTS, COMPANY_NOT_FOUND
 */
export function createContact(scope: Scope, contact: NewContact): Promise<ContactWithTickets> {
  return inTransaction(scope, async (scope) => {
    const created = await insertContact(scope, contact)
    if (!created) throw fieldError('EMAIL_ALREADY_EXISTS', '/email')
    return publishNew(scope, created.id)
  })
}

/**
 * Changes a contact. A company that it gets goes to those of its tickets that have none. No change, no event.
 * @throws CONTACT_NOT_FOUND, EMAIL_ALREADY_EXISTS, COMPANY_NOT_FOUND
 */
export function updateContact(scope: Scope, id: string, changes: ContactChanges): Promise<ContactWithTickets> {
  return inTransaction(scope, async (scope) => {
    const [before, locked_at] = await withChangeTime(scope.sql, lockContact(scope, id))
    const after = {
      ...before,
      ...changes,
      ...(changes.company_id !== undefined && { company_id: asStoredId(changes.company_id) }),
    }
    const fields = ['name', 'email', 'phone', 'company_id', 'notes'] as const
    if (fields.every((field) => after[field] === before[field])) return getContact(scope, id)
    await writeContact(scope, id, before, after, locked_at).catch((error) => conflict(error, changes.company_id))
    const contact = await getContact(scope, id)
    const { company } = contact
    if (company && company.id !== before.company_id) await giveCompanyToTickets(scope, [id], company)
    await publish(scope, [{ type: 'contact.updated', data: contact }])
    return contact
  })
}

/**
 * Deletes a contact. Its tickets stay without a contact, its messages keep their sender, its email is free again.
 * @throws CONTACT_NOT_FOUND
 */
export function deleteContact(scope: Scope, id: string): Promise<void> {
  return inTransaction(scope, async (scope) => {
    await lockContact(scope, id)
    const contact = await getContact(scope, id)
    await takeFromTickets(scope, 'contact', { id, name: contact.name, email: contact.email })
    await deleteContactRow(scope, id)
    await publish(scope, [{ type: 'contact.deleted', data: contact }])
  })
}

/** Publishes contacts whose company changed with the company, in the transaction of that change. */
export async function publishContacts(scope: Scope, ids: string[]): Promise<void> {
  if (ids.length === 0) return
  const subscribers = await findSubscribers(scope)
  for (let start = 0; start < ids.length; start += PUBLISH_BATCH) {
    const changed = await getContacts(scope, ids.slice(start, start + PUBLISH_BATCH))
    const events = changed.map((data): NewEvent => ({ type: 'contact.updated', data }))
    await publish(scope, events, { subscribers })
  }
}

async function publishNew(scope: Scope, id: string): Promise<ContactWithTickets> {
  const data = await getContact(scope, id)
  await publish(scope, [{ type: 'contact.created', data }])
  return data
}

/** Writes a new contact. @returns undefined when its email is taken @throws COMPANY_NOT_FOUND */
async function insertContact(scope: Scope, contact: NewContact): Promise<ContactRef | undefined> {
  const { sql, organization_id } = scope
  const { name, email, phone = null, notes = null } = contact
  const company = contact.company_id === undefined ? findCompanyOf(scope, email) : asStoredId(contact.company_id)
  const [company_id, updated_at] = await withChangeTime(sql, company)
  const [created] = await sql<ContactRef[]>`
    insert into contacts (organization_id, id, name, email, email_key, phone, company_id, notes, search, updated_at)
    values (${organization_id}, ${newId()}, ${name}, ${email}, ${addressKey(email)}, ${phone}, ${company_id ?? null}, ${notes},
      ${searchText(contact)}, ${updated_at})
    on conflict do nothing
    returning id, name, email, company_id`.catch((error) => conflict(error, contact.company_id))
  return created
}

type ContactFields = {
  name: string
  email: string
  phone: string | null
  company_id: string | null
  notes: string | null
}

/**
 * Locks a contact against other changes and tickets that are made for it, but not against participants that begin to
 * refer to it.
 * @throws CONTACT_NOT_FOUND
 */
async function lockContact({ sql, organization_id }: Scope, id: string): Promise<ContactFields> {
  const [contact] = await sql<ContactFields[]>`
    select name, email, phone, company_id, notes from contacts
    where organization_id = ${organization_id} and id = ${id}
    for no key update`
  if (!contact) throw new ApiError('CONTACT_NOT_FOUND')
  return contact
}

async function writeContact(
  scope: Scope,
  id: string,
  before: ContactFields,
  after: ContactFields,
  updated_at: string,
): Promise<void> {
  const { sql, organization_id } = scope
  const { name, email, phone, company_id, notes } = after
  // An email that stays keeps its key: a second contact of one address, made before there were keys, has another one.
  const email_key = email === before.email ? sql`email_key` : sql`${addressKey(email)}`
  await sql`
    update contacts set name = ${name}, email = ${email}, email_key = ${email_key}, phone = ${phone}, company_id = ${company_id},
      notes = ${notes}, search = ${searchText(after)}, updated_at = ${updated_at}
    where organization_id = ${organization_id} and id = ${id}`
}

/** A string that is no UUID becomes a new id, which no company has: the foreign key refuses it like any unknown id. */
function asStoredId(id: string | null): string | null {
  if (id === null) return null
  return isUuid(id) ? id.toLowerCase() : newId()
}

function conflict(error: unknown, company_id?: string | null): never {
  if (violates(error, 'contacts_email')) throw fieldError('EMAIL_ALREADY_EXISTS', '/email')
  if (violates(error, 'contacts_company_fk')) throw unknownIds('COMPANY_NOT_FOUND', '/company_id', [company_id ?? ''])
  throw error
}
