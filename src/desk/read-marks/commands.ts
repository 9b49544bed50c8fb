/**
 * Sets and removes read marks of a person: how far a ticket is read, on every device. They are nobody else's: no event,
 * activity or audit entry tells of them, only the person's own streams hear.
 */
import { withChangeTime } from '../../base/db/change-time'
import { ZERO_ID } from '../../base/db/columns'
import { unknownIds } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { notice } from '../../delivery/events/notices'
import { requirePerson } from '../../http/request/permissions'
import { keepTicket } from '../timeline/require-ticket'

/**
 * Marks a ticket as read by the caller up to a message or note, the newest by default. The mark never goes back.
 * @param path of the message's id, for faults
 * @throws TICKET_NOT_FOUND, TICKET_MERGED, MESSAGE_NOT_FOUND
 */
export function markRead(scope: Scope, ticket_id: string, given?: string, path = '/message_id'): Promise<void> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const { id: user_id } = requirePerson(scope)
    const [, marked_at] = await withChangeTime(sql, keepTicket(scope, ticket_id))
    const { message_id, unread } = await findMarked(scope, ticket_id, user_id, given, path)
    const { count } = await sql`
      insert into read_marks (organization_id, ticket_id, user_id, message_id, marked_at, unread)
      values (${organization_id}, ${ticket_id}, ${user_id}, ${message_id}, ${marked_at}, ${unread})
      on conflict (organization_id, ticket_id, user_id) do update
      set message_id = excluded.message_id, marked_at = excluded.marked_at, unread = excluded.unread
      where read_marks.message_id is null and excluded.message_id is not null
        or read_marks.message_id < excluded.message_id
        or read_marks.message_id = excluded.message_id and read_marks.unread and not excluded.unread`
    if (count > 0) notice(scope, { kind: 'read', ticket_id, only: user_id })
  })
}

type Marked = { message_id: string | null; unread: boolean }

/** The message that is marked, and if somebody else has written since. @throws MESSAGE_NOT_FOUND */
async function findMarked(
  { sql, organization_id }: Scope,
  ticket_id: string,
  user_id: string,
  given: string | undefined,
  path: string,
): Promise<Marked> {
  if (given === undefined) {
    const [newest] = await sql<{ id: string }[]>`
      select id from messages where organization_id = ${organization_id} and ticket_id = ${ticket_id}
      order by id desc limit 1`
    return { message_id: newest?.id ?? null, unread: false }
  }
  const [id = ZERO_ID] = asIds([given])
  const [found] = await sql<{ unread: boolean }[]>`
    select exists (
      select 1 from messages n
      where n.organization_id = ${organization_id} and n.ticket_id = ${ticket_id} and n.id > ${id}
        and n.author_id is distinct from ${user_id}
    ) as unread
    from messages m where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id} and m.id = ${id}`
  if (!found) throw unknownIds('MESSAGE_NOT_FOUND', path, [given])
  return { message_id: id, unread: found.unread }
}

/**
 * Marks a ticket as unread by the caller from the newest message or note of somebody else on. Without one nothing is
 * unread.
 * @throws TICKET_NOT_FOUND, TICKET_MERGED
 */
export function markUnread(scope: Scope, ticket_id: string): Promise<void> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const { id: user_id } = requirePerson(scope)
    const [, marked_at] = await withChangeTime(sql, keepTicket(scope, ticket_id))
    const [others] = await sql<{ before_id: string | null }[]>`
      select (
        select b.id from messages b
        where b.organization_id = ${organization_id} and b.ticket_id = ${ticket_id} and b.id < m.id
        order by b.id desc limit 1
      ) as before_id
      from messages m
      where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id}
        and m.author_id is distinct from ${user_id}
      order by m.id desc limit 1`
    if (!others) return
    await sql`
      insert into read_marks (organization_id, ticket_id, user_id, message_id, marked_at, unread)
      values (${organization_id}, ${ticket_id}, ${user_id}, ${others.before_id}, ${marked_at}, true)
      on conflict (organization_id, ticket_id, user_id) do update
      set unread = excluded.unread, message_id = case
        when read_marks.message_id is null or read_marks.message_id < excluded.message_id then read_marks.message_id
        else excluded.message_id
      end`
    notice(scope, { kind: 'read', ticket_id, only: user_id })
  })
}
