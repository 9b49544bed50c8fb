import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import type { SlaPolicy } from './model'

/** The policies of the organization, in the order in which they are tried. */
export function listSlaPolicies(scope: Scope, query: Paging): Promise<Page<SlaPolicy>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: 'sla-policies',
    sort: {
      keys: [
        { sql: sql`p.position`, field: 'position', bound: (position) => sql`${position}::integer` },
        { sql: sql`p.id`, field: 'id' },
      ],
      direction: 'asc',
    },
    rows: ({ slice }) => selectPolicies(scope, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from sla_policies where organization_id = ${organization_id}`,
  })
}

/** @throws SLA_POLICY_NOT_FOUND */
export async function getSlaPolicy(scope: Scope, id: string): Promise<SlaPolicy> {
  const [policy] = await selectPolicies(scope, scope.sql`and p.id = ${id}`)
  if (!policy) throw new ApiError('SLA_POLICY_NOT_FOUND')
  return policy
}

/** The select list is the response: its columns are the fields of `SlaPolicy`. */
export function selectPolicies({ sql, organization_id }: Scope, rest: Fragment) {
  return sql<SlaPolicy[]>`
    select p.id, p.name, p.position, p.filter, p.schedule_id, p.targets, p.active, p.created_at, p.updated_at
    from sla_policies p where p.organization_id = ${organization_id} ${rest}`
}
