/** Customers for tests: contacts who call the API with a token. */
import { newId } from '../../src/base/db/columns'
import { insertRows } from '../../src/base/db/insert-rows'
import { connectionOf } from '../../src/base/db/pool'
import { newCustomerToken } from '../../src/http/admission/customer-tokens'
import { hashKey } from '../../src/http/admission/key-format'
import { type Client, clientWithToken, type Organization } from './api'
import { createContact } from './factories'

export type Customer = Client & {
  token: string
  token_id: string
  contact: { id: string; name: string; email: string }
}

/** Makes a token over HTTP and returns its client. */
export async function tokenOf(
  admin: Client,
  contact: Customer['contact'],
  scope: 'own' | 'company' = 'own',
): Promise<Customer> {
  const answer = await admin.post(`/contacts/${contact.id}/tokens`, { scope })
  if (answer.status !== 201) throw new Error(`a token was answered ${answer.status} ${answer.text}`)
  const { id, token } = answer.body.data
  return { ...clientWithToken(token), token, token_id: id, contact }
}

/** A new contact with a token. */
export async function createCustomer(
  admin: Client,
  { scope, ...fields }: Record<string, unknown> & { scope?: 'own' | 'company' } = {},
): Promise<Customer> {
  return tokenOf(admin, await createContact(admin, fields), scope)
}

/**
 * Makes customers of a company, straight into the database, who take turns: each has few requests in a minute.
 * @returns a client whose requests show the tickets of the company
 */
export async function manyCustomers(
  { id: organization_id, admin }: Organization,
  company_id: string,
  count: number,
): Promise<Client> {
  const { sql } = connectionOf(organization_id)
  const made = Array.from({ length: count }, () => ({ id: newId(), token: newCustomerToken(organization_id) }))
  const contacts = made.map(({ id }) => {
    const email = `${id}@customer.example`
    return { organization_id, id, name: 'Customer', email, email_key: email, search: email, company_id }
  })
  await insertRows(sql, 'contacts', contacts)
  const tokens = made.map(({ id, token }) => ({
    ...{ organization_id, id, contact_id: id, token_hash: hashKey(token), scope: 'company', user_id: admin.user_id },
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  }))
  await insertRows(sql, 'contact_tokens', tokens)
  let sent = 0
  const next: Client['send'] = (...request) => clientWithToken(made[sent++ % count]!.token).send(...request)
  return {
    ...clientWithToken(''),
    send: next,
    get: (path, headers) => next('GET', path, undefined, headers),
    post: (path, body, headers) => next('POST', path, body, headers),
  }
}

/** True for a route that takes customers' tokens and nothing else. */
export function isForCustomers({ path }: { path: string }): boolean {
  return path.startsWith('/my/')
}
