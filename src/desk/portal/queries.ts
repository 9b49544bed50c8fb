/** Reads what customers are shown of their tickets. */
import { addressKey } from '../../base/address/email'
import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { textToHtml } from '../../base/html/body'
import { viewHtml } from '../../base/html/view'
import { type Scope, together } from '../../base/scope'
import type { PageMeta } from '../../base/shapes/answers'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import { isShown, shownCompany } from '../../http/request/customers'
import { requireCustomer } from '../../http/request/permissions'
import type { InSteps } from '../../http/request/steps'
import { withUrl } from '../attachments/queries'
import { type ListedRow, messagesOn, oldestFirst } from '../messages/list-messages'
import { type MessageRow, messageFields, urlsOf } from '../messages/queries'
import { presentRating, type RatingColumns } from '../ratings/model'
import type { MyMessage, MyRatedTicket, MyTicket, MyTicketFilter } from './model'

export type MyMessages = { data: MyMessage[]; meta: PageMeta }

/** The tickets that the customer is shown, newest first. */
export async function listMyTickets(scope: Scope, filter: MyTicketFilter): Promise<Page<MyTicket>> {
  const { sql, organization_id } = scope
  const live = () => sql`
    from tickets t where t.organization_id = ${organization_id} and t.deleted_at is null
      ${filter.status ? sql`and t.status = ${filter.status}` : sql``}`
  const { data, meta } = await page(scope, filter, {
    name: 'my tickets',
    sort: { keys: [{ sql: sql`t.id`, field: 'id' }], direction: 'desc' },
    rows: ({ head, slice, order }) => sql<MyTicket[]>`
      with page as materialized (select t.id from (${firstOfEach(scope, live, head)}) as t where true ${slice})
      select ${shownFields(scope)} from page join tickets t on t.organization_id = ${organization_id} and t.id = page.id
      ${withContact(scope)} ${order}`,
    count: () => sql<{ total: number }[]>`select count(*) as total ${live()} and ${isShown(scope, 't')}`,
  })
  return { data: data.map(presentTicket), meta }
}

/** The first tickets of the contact and of its company: each comes in order from an index of its own. */
function firstOfEach(scope: Scope, live: () => Fragment, head: Fragment): Fragment {
  const { sql } = scope
  const company = shownCompany(scope)
  const own = sql`(select t.id ${live()} and t.contact_id = ${requireCustomer(scope).id} ${head})`
  return company ? sql`${own} union (select t.id ${live()} and t.company_id = ${company} ${head})` : own
}

/** @throws TICKET_NOT_FOUND, also for tickets of others */
export async function getMyTicket(scope: Scope, id: string): Promise<MyRatedTicket> {
  const { sql, organization_id } = scope
  const [row] = await sql<(MyTicket & RatingColumns & { is_own: boolean })[]>`
    select ${shownFields(scope)}, t.rating_score, t.rating_comment, t.rated_at,
      coalesce(t.contact_id = ${requireCustomer(scope).id}, false) as is_own
    from tickets t ${withContact(scope)}
    where t.organization_id = ${organization_id} and t.id = ${id} and t.deleted_at is null and ${isShown(scope, 't')}`
  if (!row) throw new ApiError('TICKET_NOT_FOUND')
  const { rating_score, rating_comment, rated_at, is_own, ...ticket } = row
  const rating = is_own ? presentRating({ rating_score, rating_comment, rated_at }) : null
  return { ...presentTicket(ticket), rating }
}

function presentTicket(ticket: MyTicket): MyTicket {
  return { ...ticket, contact: ticket.contact && { name: withoutAddresses(ticket.contact.name) } }
}

const DOMAIN_OF_ADDRESS = /(?<=[^\s<])@[^\s<>"(),;@]+\.[^\s<>"(),;@]+/g

/** Leaves of an address that stands in a name what is before the `@`: customers see no addresses of others. */
function withoutAddresses(name: string): string {
  return name.replace(DOMAIN_OF_ADDRESS, '')
}

function shownFields({ sql }: Scope): Fragment {
  return sql`
    t.id, t.code, t.subject, t.status, case when c.id is not null then json_build_object('name', c.name) end as contact,
    t.created_at, t.updated_at`
}

function withContact({ sql, organization_id }: Scope): Fragment {
  return sql`left join contacts c on c.organization_id = ${organization_id} and c.id = t.contact_id`
}

/** Returns the contact of a ticket that the customer is shown. @throws TICKET_NOT_FOUND, also for tickets of others */
export async function contactOfShown(scope: Scope, ticket_id: string): Promise<string | null> {
  const { sql, organization_id } = scope
  const [ticket] = await sql<{ contact_id: string | null }[]>`
    select t.contact_id from tickets t
    where t.organization_id = ${organization_id} and t.id = ${ticket_id} and t.deleted_at is null
      and ${isShown(scope, 't')}`
  if (!ticket) throw new ApiError('TICKET_NOT_FOUND')
  return ticket.contact_id
}

/**
 * The messages of a ticket that the customer is shown, oldest first. In steps when they are too large to be held.
 * @throws TICKET_NOT_FOUND
 */
export async function listMyMessages(scope: Scope, ticket_id: string, query: Paging): Promise<InSteps<MyMessages>> {
  const { sql, organization_id } = scope
  const writers = await writersOf(scope, ticket_id, await contactOfShown(scope, ticket_id))
  const shown = () => sql`
    and m.ticket_id = ${ticket_id} and not m.is_internal and (m.direction = 'outbound' or ${isBy(scope, writers.timelines, writers.shown)})`
  const matching = () => sql`from messages m where m.organization_id = ${organization_id} ${shown()}`
  const { data: ids, meta } = await page(scope, query, {
    name: `my messages of ${ticket_id}`,
    sort: oldestFirst(sql),
    rows: ({ slice }) => sql<{ id: string; mine: boolean }[]>`
      select m.id, ${isMine(scope, writers)} as mine ${matching()} ${slice}`,
    count: () => sql<{ total: number }[]>`select count(*) as total ${matching()}`,
  })
  const mine = new Set(ids.flatMap((row) => (row.mine ? row.id : [])))
  const present = (_: string, row: ListedRow) => presentMine(organization_id, row, mine.has(row.id))
  return { data: await messagesOn(scope, ids, { shown, present }), meta }
}

/** Reads a message that the customer has just written. */
export async function getWritten(scope: Scope, id: string): Promise<MyMessage> {
  const { sql, organization_id } = scope
  const [row] = await sql<MessageRow[]>`
    select ${messageFields(scope)} from messages m where m.organization_id = ${organization_id} and m.id = ${id}`
  return presentMine(organization_id, row!, true)
}

/** The writings of a person on a ticket: by the addresses in its messages, and by the contacts in the timelines. */
type Written = { addresses: string[]; contact_ids: string[] }
type Writers = { shown: Written; own: Written; timelines: string[] }

/**
 * Finds who of the writers of a ticket may be shown: its contact, the customer, confirmed participants, and contacts of
 * the company that the token shows. What was written from an address of before is known by the timeline, where a
 * contact that was merged counts as what it is now.
 */
async function writersOf(scope: Scope, ticket_id: string, contact_id: string | null): Promise<Writers> {
  const { sql, organization_id } = scope
  const { id } = requireCustomer(scope)
  const [written, acted] = await together([
    sql<{ email: string }[]>`
      select distinct m.sender_email as email from messages m
      where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id} and m.direction = 'inbound'
        and m.sender_email is not null`,
    actedOn(scope, ticket_id),
  ])
  const shown = isShownWriter(scope, ticket_id, contact_id === null ? [id] : [id, contact_id])
  const keys = written.map(({ email }) => addressKey(email))
  const acting = [...new Set(acted.map((row) => row.contact_id))]
  const [known, contacts] = await together([
    sql<{ key: string; is_own: boolean }[]>`
      select given.key, exists (
        select 1 from contact_addresses a
        where a.organization_id = ${organization_id} and a.email_key = given.key and a.contact_id = ${id}
      ) as is_own
      from unnest(${keys}::text[]) as given (key)
      where exists (
        select 1 from contact_addresses a
        join contacts c on c.organization_id = ${organization_id} and c.id = a.contact_id
        where a.organization_id = ${organization_id} and a.email_key = given.key and ${shown}
      ) or exists (
        select 1 from participants p where p.organization_id = ${organization_id} and p.ticket_id = ${ticket_id}
          and p.email_key = given.key and p.confirmed
      )`,
    sql<{ id: string; is_own: boolean }[]>`
      select given.id, c.id = ${id} as is_own
      from unnest(${acting}::uuid[]) as given (id)
      left join merged_contacts m on m.organization_id = ${organization_id} and m.id = given.id
      join contacts c on c.organization_id = ${organization_id} and c.id = coalesce(m.contact_id, given.id)
      where ${shown}`,
  ])
  const wrote = (isOne: (row: { is_own: boolean }) => boolean): Written => {
    const found = new Set(known.filter(isOne).map(({ key }) => key))
    return {
      addresses: written.map(({ email }) => email).filter((email) => found.has(addressKey(email))),
      contact_ids: contacts.filter(isOne).map((contact) => contact.id),
    }
  }
  const timelines = [...new Set(acted.map((row) => row.ticket_id))]
  return { shown: wrote(() => true), own: wrote(({ is_own }) => is_own), timelines }
}

/**
 * Reads who wrote on a ticket by the timelines. What a merge or a split moved stands in that of the ticket where it was
 * written: of a split ticket in that of the one it was split from, or of one that this had taken in. The contacts of
 * these tickets count too, whose descriptions the team wrote.
 */
function actedOn({ sql, organization_id }: Scope, ticket_id: string) {
  return sql<{ ticket_id: string; contact_id: string }[]>`
    with timelines as materialized (
      select coalesce(m.original_ticket_id, m.ticket_id) as id from messages m
      where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id}
      union
      select t.split_from_id from tickets t
      where t.organization_id = ${organization_id} and t.id = ${ticket_id} and t.split_from_id is not null
      union
      select s.id from tickets t
      join tickets s on s.organization_id = ${organization_id} and s.merged_into_id = t.split_from_id
      where t.organization_id = ${organization_id} and t.id = ${ticket_id}
    )
    select a.ticket_id, a.actor_id as contact_id from activities a
    where a.organization_id = ${organization_id} and a.type = 'message' and a.actor_type = 'contact'
      and a.actor_id is not null and a.ticket_id in (select id from timelines)
    union
    select t.id, t.contact_id from tickets t
    where t.organization_id = ${organization_id} and t.contact_id is not null and t.id in (select id from timelines)`
}

/** A condition on `contacts c`: what it writes on the ticket is shown. @param ids of contacts of which that is known */
function isShownWriter(scope: Scope, ticket_id: string, ids: string[]): Fragment {
  const { sql, organization_id } = scope
  const company = shownCompany(scope)
  return sql`(
    c.id = any(${ids}::uuid[]) ${company ? sql`or c.company_id = ${company}` : sql``} or exists (
      select 1 from participants p where p.organization_id = ${organization_id} and p.ticket_id = ${ticket_id}
        and p.contact_id = c.id and p.confirmed
    )
  )`
}

/**
 * A condition on `messages m`: one of the people wrote it. Whoever forged an address is nobody. What the team opened a
 * ticket with (its description) is the words of its contact.
 */
function isBy({ sql, organization_id }: Scope, timelines: string[], { addresses, contact_ids }: Written): Fragment {
  return sql`(m.sender_verified is not false and (m.sender_email = any(${addresses}::text[]) or m.id in (
    select (a.data ->> 'message_id')::uuid from activities a
    join tickets w on w.organization_id = ${organization_id} and w.id = a.ticket_id
    where a.organization_id = ${organization_id} and a.ticket_id = any(${timelines}::uuid[]) and a.type = 'message'
      and case a.actor_type
        when 'contact' then a.actor_id
        when 'system' then null
        else case when a.data ->> 'direction' = 'inbound' then w.contact_id end
      end = any(${contact_ids}::uuid[])
  )))`
}

function isMine(scope: Scope, { own, timelines }: Writers): Fragment {
  return scope.sql`(m.direction = 'inbound' and ${isBy(scope, timelines, own)})`
}

/** An email shows only its new part: its quotations may name others. */
function presentMine(organization_id: string, row: MessageRow, mine: boolean): MyMessage {
  const { id, reply_text, created_at } = row
  const direction = row.direction ?? 'outbound'
  const attachments = row.attachments.map(({ id, filename, content_type, size }) =>
    withUrl(organization_id, { id, filename, content_type, size }),
  )
  const html = row.channel === 'email' && reply_text !== null ? textToHtml(reply_text) : row.body_html
  return {
    id,
    body_html: viewHtml(html, urlsOf(organization_id, row), direction === 'inbound' ? 'wait' : 'as written'),
    direction,
    sender: { name: withoutAddresses(row.sender.name) },
    mine,
    attachments,
    created_at,
  }
}
