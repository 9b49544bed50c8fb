/** SQL for what a ticket's reader has read of it. */
import { ZERO_ID } from '../../base/db/columns'
import { sharedTime } from '../../base/db/shared-time'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { personId } from '../../http/request/permissions'

/** Without a mark older tickets are read. */
const NEW_MS = 90 * 86_400_000

/** The mark of a ticket as its reader is shown it; nobody is shown null. */
type Mark = { unread: boolean | null; read_to: string | null }

/**
 * Gives the id of the reader, for the SQL below. Nobody is `ZERO_ID`: a cluster refuses a join with null.
 */
export function readerId(scope: Pick<Scope, 'actor'>): string {
  return personId(scope) ?? ZERO_ID
}

/** The mark of a person as `r`, for statements on `tickets t`. @param reader SQL for `readerId` */
export function withMark({ sql, organization_id }: Scope, reader: Fragment): Fragment {
  return sql`
    left join read_marks r on r.organization_id = ${organization_id} and r.ticket_id = t.id and r.user_id = ${reader}`
}

/** The columns `unread` and `read_to` of `tickets t`; needs `withMark`. */
export function markColumns(scope: Scope, reader: Fragment): Fragment {
  const { sql } = scope
  return sql`
    case when ${reader} <> ${ZERO_ID} then coalesce(r.unread, ${isNews(scope, reader)}) end as unread,
    r.message_id as read_to`
}

/** Reads the columns of a ticket. */
export async function readMark(scope: Scope, ticket_id: string): Promise<Mark> {
  const { sql, organization_id } = scope
  const reader = sql`${readerId(scope)}::uuid`
  const [row] = await sql<Mark[]>`
    select ${markColumns(scope, reader)} from tickets t ${withMark(scope, reader)}
    where t.organization_id = ${organization_id} and t.id = ${ticket_id}`
  return row!
}

/** Tells of a ticket `t`, whose id is given, that it is unread by the caller, a person. */
export function isUnread(scope: Scope, id: Fragment): Fragment {
  const { sql, organization_id } = scope
  const reader = sql`${readerId(scope)}::uuid`
  return sql`coalesce((
    select r.unread from read_marks r
    where r.organization_id = ${organization_id} and r.ticket_id = ${id} and r.user_id = ${reader}
  ), ${isNews(scope, reader)})`
}

/** Tells of a ticket `t` without a mark that it is unread: the reader's or nobody's, and new. */
function isNews(scope: Scope, reader: Fragment): Fragment {
  return scope.sql`(coalesce(t.assignee_id = ${reader}, true) and ${isNew(scope)})`
}

function isNew(scope: Scope): Fragment {
  return scope.sql`coalesce(${hasNews(scope)}, false)`
}

/** As `isNew`, in the form that an index is searched by: null without a message. */
function hasNews({ sql }: Scope): Fragment {
  return sql`t.last_message_id >= ${firstIdAt(sharedTime() - NEW_MS)}`
}

/**
 * For each part of the tickets that are unread by the caller, or read: SQL that follows `from`, with `tickets t`. With
 * `offset 0` unread ones are looked up one by one: the planner's joins read all tickets, or the marks of all members,
 * which took four times as long for 10,000 of 200,000. The first ones that are read come sooner by a join.
 */
export function partsOfUnread(scope: Scope, unread: boolean): Fragment[] {
  const { sql, organization_id } = scope
  const reader = readerId(scope)
  const live = sql`t.organization_id = ${organization_id} and t.deleted_at is null`
  const one_by_one = unread ? sql`offset 0` : sql``
  const marked = sql`
    read_marks r, lateral (select * from tickets t where ${live} and t.id = r.ticket_id ${one_by_one}) as t
    where r.organization_id = ${organization_id} and r.user_id = ${reader} and r.unread = ${unread}`
  const unmarked = (which: Fragment) => sql`
    tickets t where ${live} and ${which} and not exists (
      select 1 from read_marks r
      where r.organization_id = ${organization_id} and r.ticket_id = t.id and r.user_id = ${reader} ${one_by_one}
    )`
  const [mine, free, others] = [
    sql`t.assignee_id = ${reader}`,
    sql`t.assignee_id is null`,
    sql`t.assignee_id <> ${reader}`,
  ]
  if (unread) return [marked, ...[mine, free].map((whose) => unmarked(sql`${whose} and ${hasNews(scope)}`))]
  return [marked, unmarked(others), ...[mine, free].map((whose) => unmarked(sql`${whose} and not ${isNew(scope)}`))]
}
