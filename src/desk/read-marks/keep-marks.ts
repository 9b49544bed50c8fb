/**
 * Keeps read marks true while messages are written, moved and deleted: `unread` says that somebody else has written
 * behind the mark, or that messages of others came by a merge. All of it happens in transactions that have locked the
 * tickets, as those do that set a mark (`commands.ts`).
 */
import { isOneOf } from '../../base/db/few-rows'
import { insertRows } from '../../base/db/insert-rows'
import { type Scope, together } from '../../base/scope'

type Tenant = Pick<Scope, 'sql' | 'organization_id'>

/** A new message. `author_id`: the member who wrote it. */
type Written = { ticket_id: string; id: string; author_id?: string | null | undefined }

/** Marks what was written as read by its authors, and the tickets as unread by everybody else who has a mark. */
export async function markWritten(tenant: Tenant, messages: Written[]): Promise<void> {
  const by_author = Map.groupBy(messages, ({ author_id }) => author_id ?? null)
  await together([
    ...[...by_author].map(([author_id, written]) => markUnreadByOthers(tenant, author_id, written)),
    markOwn(tenant, messages),
  ])
}

/** Imports bring old messages too: one that stands before the mark changes nothing. */
async function markUnreadByOthers(
  { sql, organization_id }: Tenant,
  author_id: string | null,
  written: Written[],
): Promise<void> {
  const newest = newestOf(written)
  await sql`
    update read_marks set unread = true
    where organization_id = ${organization_id} and ticket_id ${isOneOf(sql, Object.keys(newest))} and not unread
      and user_id is distinct from ${author_id}::uuid
      and (message_id is null or message_id < (${JSON.stringify(newest)}::text::json ->> ticket_id::text)::uuid)`
}

/** Marks messages as read by the members who wrote them. */
export async function markOwn({ sql, organization_id }: Tenant, messages: Written[]): Promise<void> {
  const by_author = Map.groupBy(messages, ({ author_id }) => author_id ?? '')
  by_author.delete('')
  const rows = [...by_author].flatMap(([user_id, written]) =>
    Object.entries(newestOf(written)).map(([ticket_id, message_id]) => {
      return { organization_id, ticket_id, user_id, message_id, unread: false }
    }),
  )
  await insertRows(
    sql,
    'read_marks',
    rows,
    sql`
      on conflict (organization_id, ticket_id, user_id) do update
      set message_id = excluded.message_id, marked_at = excluded.marked_at, unread = excluded.unread
      where read_marks.message_id is null or read_marks.message_id < excluded.message_id`,
  )
}

/** The newest message of each ticket. */
function newestOf(written: Written[]): Record<string, string> {
  return Object.fromEntries(
    written.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(({ ticket_id, id }) => [ticket_id, id]),
  )
}

/**
 * Marks a ticket as unread by those who get messages of others by a merge.
 * @param emptied are the tickets that gave them
 */
export async function markMerged(
  { sql, organization_id }: Tenant,
  ticket_id: string,
  message_ids: string[],
  emptied: string[],
): Promise<void> {
  await together([
    sql`
      update read_marks r set unread = true
      where r.organization_id = ${organization_id} and r.ticket_id = ${ticket_id} and not r.unread and exists (
        select 1 from messages m
        where m.organization_id = ${organization_id} and m.id = any(${message_ids}::uuid[])
          and m.author_id is distinct from r.user_id
      )`,
    sql`
      update read_marks set unread = false
      where organization_id = ${organization_id} and ticket_id = any(${emptied}::uuid[]) and unread`,
  ])
}

/** Judges the marks of tickets anew, from which messages went or to which they came back. */
export async function judgeMarks({ sql, organization_id }: Tenant, ticket_ids: string[]): Promise<void> {
  const isUnread = () => sql`exists (
    select 1 from messages m
    where m.organization_id = ${organization_id} and m.ticket_id = r.ticket_id
      and m.author_id is distinct from r.user_id and (
        r.message_id is null or m.id > r.message_id or m.original_ticket_id is not null and exists (
          select 1 from tickets s
          where s.organization_id = ${organization_id} and s.merged_into_id = r.ticket_id and s.merged_at > r.marked_at
        )
      )
  )`
  await sql`
    update read_marks r set unread = ${isUnread()}
    where r.organization_id = ${organization_id} and r.ticket_id = any(${ticket_ids}::uuid[])
      and r.unread <> ${isUnread()}`
}

/** Removes the marks of a person, whose membership ends. */
export async function removeMarksOf({ sql, organization_id }: Tenant, user_id: string): Promise<void> {
  await sql`delete from read_marks where organization_id = ${organization_id} and user_id = ${user_id}`
}
