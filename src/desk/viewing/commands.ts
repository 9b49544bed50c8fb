/**
 * Knows who has a ticket open. Each member says so again and again, and is forgotten a minute later. The rows are in
 * the database, so that all processes show the same. Streams with notices hear of a change.
 */
import { sweep } from '../../base/db/sweep'
import type { Connection, Fragment, Sql } from '../../base/db/transact'
import { inTransaction, type Scope, together } from '../../base/scope'
import { notice } from '../../delivery/events/notices'
import { requirePerson } from '../../http/request/permissions'
import { requireTicket } from '../timeline/require-ticket'
import type { NewViewing, Viewer } from './model'

/** Notes that the caller has the ticket open. @returns the others who have it open, by name @throws TICKET_NOT_FOUND */
export function view(scope: Scope, ticket_id: string, { writing = false }: NewViewing): Promise<Viewer[]> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const user_id = requirePerson(scope).id
    await requireTicket(scope, ticket_id)
    const [seen] = await together([
      sql<Viewer[]>`
        select json_build_object('id', u.id, 'name', u.name) as user, v.writing, v.seen_at
        from viewers v
        join memberships m on m.organization_id = ${organization_id} and m.user_id = v.user_id
          and m.active and m.removed_at is null
        join users u on u.id = m.user_id
        where v.organization_id = ${organization_id} and v.ticket_id = ${ticket_id} and not ${isOver(sql)}
        order by lower(u.name), u.id`,
      sql`
        insert into viewers (organization_id, ticket_id, user_id, writing, seen_at)
        values (${organization_id}, ${ticket_id}, ${user_id}, ${writing}, now())
        on conflict (organization_id, ticket_id, user_id)
        do update set writing = excluded.writing, seen_at = excluded.seen_at`,
    ])
    const before = seen.find(({ user }) => user.id === user_id)
    if (before?.writing !== writing) notice(scope, { kind: 'viewing', ticket_id })
    return seen.filter((one) => one !== before)
  })
}

/** Notes that the caller has closed the ticket. @throws TICKET_NOT_FOUND */
export async function leave(scope: Scope, ticket_id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const [, { count }] = await together([
      requireTicket(scope, ticket_id),
      sql`
        delete from viewers
        where organization_id = ${organization_id} and ticket_id = ${ticket_id} and user_id = ${requirePerson(scope).id}`,
    ])
    if (count > 0) notice(scope, { kind: 'viewing', ticket_id })
  })
}

/** Removes what counts no more. For a background job, in any number of processes. @returns how many rows */
export function removeOldViewers(connection: Connection): Promise<number> {
  const rows = { table: 'viewers', key: ['ticket_id', 'user_id'], is_old: isOver(connection.sql), order: 'seen_at' }
  return sweep(connection, rows)
}

function isOver(sql: Sql): Fragment {
  return sql`seen_at <= now() - interval '60 seconds'`
}
