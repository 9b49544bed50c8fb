import type { Scope } from '../scope'
import { domainsOf, ownersOf } from './domains'

/** The id of the company that an address belongs to, kept from being deleted until the caller's transaction ends. */
export async function findCompanyOf({ sql, organization_id }: Scope, email: string): Promise<string | undefined> {
  const candidates = await sql<{ id: string; domains: string[] }[]>`
    select id, domains from companies
    where organization_id = ${organization_id} and domains && ${domainsOf(email)}::text[]
    order by id for key share`
  return ownersOf(candidates)(email)
}
