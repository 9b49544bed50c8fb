/** Merges contacts that are one person. It cannot be undone. */
import { audit } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { insertRows } from '../../base/db/insert-rows'
import { ApiError, fieldError, unknownIds } from '../../base/errors'
import { inTransaction, type Scope, together } from '../../base/scope'
import { isUuid } from '../../base/shapes/ids'
import { publish } from '../../delivery/webhooks/publish'
import type { Custom } from '../custom/model'
import { isWithinLimits } from '../custom/values'
import { type Deed, doOrBegin, endOf, within } from '../deeds/deeds'
import { requireContactsFree } from '../holds/holds'
import { type Address, addressesAfter } from './contact-addresses'
import { type ContactFields, lockContacts, writeContact } from './contact-rows'
import type { ContactMerge, ContactWithTickets } from './model'
import { contactNotFound, getContact, getContacts } from './queries'
import { giveTicketsTo, takeFromParticipants } from './tickets'

/**
 * Makes the addresses, tickets and participations of other contacts those of this one, and deletes the others. What it
 * lacks it gets from them, in the order given. Tickets keep their company.
 * @throws CONTACT_NOT_FOUND; ON_HOLD for a source; VALIDATION_ERROR for itself, and for too many addresses or custom
 *   fields; SERVICE_UNAVAILABLE while another deed works on one of them, and when it takes long: it goes on
 */
export async function mergeContacts(
  scope: Scope,
  id: string,
  { source_ids }: ContactMerge,
): Promise<ContactWithTickets> {
  const ids = [...new Set(source_ids.map((source) => (isUuid(source) ? source.toLowerCase() : source)))]
  if (ids.includes(id)) throw fieldError('VALIDATION_ERROR', '/source_ids', 'must not have the contact itself')
  const begun = await inTransaction(scope, async (scope) => {
    const { contacts } = await lockContacts(scope, [id, ...ids.filter(isUuid)])
    if (!contacts.has(id)) throw await contactNotFound(scope, id)
    const missing = ids.filter((source) => !contacts.has(source))
    if (missing.length > 0) throw unknownIds('CONTACT_NOT_FOUND', '/source_ids', missing)
    await requireContactsFree(scope, ids)
    const resource = { type: 'contact', id } as const
    await audit(scope, { action: 'contact.merged', resource, changes: changesOf(null, { source_ids: ids }) })
    const deed = { kind: 'merge contacts', subject_id: id, source_ids: ids } as const
    return doOrBegin(scope, deed, mergeSome, [id, ...ids])
  })
  if (begun) await within(endOf(begun.id))
  return getContact(scope, id)
}

/** A step of a merge. The last one writes the target, deletes the sources, and publishes both. */
export async function mergeSome(scope: Scope, deed: Deed): Promise<boolean> {
  const { subject_id: id, source_ids: ids } = deed
  const { contacts, locked_at } = await lockContacts(scope, [id, ...ids], deed)
  const before = contacts.get(id)
  const sources = ids.flatMap((source) => contacts.get(source) ?? [])
  if (!before || sources.length < ids.length) return true
  const after = merged(before, sources)
  const last_states = await getContacts(scope, ids)
  const target = { id, name: before.name, email: before.addresses[0]!.email }
  if (!(await giveTicketsTo(scope, last_states, target))) return false
  if (!(await takeFromParticipants(scope, ids, id))) return false
  await replaceRows(scope, id, ids, after.external_id)
  await writeContact(scope, id, before, after, { locked_at })
  const contact = await getContact(scope, id)
  const by_id = new Map(last_states.map((source) => [source.id, source]))
  await publish(scope, [
    { type: 'contact.updated', data: contact },
    ...ids.map((source) => {
      return { type: 'contact.deleted', data: { ...by_id.get(source)!, merged_into: { id } } } as const
    }),
  ])
  return true
}

/** The contact after others were merged into it. @throws VALIDATION_ERROR for too many addresses or fields */
function merged(target: ContactFields, sources: ContactFields[]): ContactFields {
  const all = [target, ...sources]
  const first = <Field extends 'phone' | 'company_id' | 'notes' | 'external_id'>(field: Field) =>
    all.map((contact) => contact[field]).find((value) => value !== null) ?? null
  return {
    name: target.name,
    phone: first('phone'),
    company_id: first('company_id'),
    notes: first('notes'),
    external_id: first('external_id'),
    custom: allFields(all),
    addresses: allAddresses(all),
  }
}

/** The fields of the first contact, and what it lacks from the others in their order. */
function allFields(contacts: ContactFields[]): Custom {
  const all: Custom = Object.assign({}, ...contacts.toReversed().map(({ custom }) => custom))
  if (!isWithinLimits(all)) throw fieldError('VALIDATION_ERROR', '/source_ids', 'have too many custom fields')
  return all
}

function allAddresses(contacts: ContactFields[]): Address[] {
  const all = contacts.flatMap(({ addresses }) => addresses)
  try {
    return addressesAfter(all, { emails: all.map(({ email }) => email) })
  } catch (error) {
    throw error instanceof ApiError ? fieldError('VALIDATION_ERROR', '/source_ids', 'have too many addresses') : error
  }
}

/**
 * Deletes the rows of the sources, whose tickets have gone to the target, and notes what they are now. Only after the
 * tickets they are locked `for update`: participants are added by those who have locked a ticket first.
 * @param external_id the target's from now on: those of sources that it does not take go on to name it
 */
async function replaceRows(scope: Scope, id: string, sources: string[], external_id: string | null): Promise<void> {
  const { sql, organization_id } = scope
  const these = sql`organization_id = ${organization_id} and id = any(${sources}::uuid[])`
  const ofThese = sql`organization_id = ${organization_id} and contact_id = any(${sources}::uuid[])`
  const [names] = await together([
    sql<{ id: string; external_id: string | null }[]>`
      select id, external_id from contacts where ${these} order by id for update`,
    sql`update participants set contact_id = ${id} where ${ofThese}`,
    sql`update contact_addresses set contact_id = ${id} where ${ofThese}`,
    sql`update merged_contacts set contact_id = ${id} where ${ofThese}`,
    sql`delete from contacts where ${these}`,
  ])
  const rows = names.map((source) => ({
    id: source.id,
    external_id: source.external_id === external_id ? null : source.external_id,
  }))
  await insertRows(
    sql,
    'merged_contacts',
    rows.map((row) => ({ organization_id, contact_id: id, ...row })),
  )
}
