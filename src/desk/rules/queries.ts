import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import type { Rule } from './model'

/** Lists the rules of the organization, by name: so they are applied. */
export function listRules(scope: Scope, query: Paging): Promise<Page<Rule>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: 'rules',
    sort: {
      keys: [
        { sql: sql`lower(r.name)`, field: 'name', bound: (name) => sql`lower(${name})` },
        { sql: sql`r.id`, field: 'id' },
      ],
      direction: 'asc',
    },
    rows: ({ slice }) => selectRules(scope, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from rules where organization_id = ${organization_id}`,
  })
}

/** @throws RULE_NOT_FOUND */
export function getRule(scope: Scope, id: string): Promise<Rule> {
  return readRule(scope, id, scope.sql``)
}

/** Reads a rule and locks it against changes until the transaction ends. @throws RULE_NOT_FOUND */
export function lockRule(scope: Scope, id: string): Promise<Rule> {
  return readRule(scope, id, scope.sql`for no key update`)
}

async function readRule(scope: Scope, id: string, lock: Fragment): Promise<Rule> {
  const [rule] = await selectRules(scope, scope.sql`and r.id = ${id} ${lock}`)
  if (!rule) throw new ApiError('RULE_NOT_FOUND')
  return rule
}

/** The select list is the response: its columns are the fields of `Rule`. */
function selectRules({ sql, organization_id }: Scope, rest: Fragment) {
  return sql<Rule[]>`
    select r.id, r.name, r."on", r.filter, r.macro_id, r.active, r.status, cardinality(r.failed_ticket_ids) as failures,
      r.created_at, r.updated_at
    from rules r where r.organization_id = ${organization_id} ${rest}`
}
