import { domainsOf } from '../../base/address/domains'
import type { Connection, Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import { recordName } from './challenge'
import type { Domain } from './model'

/** Lists the domains of the organization, newest first. */
export function listDomains(scope: Scope, query: Paging): Promise<Page<Domain>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: 'domains',
    sort: { keys: [{ sql: sql`id`, field: 'id' }], direction: 'desc' },
    rows: ({ slice }) => selectDomains(scope, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from domains where organization_id = ${organization_id}`,
  })
}

/** Reads a domain. @throws DOMAIN_NOT_FOUND */
export async function getDomain(scope: Scope, id: string): Promise<Domain> {
  const [domain] = await selectDomains(scope, scope.sql`and id = ${id}`)
  if (!domain) throw new ApiError('DOMAIN_NOT_FOUND')
  return domain
}

/** Tells whether the organization has verified the domain that a host is, or one above it. */
export async function isVerifiedHost({ sql }: Connection, organization_id: string, host: string): Promise<boolean> {
  const [verified] = await sql`
    select from domains
    where organization_id = ${organization_id} and domain = any(${domainsOf(host)}) and verified_at is not null`
  return verified !== undefined
}

type DomainRow = Pick<Domain, 'id' | 'domain' | 'status'> & { challenge: string }

async function selectDomains({ sql, organization_id }: Scope, rest: Fragment): Promise<Domain[]> {
  const rows = await sql<DomainRow[]>`
    select id, domain, challenge, case when verified_at is null then 'pending' else 'verified' end as status
    from domains where organization_id = ${organization_id} ${rest}`
  return rows.map(({ challenge, ...row }) => ({
    ...row,
    dns_record: { name: recordName(row.domain), value: challenge },
  }))
}
