/** Keeps the pictures of messages that go as long as others show them. */
import { addressKey } from '../../base/address/email'
import { insertRows } from '../../base/db/insert-rows'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { moveFiles } from '../turn/turn'

/** An attachment of a message that goes, and a message that shows it, with their tickets. */
type Shown = { attachment_id: string; message_id: string; from_id: string; to_id: string; from_message_id: string }

/** A message, with the ticket that it was written on, and whose words it has: an erasure finds its files by these. */
export type Owner = {
  source_id: string
  source_ticket_id: string
  contact_id: string | null
  /** Address of a customer who wrote it: see `addressKey`. */
  sender_key: string | null
}

/** As in `message_quotes`. */
type Copied = Owner & { message_id: string; piece: number; attachment_ids: string[] }

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
    select p.attachment_id, p.message_id, going.ticket_id as from_id, s.ticket_id as to_id, going.id as from_message_id
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
  await keepSources({ sql, organization_id }, heirs)
  await moveFiles({ sql, organization_id }, files)
}

/** Notes whose files those are, so that an erasure finds them at their heirs. */
async function keepSources(scope: Pick<Scope, 'sql' | 'organization_id'>, heirs: Map<string, Shown>): Promise<void> {
  const { sql, organization_id } = scope
  if (heirs.size === 0) return
  const given = Map.groupBy(heirs.values(), ({ from_message_id }) => from_message_id)
  const owners = await readOwners(scope, [...given.keys()])
  const own = [...owners].map(([id, owner]): Copied => {
    return { ...owner, message_id: id, piece: 0, attachment_ids: given.get(id)!.map((one) => one.attachment_id) }
  })
  const sources = [...own, ...(await readCopied(scope, [...given.keys()]))]
  for (const { message_id: _, attachment_ids, ...source } of sources) {
    const kept = attachment_ids.filter((id) => heirs.has(id))
    for (const [message_id, ids] of Map.groupBy(kept, (id) => heirs.get(id)!.message_id)) {
      const row = { organization_id, ...source, message_id, piece: 0, attachment_ids: ids }
      await insertRows(
        sql,
        'message_quotes',
        [row],
        sql`on conflict (organization_id, message_id, piece, source_id) do update
          set attachment_ids = message_quotes.attachment_ids || excluded.attachment_ids`,
      )
    }
  }
}

/** Reads the contacts of messages, by their ids. A merge may have moved the messages. */
export async function readOwners(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  ids: string[],
): Promise<Map<string, Owner>> {
  const rows = await sql<(Omit<Owner, 'sender_key'> & { sender_email: string | null })[]>`
    select m.id as source_id, coalesce(m.original_ticket_id, m.ticket_id) as source_ticket_id, t.contact_id,
      case when m.direction = 'inbound' then m.sender_email end as sender_email
    from messages m
    left join tickets t on t.organization_id = ${organization_id} and t.id = coalesce(m.original_ticket_id, m.ticket_id)
    where m.organization_id = ${organization_id} and m.id = any(${ids}::uuid[])`
  return new Map(
    rows.map(({ sender_email, ...owner }) => {
      return [owner.source_id, { ...owner, sender_key: sender_email === null ? null : addressKey(sender_email) }]
    }),
  )
}

/** Reads the sources of what messages quote, and which of their files are copies. */
export function readCopied({ sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>, ids: string[]) {
  return sql<Copied[]>`
    select message_id, piece, source_id, source_ticket_id, contact_id, sender_key, attachment_ids from message_quotes
    where organization_id = ${organization_id} and message_id = any(${ids}::uuid[])`
}
