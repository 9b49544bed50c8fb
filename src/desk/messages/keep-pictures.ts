/** Keeps the pictures of messages that go as long as others show them. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { moveFiles } from '../turn/turn'

/** An attachment of a message that goes, and a message that shows it, with their tickets. */
type Shown = { attachment_id: string; message_id: string; from_id: string; to_id: string }

/**
 * Gives attachments of messages that go to a message that stays and shows them: a public one before a note, the oldest
 * of these. In the caller's transaction, which then removes or hides the messages.
 * @param going a condition on `messages m`
 */
export async function handOverPictures({ sql, organization_id }: Scope, going: Fragment): Promise<void> {
  const shown = await sql<Shown[]>`
    with going as materialized (
      select m.id, m.ticket_id from messages m where m.organization_id = ${organization_id} and ${going}
    )
    select p.attachment_id, p.message_id, going.ticket_id as from_id, s.ticket_id as to_id
    from going
    join attachments a on a.organization_id = ${organization_id} and a.message_id = going.id
    join message_pictures p on p.organization_id = ${organization_id} and p.attachment_id = a.id
    join messages s on s.organization_id = ${organization_id} and s.id = p.message_id
    join tickets t on t.organization_id = ${organization_id} and t.id = s.ticket_id and t.deleted_at is null
    where not s.id = any(array(select id from going))
    order by s.is_internal, s.id for key share of s`
  const heirs = new Map<string, Shown>()
  for (const one of shown) if (!heirs.has(one.attachment_id)) heirs.set(one.attachment_id, one)
  const files = new Map<string, number>()
  for (const [attachment_id, { message_id, from_id, to_id }] of heirs) {
    await sql`
      update attachments set message_id = ${message_id}
      where organization_id = ${organization_id} and id = ${attachment_id}`
    files.set(from_id, (files.get(from_id) ?? 0) - 1)
    files.set(to_id, (files.get(to_id) ?? 0) + 1)
  }
  await moveFiles({ sql, organization_id }, files)
}
