/** The addresses of contacts: which ones a change leaves, and the rows of those that are not primary. */
import { addressKey } from '../../base/address/email'
import { insertRows } from '../../base/db/insert-rows'
import { fieldError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { MAX_ADDRESSES } from './model'

/** An address; its key is not `addressKey` in a row from before there were keys, whose address another contact has. */
export type Address = { email: string; email_key: string }

/** The addresses of contacts, by contact, the primary ones first. */
export async function addressesOf(
  { sql, organization_id }: Scope,
  contact_ids: string[],
): Promise<Map<string, Address[]>> {
  const rows = await sql<(Address & { contact_id: string })[]>`
    select a.contact_id, a.email, a.email_key from contact_addresses a
    join contacts c on c.organization_id = ${organization_id} and c.id = a.contact_id
    where a.organization_id = ${organization_id} and a.contact_id = any(${contact_ids}::uuid[])
    order by a.email_key = c.email_key desc, a.position, a.email_key`
  return Map.groupBy(rows, ({ contact_id }) => contact_id)
}

/**
 * The addresses of a contact after a change, each once, the primary one first. `emails` are all of them; without it
 * `email` replaces the primary one, or raises one of the others.
 * @param before those that it has, none of a new contact
 * @throws VALIDATION_ERROR for too many
 */
export function addressesAfter(before: Address[], { email, emails }: { email?: string; emails?: string[] }): Address[] {
  const kept = before.map((one) => one.email)
  const keyOf = (text: string) => before.find((one) => one.email === text)?.email_key ?? addressKey(text)
  const isOther = before.slice(1).some(({ email_key }) => email !== undefined && keyOf(email) === email_key)
  const others = emails ?? (email === undefined || isOther ? kept : kept.slice(1))
  const after = new Map<string, Address>()
  for (const text of email === undefined ? others : [email, ...others]) {
    const email_key = keyOf(text)
    if (!after.has(email_key)) after.set(email_key, { email: text, email_key })
  }
  if (after.size > MAX_ADDRESSES) {
    throw fieldError('VALIDATION_ERROR', '/emails', `must be at most ${MAX_ADDRESSES} with the primary address`)
  }
  return [...after.values()]
}

/**
 * Writes the addresses of a contact, in the caller's transaction that has locked or made it and has written the primary
 * one.
 * @param after all of them, the primary one first
 * @throws EMAIL_ALREADY_EXISTS
 */
export async function writeAddresses(scope: Scope, contact_id: string, after: Address[]): Promise<void> {
  const { sql, organization_id } = scope
  await sql`
    delete from contact_addresses
    where organization_id = ${organization_id} and contact_id = ${contact_id}
      and email_key <> all(${after.map(({ email_key }) => email_key)}::text[])`
  const rows = after.slice(1).map((one, position) => ({ organization_id, contact_id, position, ...one }))
  // In one order, so that two transactions never wait for each other.
  const written = await insertRows<{ email_key: string }>(
    sql,
    'contact_addresses',
    rows.toSorted((a, b) => (a.email_key < b.email_key ? -1 : 1)),
    sql`
      on conflict (organization_id, email_key) do update set email = excluded.email, position = excluded.position
        where contact_addresses.contact_id = excluded.contact_id
      returning email_key`,
  )
  if (written.length < rows.length) throw fieldError('EMAIL_ALREADY_EXISTS', '/emails')
}
