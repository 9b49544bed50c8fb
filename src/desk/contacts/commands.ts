import { ApiError, fieldError } from '../../base/errors'
import { holdExternalId, requireFree } from '../../base/external-ids'
import { inTransaction, type Scope } from '../../base/scope'
import { findAudience, type NewEvent, publish } from '../../delivery/webhooks/publish'
import { changedCustom, customChanges } from '../custom/values'
import { type Deed, doOrBegin, endOf, within } from '../deeds/deeds'
import { requireContactsFree } from '../holds/holds'
import { deleteContactRow } from '../privacy/delete-contact-row'
import { addressesAfter } from './contact-addresses'
import { areOther, asStoredId, type ContactFields, insertContact, lockContacts, writeContact } from './contact-rows'
import type { ContactByExternalId, ContactChanges, ContactWithTickets, NewContact } from './model'
import { contactNotFound, findByAddress, getContact, getContacts } from './queries'
import { giveCompanyToTickets, takeFromParticipants, takeFromTickets } from './tickets'

/** Contacts that are read and published by one statement each. */
const PUBLISH_BATCH = 500

/**
 * Creates a contact, linked to a company by its first address that belongs to one unless `company_id` says otherwise.
 * @throws INVALID_CUSTOM, EMAIL_ALREADY_EXISTS, EXTERNAL_ID_EXISTS, COMPANY_NOT_FOUND, VALIDATION_ERROR
 */
export function createContact(scope: Scope, contact: NewContact): Promise<ContactWithTickets> {
  return inTransaction(scope, async (scope) => {
    await requireFree(scope, 'contacts', contact.external_id)
    const id = await insertContact(scope, contact)
    if (!id) throw fieldError('EMAIL_ALREADY_EXISTS', '/email')
    return publishNew(scope, id)
  })
}

/**
 * Changes a contact. A company that it gets goes to those of its tickets that have none. No change, no event.
 * @throws CONTACT_NOT_FOUND, INVALID_CUSTOM, EMAIL_ALREADY_EXISTS, EXTERNAL_ID_EXISTS, COMPANY_NOT_FOUND,
 * VALIDATION_ERROR
 */
export function updateContact(scope: Scope, id: string, changes: ContactChanges): Promise<ContactWithTickets> {
  return inTransaction(scope, async (scope) => {
    const { contacts, locked_at } = await lockContacts(scope, [id])
    const before = contacts.get(id)
    if (!before) throw await contactNotFound(scope, id)
    const { email: _, emails: __, company_id, custom, ...plain } = changes
    const after: ContactFields = {
      ...before,
      ...plain,
      ...(company_id !== undefined && { company_id: asStoredId(company_id) }),
      addresses: addressesAfter(before.addresses, changes),
      custom: changedCustom(before.custom, custom),
    }
    const fields = ['name', 'phone', 'company_id', 'notes', 'external_id'] as const
    const is_same = fields.every((field) => after[field] === before[field])
    const is_same_custom = !customChanges(before.custom, after.custom)
    if (is_same && is_same_custom && !areOther(before.addresses, after.addresses)) return getContact(scope, id)
    if (after.external_id !== before.external_id) await requireFree(scope, 'contacts', after.external_id, id)
    await writeContact(scope, id, before, after, { locked_at, company_id })
    const contact = await getContact(scope, id)
    const { company } = contact
    if (company && company.id !== before.company_id) await giveCompanyToTickets(scope, [id], company)
    await publish(scope, [{ type: 'contact.updated', data: contact, before: { company_id: before.company_id } }])
    return contact
  })
}

/** Judges a contact before it is changed. @throws PRECONDITION_FAILED */
type Judge = (contact: ContactWithTickets | undefined) => void

/** Rounds of a search that other requests disturb. */
const MAX_ROUNDS = 5

/**
 * Changes the contact with an external id, or the one without any that has the email, else creates it. Of two at the
 * same time one creates, the other changes.
 * @param judge sees the contact as it is, undefined when there is none
 * @throws as `createContact` and `updateContact`
 */
export function putContact(
  scope: Scope,
  external_id: string,
  input: ContactByExternalId,
  judge: Judge,
): Promise<{ contact: ContactWithTickets; is_new: boolean }> {
  const { external_id: beside = external_id, ...fields } = input
  if (beside !== external_id) throw fieldError('VALIDATION_ERROR', '/external_id', 'must be that of the path')
  return inTransaction(scope, async (scope) => {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const named = await holdExternalId(scope, 'contacts', external_id)
      const id = named ?? (await withoutExternalId(scope, fields.email))
      if (id) {
        // One that was merged or deleted meanwhile is looked for anew.
        const { contacts } = await lockContacts(scope, [id])
        if (!contacts.has(id) || (!named && contacts.get(id)!.external_id !== null)) continue
        judge(await getContact(scope, id))
        const changes = named ? fields : { ...fields, external_id }
        return { contact: await updateContact(scope, id, changes), is_new: false }
      }
      judge(undefined)
      const created = await insertContact(scope, completed(fields, external_id))
      if (created) return { contact: await publishNew(scope, created), is_new: true }
      if (!(await withoutExternalId(scope, fields.email))) throw fieldError('EMAIL_ALREADY_EXISTS', '/email')
    }
    throw new ApiError('SERVICE_UNAVAILABLE')
  })
}

/** A contact with this address that no other system has a name for yet. */
async function withoutExternalId(scope: Scope, email: string | undefined): Promise<string | undefined> {
  const found = email === undefined ? undefined : await findByAddress(scope, email)
  return found?.external_id === null ? found.id : undefined
}

/** The fields of a new contact. @throws VALIDATION_ERROR for those that are missing */
function completed(fields: Omit<ContactChanges, 'external_id'>, external_id: string): NewContact {
  const missing = (['name', 'email'] as const).filter((field) => fields[field] === undefined)
  if (missing.length > 0) {
    const errors = missing.map((field) => ({ path: `/${field}`, message: 'is required' }))
    throw new ApiError('VALIDATION_ERROR', { errors })
  }
  const given = Object.entries(fields).filter(([name, value]) => value !== null || name === 'company_id')
  return { ...Object.fromEntries(given), external_id } as NewContact
}

/**
 * Deletes a contact. Its tickets stay without a contact, its messages keep their sender, its email is free again.
 * @throws CONTACT_NOT_FOUND, ON_HOLD; SERVICE_UNAVAILABLE as `mergeContacts`
 */
export async function deleteContact(scope: Scope, id: string): Promise<void> {
  const begun = await inTransaction(scope, async (scope) => {
    const { contacts } = await lockContacts(scope, [id])
    if (!contacts.has(id)) throw await contactNotFound(scope, id)
    await requireContactsFree(scope, [id])
    return doOrBegin(scope, { kind: 'delete contact', subject_id: id, source_ids: [] }, deleteSome, [id])
  })
  if (begun && !scope.after_commit) await within(endOf(begun.id))
}

/** A step of a deletion. */
export async function deleteSome(scope: Scope, deed: Deed): Promise<boolean> {
  const { subject_id: id } = deed
  await lockContacts(scope, [id], deed)
  const [contact] = await getContacts(scope, [id])
  if (!contact) return true
  if (!(await takeFromTickets(scope, 'contact', { id, name: contact.name, email: contact.email }))) return false
  if (!(await takeFromParticipants(scope, [id], null))) return false
  await deleteContactRow(scope, id)
  await publish(scope, [{ type: 'contact.deleted', data: contact }])
  return true
}

/** Publishes contacts whose company changed, in the transaction of that change. @param company_id the company before */
export async function publishContacts(scope: Scope, ids: string[], company_id: string | null): Promise<void> {
  if (ids.length === 0) return
  const audience = await findAudience(scope)
  for (let start = 0; start < ids.length; start += PUBLISH_BATCH) {
    const changed = await getContacts(scope, ids.slice(start, start + PUBLISH_BATCH))
    const events = changed.map((data): NewEvent => ({ type: 'contact.updated', data, before: { company_id } }))
    await publish(scope, events, { audience })
  }
}

async function publishNew(scope: Scope, id: string): Promise<ContactWithTickets> {
  const data = await getContact(scope, id)
  await publish(scope, [{ type: 'contact.created', data }])
  return data
}
