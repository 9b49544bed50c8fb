import type { Sql } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import { hasWords, wordsOfFilter } from '../custom/custom-words'
import { tally } from '../tallies/tallies'
import type { Company, CompanyFilter, CompanyWithDetails } from './model'

/** The companies of the organization that match, newest first. */
export function listCompanies(scope: Scope, query: CompanyFilter): Promise<Page<Company>> {
  const { sql, organization_id } = scope
  const { search, external_id, custom } = query
  const isFound = () => sql`
    ${hasWords(sql, sql`c.custom_words`, wordsOfFilter(organization_id, custom))}
    ${external_id === undefined ? sql`` : sql`and c.external_id = ${external_id}`}
    ${search === undefined ? sql`` : sql`and ${contains(sql, search)}`}`
  return page(scope, query, {
    name: 'companies',
    sort: { keys: [{ sql: sql`c.id`, field: 'id' }], direction: 'desc' },
    rows: ({ slice, order }) => sql<Company[]>`
      with page as materialized (
        select c.id from companies c where c.organization_id = ${organization_id} ${isFound()} ${slice}
      )
      select ${fields(scope)} from page
      join companies c on c.organization_id = ${organization_id} and c.id = page.id
      join organizations o on o.id = ${organization_id}
      ${order}`,
    count: () => sql<{ total: number }[]>`
      select count(*) as total from companies c where c.organization_id = ${organization_id} ${isFound()}`,
  })
}

/** Reads all companies of the organization, without an index. Domains are in lower case. */
function contains(sql: Sql, search: string) {
  const part = search.toLowerCase()
  return sql`(strpos(lower(c.name), ${part}) > 0
    or exists (select from unnest(c.domains) as domain where strpos(domain, ${part}) > 0))`
}

/** A company with its contacts, newest tickets and totals. @throws COMPANY_NOT_FOUND */
export async function getCompany(scope: Scope, id: string): Promise<CompanyWithDetails> {
  const { sql, organization_id } = scope
  const [company] = await sql<CompanyWithDetails[]>`
    select ${fields(scope)}, ${ticketCount(scope)} as total_tickets,
      coalesce((
        select json_agg(json_build_object('id', r.id, 'name', r.name, 'email', r.email) order by r.id desc)
        from (
          select p.id, p.name, p.email from contacts p
          where p.organization_id = ${organization_id} and p.company_id = c.id
          order by p.id desc limit 1000
        ) r
      ), '[]') as contacts,
      coalesce((
        select json_agg(json_build_object('id', r.id, 'code', r.code, 'subject', r.subject) order by r.id desc)
        from (
          select t.id, t.code, t.subject from tickets t
          where t.organization_id = ${organization_id} and t.company_id = c.id and t.deleted_at is null
          order by t.id desc limit 10
        ) r
      ), '[]') as recent_tickets,
      coalesce((
        select sum(e.duration_minutes) from time_entries e
        where e.organization_id = ${organization_id} and e.company_id = c.id
      ), 0) as total_time_minutes
    from companies c
    join organizations o on o.id = ${organization_id}
    where c.organization_id = ${organization_id} and c.id = ${id}`
  if (!company) throw new ApiError('COMPANY_NOT_FOUND')
  return company
}

type CompanyRef = { id: string; name: string }

/** The fields that a request may change, as they are stored. */
type StoredCompany = Pick<
  Company,
  'name' | 'domains' | 'hourly_rate' | 'ticket_prefix' | 'notes' | 'external_id' | 'custom'
> & { currency: string | null }

/**
 * Locks a company against changes until the caller's transaction ends, and reads its fields.
 * @throws COMPANY_NOT_FOUND
 */
export async function lockCompany({ sql, organization_id }: Scope, id: string): Promise<StoredCompany> {
  const [company] = await sql<StoredCompany[]>`
    select name, domains, hourly_rate, currency, ticket_prefix, notes, external_id, custom from companies
    where organization_id = ${organization_id} and id = ${id} for no key update`
  if (!company) throw new ApiError('COMPANY_NOT_FOUND')
  return company
}

/** Keeps a company from being deleted until the caller's transaction ends. @throws COMPANY_NOT_FOUND */
export async function shareCompany({ sql, organization_id }: Scope, id: string): Promise<CompanyRef> {
  const [company] = await sql<CompanyRef[]>`
    select id, name from companies where organization_id = ${organization_id} and id = ${id} for key share`
  if (!company) throw new ApiError('COMPANY_NOT_FOUND')
  return company
}

/** The select list is the response: its columns are the fields of `Company`. */
function fields(scope: Scope) {
  const { sql } = scope
  return sql`
    c.id, c.name, c.domains, c.hourly_rate, coalesce(c.currency, o.currency) as currency, c.ticket_prefix, c.notes,
    c.external_id, c.custom,
    ${tally(scope, 'contacts_of_company', sql`and key = c.id`)} as contact_count,
    ${ticketCount(scope)} as ticket_count, c.created_at, c.updated_at`
}

function ticketCount(scope: Scope) {
  return tally(scope, 'tickets_of_company', scope.sql`and key = c.id`)
}
