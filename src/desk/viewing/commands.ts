/**
 * Knows who has a ticket open. Each member says so again and again, and is forgotten a minute later. The rows are in
 * the database, so that all processes show the same. Streams with notices hear of a change.
 */
import { sweep } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { inTransaction, type Scope, together } from '../../base/scope'
import { notice, noticeByTime, tellBy } from '../../delivery/events/notices'
import { requirePerson } from '../../http/request/permissions'
import { markRead } from '../read-marks/commands'
import { requireTicket } from '../timeline/require-ticket'
import type { NewViewing, Viewer } from './model'
import { findViewers, isOver } from './queries'

tellBy('viewing', async (scope, ticket_id) => ({ users: await findViewers(scope, ticket_id) }))

/**
 * Notes that the caller has the ticket open, and how far it is read, if that is given.
 * @returns the others who have it open, by name
 * @throws TICKET_NOT_FOUND; with `read_to` MESSAGE_NOT_FOUND, TICKET_MERGED
 */
export function view(scope: Scope, ticket_id: string, { writing = false, read_to }: NewViewing): Promise<Viewer[]> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const user_id = requirePerson(scope).id
    if (read_to === undefined) await requireTicket(scope, ticket_id)
    else await markRead(scope, ticket_id, read_to, '/read_to')
    const [seen] = await together([
      findViewers(scope, ticket_id),
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

/**
 * Removes what counts no more, and tells of it. For a background job, in any number of processes.
 * @returns how many rows
 */
export function removeOldViewers(connection: Connection): Promise<number> {
  const rows = { table: 'viewers', key: ['ticket_id', 'user_id'], is_old: isOver(connection.sql), order: 'seen_at' }
  return sweep(connection, rows, async ({ sql, organization_id }, old) => {
    const gone = await sql<{ ticket_id: string }[]>`
      with old as materialized (${old})
      delete from viewers t using old
      where t.organization_id = ${organization_id} and t.ticket_id = old.ticket_id and t.user_id = old.user_id
      returning t.ticket_id`
    for (const ticket_id of new Set(gone.map((one) => one.ticket_id))) {
      noticeByTime(organization_id, { kind: 'viewing', ticket_id })
    }
    return gone.length
  })
}
