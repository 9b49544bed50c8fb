/** The company of a new contact. */
import { domainsOf, ownersOf } from '../../base/address/domains'
import type { Scope } from '../../base/scope'

/**
 * Finds the company of the first address that belongs to one by its domain, and keeps it from being deleted until the
 * caller's transaction ends.
 * @returns its id
 */
export async function findCompanyOf({ sql, organization_id }: Scope, emails: string[]): Promise<string | undefined> {
  const candidates = await sql<{ id: string; domains: string[] }[]>`
    select id, domains from companies
    where organization_id = ${organization_id} and domains && ${[...new Set(emails.flatMap(domainsOf))]}::text[]
    order by id for key share`
  const ownerOf = ownersOf(candidates)
  return emails.map(ownerOf).find((id) => id !== undefined)
}
