/** Makes and ends tokens of customers. */
import { audit } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { newId } from '../../base/db/columns'
import { sweep } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { ApiError, fieldError } from '../../base/errors'
import { afterCommit, inTransaction, type Scope } from '../../base/scope'
import { forgetCustomer, newCustomerToken } from '../../http/admission/customer-tokens'
import { hashKey } from '../../http/admission/key-format'
import { isPerson } from '../../http/request/permissions'
import { contactNotFound } from '../contacts/queries'
import { busy } from '../deeds/deeds'
import type { ContactToken, NewContactToken } from './model'

/** Makes a token of a contact. @throws CONTACT_NOT_FOUND; VALIDATION_ERROR for the scope of a company without one */
export function createToken(scope: Scope, contact_id: string, input: NewContactToken): Promise<ContactToken> {
  const { ttl_seconds = 900, scope: shows = 'own' } = input
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id, actor } = scope
    const [contact] = await sql<{ company_id: string | null; deed_id: string | null }[]>`
      select company_id, deed_id from contacts where organization_id = ${organization_id} and id = ${contact_id} for share`
    if (!contact) throw await contactNotFound(scope, contact_id)
    if (contact.deed_id !== null) throw busy()
    if (shows === 'company' && contact.company_id === null) {
      throw fieldError('VALIDATION_ERROR', '/scope', 'company needs a contact that has one')
    }
    const [id, token] = [newId(), newCustomerToken(organization_id)]
    const [api_key_id, user_id] = isPerson(scope) ? [null, actor.id] : [actor.id, null]
    const [row] = await sql<{ expires_at: string }[]>`
      insert into contact_tokens (organization_id, id, contact_id, token_hash, scope, api_key_id, user_id, expires_at)
      values (${organization_id}, ${id}, ${contact_id}, ${hashKey(token)}, ${shows}, ${api_key_id}, ${user_id},
        now() + make_interval(secs => ${ttl_seconds}))
      returning expires_at`
    const { expires_at } = row!
    const changes = changesOf(null, { contact_id, scope: shows, expires_at })
    await audit(scope, { action: 'contact_token.created', resource: { type: 'contact_token', id }, changes })
    return { id, token, scope: shows, expires_at }
  })
}

/** Ends a token of a contact, or all of them. @throws CONTACT_NOT_FOUND, CONTACT_TOKEN_NOT_FOUND */
export async function revokeTokens(scope: Scope, contact_id: string, id?: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const [contact] = await sql`
      select 1 from contacts where organization_id = ${organization_id} and id = ${contact_id}`
    if (!contact) throw await contactNotFound(scope, contact_id)
    const ended = await sql<{ id: string; scope: string }[]>`
      delete from contact_tokens
      where organization_id = ${organization_id} and contact_id = ${contact_id} ${id ? sql`and id = ${id}` : sql``}
      returning id, scope`
    if (id && ended.length === 0) throw new ApiError('CONTACT_TOKEN_NOT_FOUND')
    for (const { id, scope: shows } of ended) {
      const changes = changesOf({ contact_id, scope: shows }, null)
      await audit(scope, { action: 'contact_token.revoked', resource: { type: 'contact_token', id }, changes })
    }
    afterCommit(scope, () => forgetCustomer(contact_id))
  })
}

/** Removes tokens that ended an hour ago. For a background job, in any number of processes. @returns how many */
export function removeOldTokens(connection: Connection): Promise<number> {
  const is_old = connection.sql`expires_at < now() - interval '1 hour'`
  return sweep(connection, { table: 'contact_tokens', is_old, order: 'expires_at' })
}
