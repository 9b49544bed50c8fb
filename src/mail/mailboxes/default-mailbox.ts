/** Keeps one active mailbox of an organization its default. */

import { fieldError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { mayUseAddress } from '../../desk/messages/mailbox-address'

type MailboxScope = Pick<Scope, 'sql' | 'organization_id'>

/**
 * Lets one change of mailboxes or their domains go on at a time in the whole service, because organizations compete for
 * addresses, and the mailboxes of one share the default. Such changes are rare and take milliseconds.
 */
export async function lockMailboxes({ sql }: Pick<Scope, 'sql'>): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('mailboxes', 0))`
}

/**
 * Makes the mailbox `wanted` the default; without it keeps a default that can be used, else takes the oldest mailbox
 * that can: an active one that may use its address.
 * @throws VALIDATION_ERROR when another mailbox can be used and `wanted` cannot
 */
export async function settleDefault({ sql, organization_id }: MailboxScope, wanted: string | null): Promise<void> {
  const [chosen] = await sql<{ id: string }[]>`
    select m.id from mailboxes m where m.organization_id = ${organization_id}
    order by active and ${mayUseAddress(sql)} desc, active desc, coalesce(m.id = ${wanted}::uuid, false) desc, is_default desc, m.id
    limit 1`
  if (wanted && chosen?.id !== wanted) {
    throw fieldError('VALIDATION_ERROR', '/is_default', 'must be an active mailbox that may use its address')
  }
  if (!chosen) return
  await sql`
    update mailboxes set is_default = false
    where organization_id = ${organization_id} and is_default and id <> ${chosen.id}`
  await sql`
    update mailboxes set is_default = true
    where organization_id = ${organization_id} and id = ${chosen.id} and not is_default`
}
