import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import { isVisible } from '../tickets/saved-filter'
import type { View } from './model'

/** The views that the caller sees, by name: shared ones, and a person's own. */
export function listViews(scope: Scope, query: Paging): Promise<Page<View>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: 'views',
    sort: {
      keys: [
        { sql: sql`lower(v.name)`, field: 'name', bound: (name) => sql`lower(${name})` },
        { sql: sql`v.id`, field: 'id' },
      ],
      direction: 'asc',
    },
    rows: ({ slice }) => selectViews(scope, sql`${isVisible(scope)} ${slice}`),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from views v where v.organization_id = ${organization_id} and ${isVisible(scope)}`,
  })
}

/** A view that the caller sees. @throws VIEW_NOT_FOUND */
export async function getView(scope: Scope, id: string): Promise<View> {
  const [view] = await selectViews(scope, scope.sql`v.id = ${id} and ${isVisible(scope)}`)
  if (!view) throw new ApiError('VIEW_NOT_FOUND')
  return view
}

/** A view, whoever sees it. */
export async function readView(scope: Scope, id: string): Promise<View> {
  const [view] = await selectViews(scope, scope.sql`v.id = ${id}`)
  return view!
}

/** The select list is the response: its columns are the fields of `View`. */
function selectViews({ sql, organization_id }: Scope, condition: Fragment) {
  return sql<View[]>`
    select v.id, v.name, v.filter, v.sort, v.shared,
      case when u.id is not null then json_build_object('id', u.id, 'name', u.name) end as owner,
      v.created_at, v.updated_at
    from views v left join users u on u.id = v.owner_id
    where v.organization_id = ${organization_id} and ${condition}`
}
