/** Keeps one active mailbox of an organization its default. */
import { fieldError } from '../errors'
import type { Scope } from '../scope'

/** Lets one change of an organization's mailboxes go on at a time, because they share the default. */
export async function lockMailboxes({ sql, organization_id }: Scope): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('mailboxes ' || ${organization_id}, 0))`
}

/**
 * Makes the mailbox `wanted` the default; without it keeps an active default, else takes the oldest active mailbox.
 * @throws VALIDATION_ERROR when `wanted` is not active
 */
export async function settleDefault({ sql, organization_id }: Scope, wanted: string | null): Promise<void> {
  const [chosen] = await sql<{ id: string }[]>`
    select id from mailboxes where organization_id = ${organization_id}
    order by active desc, coalesce(id = ${wanted}::uuid, false) desc, is_default desc, id limit 1`
  if (wanted && chosen?.id !== wanted) throw fieldError('VALIDATION_ERROR', '/is_default', 'must be an active mailbox')
  if (!chosen) return
  await sql`
    update mailboxes set is_default = false
    where organization_id = ${organization_id} and is_default and id <> ${chosen.id}`
  await sql`
    update mailboxes set is_default = true
    where organization_id = ${organization_id} and id = ${chosen.id} and not is_default`
}
