import type { PendingQuery, Row } from 'postgres'
import type { Sql } from '../db/transact'
import { ApiError } from '../errors'
import type { InSteps } from '../flow/steps'
import {
  type MessageRow,
  messageFields,
  presentMessage,
  STEP_SIZE,
  sizeOfMessages,
  versionedMessages,
} from '../messages/queries'
import type { Scope } from '../scope'
import { organizationNumber } from '../search/ticket-document'
import { toTsquery } from '../search/words'
import type { PageMeta } from '../shapes/answers'
import { type Paging, pageOf } from '../shapes/query'
import { timeEntriesOfTicket } from '../time-entries/queries'
import { countOf, isCounted } from './counts'
import { directionOf, idOf, matches, orderOf, sortKeyOf, type TicketQuery, tablesOf } from './filter'
import type { Activity, Ticket, TicketFilter, TicketWithMessages } from './model'

/** A page of the tickets that match, newest first unless the filter has a sort, and how many there are in all. */
export async function listTickets(scope: Scope, filter: TicketFilter): Promise<{ data: Ticket[]; meta: PageMeta }> {
  const { page, per_page, offset } = pageOf(filter)
  const query: TicketQuery = { ...filter, words: undefined }
  if (filter.search) {
    query.words = toTsquery(await organizationNumber(scope), filter.search)
    if (!query.words) return { data: [], meta: { total: 0, page, per_page } }
  }
  const { sql } = scope
  // With a parameter in `limit` the server plans the statement anew each time, which takes longer than running it.
  const range = sql`${sql.unsafe(`limit ${per_page}`)} ${offset > 0 ? sql`offset ${offset}` : sql``}`
  const select = query.words || query.label_ids ? selectFromAll : selectInOrder
  const { rows, total } = await select(scope, query, range)
  return { data: rows.map(present), meta: { total, page, per_page } }
}

type Range = PendingQuery<Row[]>
type Selected = { rows: TicketRow[]; total: number }

/** An index has the order: its first entries are the page. The ids come first, and only they are joined. */
async function selectInOrder(scope: Scope, query: TicketQuery, range: Range): Promise<Selected> {
  const { sql } = scope
  const order = () => orderOf(sql, query.sort)
  const rows = await sql<(TicketRow & { total: number })[]>`
    with page as materialized (
      select t.organization_id, t.id from tickets t where ${matches(scope, query)} order by ${order()} ${range}
    )
    select ${fields(sql)}, ${totalOf(scope, query)} as total from page
    join tickets t using (organization_id, id)
    ${withNames(sql)}
    order by ${order()}`
  return { rows, total: rows[0]?.total ?? (await countTickets(scope, query)) }
}

/** Words and labels lead to tickets in no order: all are found before they are sorted, and so counted on the way. */
async function selectFromAll(scope: Scope, query: TicketQuery, range: Range): Promise<Selected> {
  const { sql, organization_id } = scope
  const rows = await sql<(TicketRow & { total: number })[]>`
    with hits as materialized (
      select ${idOf(sql, query)} as id, ${sortKeyOf(sql, query)} as sort_key
      from ${tablesOf(sql, query)} where ${matches(scope, query)}
    ), page as materialized (
      select id from hits order by sort_key ${directionOf(sql, query.sort)}, id ${directionOf(sql, query.sort)} ${range}
    )
    select ${fields(sql)}, (select count(*) from hits) as total from page
    join tickets t on t.organization_id = ${organization_id} and t.id = page.id
    ${withNames(sql)}
    order by ${orderOf(sql, query.sort)}`
  return { rows, total: rows[0]?.total ?? (await countTickets(scope, query)) }
}

async function countTickets(scope: Scope, query: TicketQuery): Promise<number> {
  const [count] = await scope.sql<{ total: number }[]>`select ${totalOf(scope, query)} as total`
  return count!.total
}

function totalOf(scope: Scope, query: TicketQuery) {
  if (isCounted(query)) return countOf(scope, query)
  const { sql } = scope
  return sql`(select count(*) from ${tablesOf(sql, query)} where ${matches(scope, query)})`
}

type RowWithMessage = Omit<TicketRow, 'id' | 'created_at'> &
  (MessageRow | { [field in keyof MessageRow]: null }) & {
    ticket_id: string
    ticket_created_at: string
    has_time: boolean
    /** Of the messages, which are not in the row when it is too large. */
    size: number | null
  }

/** `version`, of a ticket whose messages come in steps, is another one whenever its lists change. */
type ShownTicket = { ticket: InSteps<TicketWithMessages>; version?: unknown }

/**
 * The single ticket, with its messages and time entries. Ticket and messages come in one statement, because each one
 * costs more than a small ticket; the messages of a large one are not read before they are taken.
 * @throws TICKET_NOT_FOUND
 */
export async function getTicket(scope: Scope, id: string): Promise<ShownTicket> {
  const { sql, organization_id } = scope
  const rows = await sql<RowWithMessage[]>`
    with ticket as materialized (
      select ${fields(sql)}, exists (
        select from time_entries e where e.organization_id = t.organization_id and e.ticket_id = t.id
      ) as has_time, ${sizeOfMessages(sql)} as size
      from tickets t
      ${withNames(sql)}
      where t.organization_id = ${organization_id} and t.id = ${id} and t.deleted_at is null
    )
    select t.id as ticket_id, t.code, t.subject, t.status, t.priority, t.contact_id, t.contact_name, t.contact_email,
      t.company_id, t.company_name, t.assignee_id, t.assignee_name, t.labels, t.created_at as ticket_created_at,
      t.updated_at, t.has_time, t.size, ${messageFields(sql)}
    from ticket t
    left join messages m on m.organization_id = ${organization_id} and m.ticket_id = t.id and t.size < ${STEP_SIZE}
    order by m.id`
  const [row] = rows
  if (!row) throw new ApiError('TICKET_NOT_FOUND')
  const ticket = present({ ...row, id: row.ticket_id, created_at: row.ticket_created_at })
  const time_entries = row.has_time ? await timeEntriesOfTicket(scope, id) : []
  if ((row.size ?? 0) < STEP_SIZE) {
    const messages = rows.flatMap((row) => (row.id === null ? [] : presentMessage(organization_id, row)))
    return { ticket: { ...ticket, messages, time_entries } }
  }
  const { version, messages } = await versionedMessages(scope, id)
  return { ticket: { ...ticket, messages, time_entries }, version: { messages: version, time_entries } }
}

/** The ticket as lists and events have it. @throws TICKET_NOT_FOUND */
async function getTicketSummary({ sql, organization_id }: Scope, id: string): Promise<Ticket> {
  const [row] = await sql<TicketRow[]>`
    select ${fields(sql)} from tickets t
    ${withNames(sql)}
    where t.organization_id = ${organization_id} and t.id = ${id} and t.deleted_at is null`
  if (!row) throw new ApiError('TICKET_NOT_FOUND')
  return present(row)
}

/**
 * Keeps others from changing the ticket until the transaction ends; logging time on it goes on meanwhile.
 * @returns the ticket as it is now: read by a statement of its own, because one that waits for a lock goes on to read
 * everything else as it was before
 * @throws TICKET_NOT_FOUND
 */
export async function lockTicket(scope: Scope, id: string): Promise<Ticket> {
  const { sql, organization_id } = scope
  const locked = await sql`
    select from tickets where organization_id = ${organization_id} and id = ${id} and deleted_at is null
    for no key update`
  if (locked.length === 0) throw new ApiError('TICKET_NOT_FOUND')
  return getTicketSummary(scope, id)
}

/** The timeline of a ticket, oldest first (decisions.md section 4). @throws TICKET_NOT_FOUND */
export async function listActivity(
  { sql, organization_id }: Scope,
  ticket_id: string,
  query: Paging,
): Promise<{ data: Activity[]; meta: PageMeta }> {
  const { page, per_page, offset } = pageOf(query)
  const [data, [count]] = await Promise.all([
    sql<Activity[]>`
      select id, type, json_build_object('type', actor_type, 'id', actor_id, 'name', actor_name) as actor, data, created_at
      from activities
      where organization_id = ${organization_id} and ticket_id = ${ticket_id}
      order by id limit ${per_page} offset ${offset}`,
    sql<{ total: number }[]>`
      select (
        select count(*) from activities a where a.organization_id = t.organization_id and a.ticket_id = t.id
      ) as total
      from tickets t
      where t.organization_id = ${organization_id} and t.id = ${ticket_id} and t.deleted_at is null`,
  ])
  if (!count) throw new ApiError('TICKET_NOT_FOUND')
  return { data, meta: { total: count.total, page, per_page } }
}

export type TicketRow = Pick<Ticket, 'id' | 'code' | 'subject' | 'status' | 'priority' | 'labels'> & {
  contact_id: string | null
  contact_name: string
  contact_email: string
  company_id: string | null
  company_name: string
  assignee_id: string | null
  assignee_name: string
  created_at: string
  updated_at: string
}

/**
 * The columns of a ticket; needs `tickets t` and `withNames`. Flat, because making objects of them in the database
 * took a quarter of its time for a list.
 */
export function fields(sql: Sql) {
  return sql`
    t.id, t.code, t.subject, t.status, t.priority, t.contact_id, c.name as contact_name, c.email as contact_email,
    t.company_id, co.name as company_name, t.assignee_id, u.name as assignee_name,
    (
      select coalesce(
        json_agg(json_build_object('id', l.id, 'name', l.name, 'color', l.color) order by lower(l.name), l.id), '[]'
      )
      from ticket_labels tl join labels l on l.organization_id = tl.organization_id and l.id = tl.label_id
      where tl.organization_id = t.organization_id and tl.ticket_id = t.id
    ) as labels,
    t.created_at, t.updated_at`
}

export function withNames(sql: Sql) {
  return sql`
    left join contacts c on c.organization_id = t.organization_id and c.id = t.contact_id
    left join companies co on co.organization_id = t.organization_id and co.id = t.company_id
    left join users u on u.id = t.assignee_id`
}

/** A row of `fields` as the response has it. */
export function present(row: TicketRow): Ticket {
  const { id, code, subject, status, priority, labels, created_at, updated_at } = row
  return {
    id,
    code,
    subject,
    status,
    priority,
    contact: row.contact_id ? { id: row.contact_id, name: row.contact_name, email: row.contact_email } : null,
    company: row.company_id ? { id: row.company_id, name: row.company_name } : null,
    assignee: row.assignee_id ? { id: row.assignee_id, name: row.assignee_name } : null,
    labels,
    created_at,
    updated_at,
  }
}
