import type { TICKET_STATUSES } from '../../base/db/schema'
import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import type { PageMeta } from '../../base/shapes/answers'
import { pageIfAsked } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import { talliesOf } from '../tallies/tallies'
import type { Label, LabelWithUsage } from './model'

/** All labels by name; a page of them, with `meta`, when the query asks for one. */
export function listLabels(scope: Scope, query: Paging): Promise<{ data: Label[]; meta?: PageMeta }> {
  const { sql, organization_id } = scope
  return pageIfAsked(scope, query, {
    name: 'labels',
    sort: {
      keys: [
        { sql: sql`lower(l.name)`, field: 'name', bound: (name) => sql`lower(${name})` },
        { sql: sql`l.id`, field: 'id' },
      ],
      direction: 'asc',
    },
    rows: ({ slice }) => selectLabels(scope, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from labels where organization_id = ${organization_id}`,
  })
}

/** A label, with the number of tickets in each status that carry it. @throws LABEL_NOT_FOUND */
export async function getLabel(scope: Scope, id: string): Promise<LabelWithUsage> {
  const { sql, organization_id } = scope
  const inStatus = (status: (typeof TICKET_STATUSES)[number]) =>
    sql`coalesce(sum(n) filter (where status = ${status}), 0)`
  const [label] = await sql<LabelWithUsage[]>`
    select l.id, l.name, l.color, l.description, l.created_at, coalesce(sum(n), 0)::bigint as ticket_count,
      json_build_object(
        'open', ${inStatus('open')}, 'pending', ${inStatus('pending')},
        'resolved', ${inStatus('resolved')}, 'closed', ${inStatus('closed')}
      ) as usage
    from labels l
    left join ${talliesOf(scope, 'tickets_of_label', sql`and key = ${id}`)} on true
    where l.organization_id = ${organization_id} and l.id = ${id}
    group by l.organization_id, l.id`
  if (!label) throw new ApiError('LABEL_NOT_FOUND')
  return label
}

/**
 * Locks a label against other changes until the caller's transaction ends; tickets may still get it.
 * @throws LABEL_NOT_FOUND
 */
export async function lockLabel({ sql, organization_id }: Scope, id: string) {
  const [label] = await sql<Pick<Label, 'name' | 'color' | 'description'>[]>`
    select name, color, description from labels
    where organization_id = ${organization_id} and id = ${id} for no key update`
  if (!label) throw new ApiError('LABEL_NOT_FOUND')
  return label
}

/** The select list is the response: its columns are the fields of `Label`. */
function selectLabels(scope: Scope, slice: Fragment) {
  const { sql, organization_id } = scope
  return sql<Label[]>`
    select l.id, l.name, l.color, l.description, l.created_at, coalesce(used.n, 0) as ticket_count
    from labels l
    left join (
      select key, sum(n)::bigint as n from ${talliesOf(scope, 'tickets_of_label')} group by key
    ) as used on used.key = l.id
    where l.organization_id = ${organization_id} ${slice}`
}
