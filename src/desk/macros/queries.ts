import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import type { Macro } from './model'

/** Lists the macros of the organization, by name. */
export function listMacros(scope: Scope, query: Paging): Promise<Page<Macro>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: 'macros',
    sort: {
      keys: [
        { sql: sql`lower(m.name)`, field: 'name', bound: (name) => sql`lower(${name})` },
        { sql: sql`m.id`, field: 'id' },
      ],
      direction: 'asc',
    },
    rows: ({ slice }) => selectMacros(scope, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from macros where organization_id = ${organization_id}`,
  })
}

/** @throws MACRO_NOT_FOUND */
export async function getMacro(scope: Scope, id: string): Promise<Macro> {
  const [macro] = await selectMacros(scope, scope.sql`and m.id = ${id}`)
  if (!macro) throw new ApiError('MACRO_NOT_FOUND')
  return macro
}

function selectMacros({ sql, organization_id }: Scope, rest: Fragment) {
  return sql<Macro[]>`
    select m.id, m.name, m.body, m.is_internal, m.changes, m.created_at, m.updated_at
    from macros m where m.organization_id = ${organization_id} ${rest}`
}
