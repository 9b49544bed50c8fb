import { addressKey } from '../address/email'
import type { Sql } from '../db/transact'
import { ApiError } from '../errors'
import type { Scope } from '../scope'
import { fold } from '../search/fold'
import { type Page, page } from '../shapes/page'
import { tally } from '../tallies/tallies'
import type { Contact, ContactFilter, ContactWithTickets } from './model'

/** The contacts that match, newest first. */
export function listContacts(scope: Scope, filter: ContactFilter): Promise<Page<Contact>> {
  const { sql } = scope
  return page(scope, filter, {
    sort: { keys: [sql`c.id`], direction: 'desc' },
    rows: ({ slice, order }) => sql<Contact[]>`
      with page as materialized (
        select c.organization_id, c.id from contacts c where ${matches(scope, filter)} ${slice}
      )
      select ${fields(scope)} from page
      join contacts c using (organization_id, id)
      ${withCompany(sql)}
      ${order}`,
    count: () => sql<{ total: number }[]>`select ${total(scope, filter)} as total`,
  })
}

/** A contact with its newest tickets. @throws CONTACT_NOT_FOUND */
export async function getContact(scope: Scope, id: string): Promise<ContactWithTickets> {
  const [contact] = await getContacts(scope, [id])
  if (!contact) throw new ApiError('CONTACT_NOT_FOUND')
  return contact
}

/** Those of the given contacts that exist, as `getContact` returns them, oldest first. */
export function getContacts(scope: Scope, ids: string[]): Promise<ContactWithTickets[]> {
  const { sql, organization_id } = scope
  return sql<ContactWithTickets[]>`
    select ${fields(scope)}, ${ticketCount(scope)} as total_tickets, coalesce((
      select json_agg(json_build_object('id', r.id, 'code', r.code, 'subject', r.subject) order by r.id desc)
      from (
        select t.id, t.code, t.subject from tickets t
        where t.organization_id = c.organization_id and t.contact_id = c.id and t.deleted_at is null
        order by t.id desc limit 10
      ) r
    ), '[]') as recent_tickets
    from contacts c
    ${withCompany(sql)}
    where c.organization_id = ${organization_id} and c.id = any(${ids}::uuid[])
    order by c.id`
}

/** A contact as other sections need it. */
export type ContactRef = { id: string; name: string; email: string; company_id: string | null }

/** The contact with an address, however it is written. */
export async function findContact({ sql, organization_id }: Scope, email: string): Promise<ContactRef | undefined> {
  const [contact] = await sql<ContactRef[]>`
    select id, name, email, company_id from contacts
    where organization_id = ${organization_id} and email_key = ${addressKey(email)}`
  return contact
}

/** The select list is the response: its columns are the fields of `Contact`. */
function fields(scope: Scope) {
  const { sql } = scope
  return sql`
    c.id, c.name, c.email, c.phone,
    case when co.id is not null then json_build_object('id', co.id, 'name', co.name) end as company,
    c.notes, ${ticketCount(scope)} as ticket_count, c.created_at, c.updated_at`
}

function ticketCount(scope: Scope) {
  return tally(scope, 'tickets_of_contact', scope.sql`and key = c.id`)
}

/** SQL for the number of contacts that match. Only what is searched for is counted row by row. */
function total(scope: Scope, filter: ContactFilter) {
  const { sql } = scope
  const { search, email, company_id } = filter
  if (search || email !== undefined) return sql`(select count(*) from contacts c where ${matches(scope, filter)})`
  return tally(scope, 'contacts_of_company', company_id ? sql`and key = ${company_id}` : undefined)
}

function withCompany(sql: Sql) {
  return sql`left join companies co on co.organization_id = c.organization_id and co.id = c.company_id`
}

function matches({ sql, organization_id }: Scope, { search, company_id, email }: ContactFilter) {
  return sql`c.organization_id = ${organization_id}
    ${search ? sql`and c.search like ${`%${escapeLike(fold(search))}%`}` : sql``}
    ${company_id ? sql`and c.company_id = ${company_id}` : sql``}
    ${email === undefined ? sql`` : sql`and c.email_key = ${addressKey(email)}`}`
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
