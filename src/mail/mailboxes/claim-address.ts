/** Claims the address of a mailbox when it is made or changed, and gives it up when it is deleted. */
import { addressKey } from '../../base/address/email'
import { config } from '../../base/config'
import { fieldError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { isVerified } from '../../desk/messages/mailbox-address'
import { keepAddress, settleAddresses } from './claims'
import { settleDefault } from './default-mailbox'
import { deleteSignIn } from './sign-in-settings'

/**
 * Claims the address of a mailbox. With MAILBOX_DOMAIN_CHECK a mailbox whose domain is not verified may stay without
 * its address: refusing it would tell which addresses others have.
 * @param former the address that it had before
 * @throws EMAIL_ALREADY_EXISTS
 */
export async function claimAddress(scope: Scope, id: string, address: string, former?: string): Promise<void> {
  const { sql, organization_id } = scope
  await settleMailboxes(scope, [address, former ?? address].map(addressKey))
  const [mailbox] = await sql<{ has_address: boolean; is_verified: boolean }[]>`
    select has_address, ${isVerified(sql)} as is_verified from mailboxes m
    where m.organization_id = ${organization_id} and m.id = ${id}`
  const { has_address, is_verified } = mailbox!
  if (!has_address && (is_verified || config.MAILBOX_DOMAIN_CHECK === 'off')) {
    throw fieldError('EMAIL_ALREADY_EXISTS', '/address')
  }
}

/** Deletes a mailbox, which tickets and the ledger forget. Its address stays the organization's for a while. */
export async function deleteWithAddress(scope: Scope, id: string, address: string): Promise<void> {
  const { sql, organization_id } = scope
  await keepAddress(scope, id)
  // On a cluster no foreign key clears them. Hidden tickets have the mailbox too.
  await sql`update tickets set mailbox_id = null where organization_id = ${organization_id} and mailbox_id = ${id}`
  await sql`
    update inbound_messages set mailbox_id = null where organization_id = ${organization_id} and mailbox_id = ${id}`
  await deleteSignIn(scope, id)
  await sql`delete from mailboxes where organization_id = ${organization_id} and id = ${id}`
  await settleMailboxes(scope, [addressKey(address)])
}

/**
 * Decides who has the addresses, and which mailbox is the default where that changed.
 * @param organizations in which mailboxes may have become good for something, or for nothing, in another way
 */
export async function settleMailboxes(
  { sql }: Scope,
  address_keys: string[],
  organizations: string[] = [],
): Promise<void> {
  const changed = await settleAddresses({ sql }, address_keys)
  for (const organization_id of new Set([...organizations, ...changed]))
    await settleDefault({ sql, organization_id }, null)
}
