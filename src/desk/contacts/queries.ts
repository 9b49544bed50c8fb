import { addressKey } from '../../base/address/email'
import type { Sql } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { idOfExternal } from '../../base/external-ids'
import type { Scope } from '../../base/scope'
import { escapeLike, fold } from '../../base/shapes/fold'
import { type Page, page } from '../../base/shapes/page'
import { exactTime } from '../../base/shapes/settled'
import type { Sorting } from '../../base/shapes/sorting'
import { hasWords, wordsOfFilter } from '../custom/custom-words'
import { tally } from '../tallies/tallies'
import type { Contact, ContactFilter, ContactSort, ContactWithTickets } from './model'

/** A row of a list; `changed_at` is `updated_at` with all its digits, in a list that is sorted by it. */
type ListRow = Contact & { changed_at?: string }

/** The contacts that match, newest first unless the filter has a sort. */
export async function listContacts(scope: Scope, filter: ContactFilter): Promise<Page<Contact>> {
  const { sql, organization_id } = scope
  const sort = sorting(sql, filter.sort)
  const changed_at = sort.by === 'updated_at' ? sql`, ${exactTime(sql, sql`c.updated_at`)} as changed_at` : sql``
  const { data, meta } = await page(scope, filter, {
    name: 'contacts',
    sort,
    rows: ({ slice, order }) => sql<ListRow[]>`
      with page as materialized (
        select c.id from contacts c where ${matches(scope, filter)} ${slice}
      )
      select ${fields(scope)} ${changed_at} from page
      join contacts c on c.organization_id = ${organization_id} and c.id = page.id
      ${withCompany(scope)}
      ${order}`,
    count: () => sql<{ total: number }[]>`select ${total(scope, filter)} as total`,
  })
  return { data: data.map(({ changed_at: _, ...contact }) => contact), meta }
}

/** The order of a sort. An id begins with the time of its creation. */
function sorting(sql: Sql, sort: ContactSort = '-created_at'): Sorting<ListRow> & { by: string } {
  const direction = sort.startsWith('-') ? 'desc' : 'asc'
  const by = sort.replace('-', '')
  const id = { sql: sql`c.id`, field: 'id' } as const
  if (by === 'created_at') return { by, keys: [id], direction }
  if (by === 'name') {
    const bound = (name: string | number) => sql`lower(${name})`
    return { by, keys: [{ sql: sql`lower(c.name)`, field: 'name', bound }, id], direction }
  }
  const keys = [{ sql: sql`c.updated_at`, field: 'changed_at' } as const, id]
  return direction === 'asc' ? { by, keys, direction, end: 'followed' } : { by, keys, direction }
}

/** A contact with its newest tickets. @throws CONTACT_NOT_FOUND */
export async function getContact(scope: Scope, id: string): Promise<ContactWithTickets> {
  const [contact] = await getContacts(scope, [id])
  if (!contact) throw await contactNotFound(scope, id)
  return contact
}

/** The 404 of a contact. Of one that was merged it says which contact it is now. */
export async function contactNotFound({ sql, organization_id }: Scope, id: string): Promise<ApiError> {
  const [merged] = await sql<{ id: string }[]>`
    select contact_id as id from merged_contacts where organization_id = ${organization_id} and id = ${id}`
  return new ApiError('CONTACT_NOT_FOUND', merged && { merged_into: { id: merged.id } })
}

/** Those of the given contacts that exist, as `getContact` returns them, oldest first. */
export function getContacts(scope: Scope, ids: string[]): Promise<ContactWithTickets[]> {
  const { sql, organization_id } = scope
  return sql<ContactWithTickets[]>`
    select ${fields(scope)}, ${ticketCount(scope)} as total_tickets, coalesce((
      select json_agg(json_build_object('id', r.id, 'code', r.code, 'subject', r.subject) order by r.id desc)
      from (
        select t.id, t.code, t.subject from tickets t
        where t.organization_id = ${organization_id} and t.contact_id = c.id and t.deleted_at is null
        order by t.id desc limit 10
      ) r
    ), '[]') as recent_tickets
    from contacts c
    ${withCompany(scope)}
    where c.organization_id = ${organization_id} and c.id = any(${ids}::uuid[])
    order by c.id`
}

/** The contact that has an address, however it is written. */
export async function findByAddress(
  { sql, organization_id }: Scope,
  email: string,
): Promise<{ id: string; external_id: string | null } | undefined> {
  const [found] = await sql<{ id: string; external_id: string | null }[]>`
    select c.id, c.external_id from contact_addresses a
    join contacts c on c.organization_id = ${organization_id} and c.id = a.contact_id
    where a.organization_id = ${organization_id} and a.email_key = ${addressKey(email)}`
  return found
}

/** A contact as other sections need it. */
export type ContactRef = { id: string; name: string; email: string; company_id: string | null }

/** The select list is the response: its columns are the fields of `Contact`. */
function fields(scope: Scope) {
  const { sql, organization_id } = scope
  return sql`
    c.id, c.name, c.email, array_prepend(c.email, array(
      select a.email from contact_addresses a
      where a.organization_id = ${organization_id} and a.contact_id = c.id and a.email_key <> c.email_key
      order by a.position, a.email_key
    )) as emails, c.phone,
    case when co.id is not null then json_build_object('id', co.id, 'name', co.name) end as company,
    c.notes, c.external_id, c.custom, ${ticketCount(scope)} as ticket_count, c.created_at, c.updated_at`
}

function ticketCount(scope: Scope) {
  return tally(scope, 'tickets_of_contact', scope.sql`and key = c.id`)
}

/** SQL for the number of contacts that match. Only what is searched for is counted row by row. */
function total(scope: Scope, filter: ContactFilter) {
  const { sql } = scope
  const { search, email, external_id, company_id, custom } = filter
  // Rows written since the last vacuum are fetched, too. By id they lie side by side, in the order of another index
  // anywhere.
  if (search || email !== undefined || external_id !== undefined || custom) {
    return sql`(select count(*) from (select 1 from contacts c where ${matches(scope, filter)} order by c.id) as found)`
  }
  return tally(scope, 'contacts_of_company', company_id ? sql`and key = ${company_id}` : undefined)
}

function withCompany({ sql, organization_id }: Scope) {
  return sql`left join companies co on co.organization_id = ${organization_id} and co.id = c.company_id`
}

function matches(scope: Scope, { search, company_id, email, external_id, custom }: ContactFilter) {
  const { sql, organization_id } = scope
  return sql`c.organization_id = ${organization_id}
    ${search ? sql`and ${contains(sql, fold(search))}` : sql``}
    ${company_id ? sql`and c.company_id = ${company_id}` : sql``}
    ${hasWords(sql, sql`c.custom_words`, wordsOfFilter(organization_id, custom))}
    ${email === undefined ? sql`` : sql`and c.id = (${idOfAddress(scope, email)})`}
    ${external_id === undefined ? sql`` : sql`and c.id = (${idOfExternal(scope, 'contacts', external_id)} limit 1)`}`
}

/** SQL for the id of the contact that has an address, however it is written. */
function idOfAddress({ sql, organization_id }: Scope, email: string) {
  return sql`
    select contact_id from contact_addresses
    where organization_id = ${organization_id} and email_key = ${addressKey(email)}`
}

/** Characters that the index of trigrams can find in every locale of the database. */
const TRIGRAM = /[a-z0-9]{3}/

/**
 * Without a trigram to look up, `like` would read the whole index of trigrams, which all organizations share: 98 ms in
 * a small one beside one of 100,000 contacts. `strpos` is in no index, so the organization's part of `contacts_list` is
 * read, 15 ms for 100,000 contacts.
 */
function contains(sql: Sql, part: string) {
  return TRIGRAM.test(part) ? sql`c.search like ${`%${escapeLike(part)}%`}` : sql`strpos(c.search, ${part}) > 0`
}
