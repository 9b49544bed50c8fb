import type { Sql } from '../db/client'
import { ApiError } from '../errors'
import { messagesOfTicket } from '../messages/queries'
import { type PageMeta, type Paging, pageOf } from '../model'
import type { Scope } from '../scope'
import { timeEntriesOfTicket } from '../time-entries/queries'
import { matches, orderOf, type TicketQuery } from './filter'
import type { Activity, Ticket, TicketFilter, TicketWithMessages } from './model'
import { organizationNumber } from './search'
import { toTsquery } from './words'

/** A page of the tickets that match, newest first unless the filter has a sort, and how many there are in all. */
export async function listTickets(scope: Scope, filter: TicketFilter): Promise<{ data: Ticket[]; meta: PageMeta }> {
  const { page, per_page, offset } = pageOf(filter)
  const query: TicketQuery = { ...filter, words: undefined }
  if (filter.search) {
    query.words = toTsquery(await organizationNumber(scope), filter.search)
    if (!query.words) return { data: [], meta: { total: 0, page, per_page } }
  }
  const { sql } = scope
  const [data, [count]] = await Promise.all([
    sql<Ticket[]>`
      with page as materialized (
        select t.organization_id, t.id from tickets t
        where ${matches(scope, query)}
        order by ${orderOf(sql, filter.sort)} limit ${per_page} offset ${offset}
      )
      select ${fields(sql)} from page
      join tickets t using (organization_id, id)
      ${withNames(sql)}
      order by ${orderOf(sql, filter.sort)}`,
    sql<{ total: number }[]>`select count(*) as total from tickets t where ${matches(scope, query)}`,
  ])
  return { data, meta: { total: count!.total, page, per_page } }
}

/** The single ticket, with its messages and time entries. @throws TICKET_NOT_FOUND */
export async function getTicket(scope: Scope, id: string): Promise<TicketWithMessages> {
  const [ticket, messages, time_entries] = await Promise.all([
    getTicketSummary(scope, id),
    messagesOfTicket(scope, id),
    timeEntriesOfTicket(scope, id),
  ])
  return { ...ticket, messages, time_entries }
}

/** The ticket as lists and events have it. @throws TICKET_NOT_FOUND */
export async function getTicketSummary({ sql, organization_id }: Scope, id: string): Promise<Ticket> {
  const [ticket] = await sql<Ticket[]>`
    select ${fields(sql)} from tickets t
    ${withNames(sql)}
    where t.organization_id = ${organization_id} and t.id = ${id} and t.deleted_at is null`
  if (!ticket) throw new ApiError('TICKET_NOT_FOUND')
  return ticket
}

/**
 * Keeps others from changing the ticket until the transaction ends; logging time on it goes on meanwhile.
 * @returns the ticket as it is now: read by a statement of its own, because one that waits for a lock goes on to read
 * everything else as it was before
 * @throws TICKET_NOT_FOUND
 */
export async function lockTicket(scope: Scope, id: string): Promise<Ticket> {
  const { sql, organization_id } = scope
  const [locked, ticket] = await Promise.all([
    sql`
      select from tickets where organization_id = ${organization_id} and id = ${id} and deleted_at is null
      for no key update`,
    getTicketSummary(scope, id),
  ])
  if (locked.length === 0) throw new ApiError('TICKET_NOT_FOUND')
  return ticket
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

/** The select list is the response: its columns are the fields of `Ticket`. Needs `tickets t` and `withNames`. */
export function fields(sql: Sql) {
  return sql`
    t.id, t.code, t.subject, t.status, t.priority,
    case when c.id is not null then json_build_object('id', c.id, 'name', c.name, 'email', c.email) end as contact,
    case when co.id is not null then json_build_object('id', co.id, 'name', co.name) end as company,
    case when u.id is not null then json_build_object('id', u.id, 'name', u.name) end as assignee,
    (
      select coalesce(json_agg(json_build_object('id', l.id, 'name', l.name, 'color', l.color) order by lower(l.name), l.id), '[]')
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
