/** Gives uploads to the messages and drafts that use them. */
import type { Fragment } from '../../base/db/transact'
import { fieldError, unknownIds } from '../../base/errors'
import { type Scope, together } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { isCustomer } from '../../http/request/permissions'
import type { Scan } from './scan'

/**
 * Gives uploads to a message, in the caller's transaction.
 * @throws ATTACHMENT_NOT_FOUND (422) naming those that are unknown, used by another message, or a contact's: these only
 *   the contact itself may use, and no others; ATTACHMENT_INFECTED
 */
export function claimAttachments(scope: Scope, message_id: string, given: string[]): Promise<void> {
  return claimForEach(scope, [{ message_id, given }])
}

/** As `claimAttachments`, for several messages by one statement. */
export async function claimForEach(scope: Scope, messages: { message_id: string; given: string[] }[]): Promise<void> {
  const { sql, organization_id } = scope
  const wanted = messages.flatMap(({ message_id, given }) => asIds(given).map((id) => ({ id, message_id })))
  const named = messages.flatMap(({ given }) => given)
  if (named.length === 0) return
  const claimed = await sql<Claimed[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(wanted)}::text::json) as x (id uuid, message_id uuid)
    )
    update attachments a set message_id = given.message_id from given
    where a.organization_id = ${organization_id} and a.id = given.id and a.message_id is null and a.draft_id is null
      and ${mayUse(scope)}
    returning a.id, a.scan, a.uploader_id`
  requireAll(named, claimed)
}

/**
 * Gives a draft, which the caller's transaction has locked, these uploads and no others. Those that it gives up are
 * unused again.
 * @throws ATTACHMENT_NOT_FOUND (422) naming those that are unknown, used by something else, or a contact's;
 *   ATTACHMENT_INFECTED
 */
export async function claimForDraft({ sql, organization_id }: Scope, draft_id: string, given: string[]): Promise<void> {
  const ids = asIds(given)
  const [, claimed] = await together([
    sql`
      update attachments set draft_id = null
      where organization_id = ${organization_id} and draft_id = ${draft_id} and not id = any(${ids}::uuid[])`,
    sql<Claimed[]>`
      update attachments set draft_id = ${draft_id}
      where organization_id = ${organization_id} and id = any(${ids}::uuid[]) and message_id is null
        and (draft_id is null or draft_id = ${draft_id}) and not is_by_contact
      returning id, scan, uploader_id`,
  ])
  requireAll(given, claimed)
}

/**
 * Holds uploads that a message is to use until the transaction ends: for work that a refusal must not follow.
 * @throws ATTACHMENT_NOT_FOUND as `claimAttachments`
 */
export async function holdUploads(scope: Scope, given: string[]): Promise<void> {
  if (given.length === 0) return
  const { sql, organization_id } = scope
  const held = await sql<Claimed[]>`
    select a.id, a.scan, a.uploader_id from attachments a
    where a.organization_id = ${organization_id} and a.id = any(${asIds(given)}::uuid[]) and a.message_id is null
      and a.draft_id is null and ${mayUse(scope)}
    order by a.id for no key update`
  requireAll(given, held)
}

/** A condition on `attachments a`: uploads of contacts are for the contact itself. */
export function mayUse({ sql, actor }: Scope): Fragment {
  return isCustomer({ actor }) ? sql`a.is_by_contact and a.uploader_id = ${actor.id}` : sql`not a.is_by_contact`
}

type Claimed = { id: string; scan: Scan | null; uploader_id: string | null }

/** Files of an email, which nobody uploaded, are filed whatever they hold. */
function requireAll(named: string[], claimed: Claimed[]): void {
  const known = new Set(claimed.map(({ id }) => id))
  const unknown = [...new Set(named)].filter((id) => !known.has(id.toLowerCase()))
  if (unknown.length > 0) throw unknownIds('ATTACHMENT_NOT_FOUND', '/attachment_ids', unknown)
  const infected = claimed.filter(({ scan, uploader_id }) => scan === 'infected' && uploader_id !== null)
  if (infected.length === 0) return
  const ids = infected.map(({ id }) => id)
  throw fieldError('ATTACHMENT_INFECTED', '/attachment_ids', undefined, { ids })
}
