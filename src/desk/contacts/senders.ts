/**
 * Finds the contacts of people who write by email, or creates them: many at a time, with as few statements as for one.
 */

import { codePoints, firstCharacters } from '../../base/address/characters'
import { domainsOf, ownersOf } from '../../base/address/domains'
import { addressKey } from '../../base/address/email'
import { withChangeTime } from '../../base/db/change-time'
import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { DeadlockError, violates } from '../../base/db/violations'
import { ApiError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { type Audience, type NewEvent, publish } from '../../delivery/webhooks/publish'
import { requireNotErased } from '../deeds/deeds'
import { type ContactRef, getContacts } from './queries'
import { searchText } from './search-text'

type Sender = { name: string; email: string }
type KnownContact = ContactRef & { email_key: string }

const MAX_NAME = 255
/** A second round is needed when another request has made a contact since, a third when one has removed it again. */
const MAX_ROUNDS = 5

/**
 * Finds the contact of each sender, or creates it, in the order given. Senders with one address get one contact, also
 * in calls at the same time.
 * @param senders `email` is compared by its key; a long name is cut, an empty one is replaced by the local part
 * @param audience of the organization, when the caller has read them already
 */
export function findOrCreateContacts(scope: Scope, senders: Sender[], audience?: Audience): Promise<ContactRef[]> {
  return inTransaction(scope, async (scope) => {
    const known = new Map<string, KnownContact>()
    const missing = new Map(senders.toReversed().map((sender) => [addressKey(sender.email), sender]))
    const note = (contacts: KnownContact[]) => {
      for (const contact of contacts) {
        known.set(contact.email_key, contact)
        missing.delete(contact.email_key)
      }
    }
    for (let round = 0; missing.size > 0; round++) {
      if (round === MAX_ROUNDS) throw new ApiError('SERVICE_UNAVAILABLE')
      note(await findContacts(scope, [...missing.keys()]))
      if (missing.size > 0) note(await createContacts(scope, [...missing.values()], audience))
    }
    return senders.map((sender) => {
      const { email_key, ...contact } = known.get(addressKey(sender.email))!
      return contact
    })
  })
}

/** @throws SERVICE_UNAVAILABLE for one that is being erased: its mail waits, and becomes a new contact's */
async function findContacts(scope: Scope, keys: string[]): Promise<KnownContact[]> {
  const { sql, organization_id } = scope
  const contacts = await sql<(KnownContact & { deed_id: string | null })[]>`
    select c.deed_id, c.id, c.name, c.email, c.company_id, a.email_key from contact_addresses a
    join contacts c on c.organization_id = ${organization_id} and c.id = a.contact_id
    where a.organization_id = ${organization_id} and a.email_key = any(${keys}::text[])`
  await requireNotErased(
    scope,
    contacts.map(({ deed_id }) => deed_id),
  )
  return contacts.map(({ deed_id: _, ...contact }) => contact)
}

/**
 * @returns those whose address was not taken meanwhile
 * @throws DeadlockError when another contact got it beside its own: the transaction then runs again
 */
async function createContacts(scope: Scope, senders: Sender[], audience?: Audience): Promise<KnownContact[]> {
  const { sql, organization_id } = scope
  const [companyOf, updated_at] = await withChangeTime(sql, findCompanies(scope, senders))
  const rows = senders.map((sender) => {
    const contact = { name: nameOf(sender), email: sender.email }
    const { email } = contact
    const keys = {
      email_key: addressKey(email),
      company_id: companyOf(email),
      search: searchText({ name: contact.name, emails: [email] }),
    }
    return { organization_id, id: newId(), ...contact, ...keys, updated_at }
  })
  // Rows are written in one order, so that two transactions never wait for each other.
  const created = await insertRows<KnownContact>(
    sql,
    'contacts',
    rows.toSorted((a, b) => (a.email_key < b.email_key ? -1 : 1)),
    sql`on conflict do nothing returning id, name, email, company_id, email_key`,
  ).catch((error) => {
    throw violates(error, 'contacts_email') ? new DeadlockError('a contact got the address meanwhile') : error
  })
  const ids = created.map(({ id }) => id)
  if (ids.length > 0) await publishCreated(scope, ids, audience)
  return created
}

/** Finds the companies by the domains, and keeps them from being deleted until the caller's transaction ends. */
async function findCompanies({ sql, organization_id }: Scope, senders: Sender[]) {
  const domains = [...new Set(senders.flatMap(({ email }) => domainsOf(email)))]
  const candidates = await sql<{ id: string; domains: string[] }[]>`
    select id, domains from companies
    where organization_id = ${organization_id} and domains && ${domains}::text[]
    order by id for key share`
  return ownersOf(candidates)
}

async function publishCreated(scope: Scope, ids: string[], audience?: Audience): Promise<void> {
  const created = await getContacts(scope, ids)
  const events = created.map((data): NewEvent => ({ type: 'contact.created', data }))
  await publish(scope, events, { audience })
}

function nameOf({ name, email }: Sender): string {
  const given = name.trim() || email.split('@')[0]!
  return codePoints(given) > MAX_NAME ? firstCharacters(given, MAX_NAME).trim() : given
}
