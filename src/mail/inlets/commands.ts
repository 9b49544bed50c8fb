/** Opens and closes the inlet of a mailbox. */
import { config } from '../../base/config'
import { newId } from '../../base/db/columns'
import { fieldError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { encrypt } from '../../base/secrets'
import { auditUpdated, getMasked } from '../mailboxes/audit-mailbox'
import { lockMailboxes } from '../mailboxes/default-mailbox'
import { faultOfKey, type Inlet, type NewInlet } from './model'
import { hashToken, newToken } from './token'

/** How long the URL works that was there before: providers are changed by hand. */
const FORMER_HOURS = 24

/**
 * Opens an inlet, whose URL is told only here. The one before works 24 hours more, with its provider and key.
 * @throws MAILBOX_NOT_FOUND, VALIDATION_ERROR for a key that the provider cannot have
 */
export async function createInlet(scope: Scope, mailbox_id: string, input: NewInlet): Promise<Inlet> {
  const { provider, signing_key } = input
  const token = newToken(provider)
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await lockMailboxes(scope)
    const before = await getMasked(scope, mailbox_id)
    // 404 comes before what is wrong with the body.
    const fault = faultOfKey(input)
    if (fault) throw fieldError('VALIDATION_ERROR', '/signing_key', fault)
    await sql`
      delete from inlets
      where organization_id = ${organization_id} and mailbox_id = ${mailbox_id} and ends_at <= now()`
    await sql`
      update inlets set ends_at = now() + make_interval(hours => ${FORMER_HOURS})
      where organization_id = ${organization_id} and mailbox_id = ${mailbox_id} and ends_at is null`
    const id = newId()
    const key = signing_key ? encrypt(signing_key, { column: 'inlets.signing_key', organization_id, id }) : null
    await sql`
      insert into inlets (organization_id, id, mailbox_id, provider, token_hash, signing_key)
      values (${organization_id}, ${id}, ${mailbox_id}, ${provider}, ${hashToken(token)}, ${key})`
    await auditUpdated(scope, before, {}, ['inlet'])
  })
  return { provider, url: `${config.BASE_URL}/api/v1/inbound/${token}` }
}

/** Ends the inlet of a mailbox, and the one before, at once. @throws MAILBOX_NOT_FOUND */
export async function deleteInlet(scope: Scope, mailbox_id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await lockMailboxes(scope)
    const before = await getMasked(scope, mailbox_id)
    await sql`delete from inlets where organization_id = ${organization_id} and mailbox_id = ${mailbox_id}`
    await auditUpdated(scope, before, {})
  })
}
