import type { Fragment, Sql } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { page } from '../../base/shapes/page'
import type { Period, TicketTimeEntry, TimeEntry, TimeEntryFilter, TimeEntryPage } from './model'
import { amountOf, rateOf } from './price'
import type { RateSources } from './rate'
import { totalsOf } from './totals'

/** A ticket with more entries is read by a statement for it alone. */
export const FEW_ENTRIES = 20

/** The entries that match: the latest day first, of one day the newest entry; with totals over all pages. */
export async function listTimeEntries(scope: Scope, filter: TimeEntryFilter): Promise<TimeEntryPage> {
  const { sql, organization_id } = scope
  const { company_id } = filter
  const conditions = () => sql`
    ${matches(scope, filter)} ${company_id ? sql`and e.company_id = ${company_id}` : sql``}`
  return page(scope, filter, {
    name: 'time-entries',
    sort: {
      keys: [
        { sql: sql`e.date`, field: 'date' },
        { sql: sql`e.id`, field: 'id' },
      ],
      direction: 'desc',
    },
    rows: ({ slice, order }) => sql<TimeEntry[]>`
      with page as materialized (
        select e.id from time_entries e
        where e.organization_id = ${organization_id} ${conditions()} ${slice}
      )
      select ${ticketRef(sql)}, ${fields(scope)} from page
      join time_entries e on e.organization_id = ${organization_id} and e.id = page.id
      ${withTicketAndUser(scope)}
      ${order}`,
    count: async () => [await totalsOf(scope, filter, conditions())],
  })
}

/** An entry, also of a deleted ticket. @throws TIME_ENTRY_NOT_FOUND */
export async function getTimeEntry(scope: Scope, id: string): Promise<TimeEntry> {
  const { sql, organization_id } = scope
  const [entry] = await sql<TimeEntry[]>`
    select ${ticketRef(sql)}, ${fields(scope)} from time_entries e
    ${withTicketAndUser(scope)}
    where e.organization_id = ${organization_id} and e.id = ${id}`
  if (!entry) throw new ApiError('TIME_ENTRY_NOT_FOUND')
  return entry
}

/** The entries of a ticket for its answer, in the order of the list. */
export function timeEntriesOfTicket(scope: Scope, ticket_id: string): Promise<TicketTimeEntry[]> {
  return scope.sql<TicketTimeEntry[]>`${ofTicket(scope, scope.sql`${ticket_id}`)}`
}

/** SQL for the same as JSON, of the ticket `t`: its first entries, at most one more than `FEW_ENTRIES`, or null. */
export function fewEntriesOfTicket(scope: Scope) {
  const { sql } = scope
  return sql`(select json_agg(e) from (${ofTicket(scope, sql`t.id`)} limit ${sql.unsafe(String(FEW_ENTRIES + 1))}) as e)`
}

function ofTicket(scope: Scope, ticket_id: Fragment) {
  const { sql, organization_id } = scope
  return sql`
    select ${fields(scope)} from time_entries e
    join users u on u.id = e.user_id
    where e.organization_id = ${organization_id} and e.ticket_id = ${ticket_id}
    order by e.date desc, e.id desc`
}

/** The sources that a rate is chosen from; undefined when the ticket does not exist. */
export async function getRateSources(
  { sql, organization_id }: Scope,
  ticket_id: string,
  user_id: string,
): Promise<RateSources | undefined> {
  const [sources] = await sql<RateSources[]>`
    select json_build_object('rate', c.hourly_rate, 'currency', c.currency) as company,
      json_build_object('rate', m.hourly_rate, 'currency', m.currency) as user,
      json_build_object('rate', o.hourly_rate, 'currency', o.currency, 'time_zone', o.time_zone) as organization
    from tickets t
    join organizations o on o.id = ${organization_id}
    left join companies c on c.organization_id = ${organization_id} and c.id = t.company_id
    left join memberships m on m.organization_id = ${organization_id} and m.user_id = ${user_id}
    where t.organization_id = ${organization_id} and t.id = ${ticket_id}`
  return sources
}

/** Conditions of a list, summary or export, without the organization and the company; needs `time_entries e`. */
export function matches({ sql }: Scope, filter: Filter) {
  const { ticket_id, user_id, billable, date_from, date_to } = filter
  return sql`
    ${ticket_id ? sql`and e.ticket_id = ${ticket_id}` : sql``}
    ${user_id ? sql`and e.user_id = ${user_id}` : sql``}
    ${billable === undefined ? sql`` : sql`and e.billable = ${billable}`}
    ${date_from ? sql`and e.date >= ${date_from}::date` : sql``}
    ${date_to ? sql`and e.date <= ${date_to}::date` : sql``}`
}

type Filter = Period & { ticket_id?: string; user_id?: string; billable?: boolean }

/** The select list is the response: with `ticketRef` its columns are the fields of `TimeEntry`. */
function fields({ sql, organization_id }: Scope) {
  return sql`
    e.id, json_build_object('id', u.id, 'name', u.name) as user, e.duration_minutes, e.description, e.billable,
    ${rateOf(sql)} as rate, e.currency, ${amountOf(sql)} as amount, e.date, (
      select json_build_object('id', o.id, 'code', o.code) from tickets o
      where o.organization_id = ${organization_id} and o.id = e.original_ticket_id
    ) as original_ticket, e.created_at`
}

function ticketRef(sql: Sql) {
  return sql`json_build_object('id', t.id, 'code', t.code, 'subject', t.subject) as ticket`
}

function withTicketAndUser({ sql, organization_id }: Scope) {
  return sql`
    join tickets t on t.organization_id = ${organization_id} and t.id = e.ticket_id
    join users u on u.id = e.user_id`
}
