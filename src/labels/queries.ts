import type { Fragment } from '../db/transact'
import { ApiError } from '../errors'
import type { Scope } from '../scope'
import type { PageMeta } from '../shapes/answers'
import { pageIfAsked } from '../shapes/page'
import type { Paging } from '../shapes/query'
import type { Label, LabelWithUsage } from './model'

/** All labels by name; a page of them, with `meta`, when the query asks for one. */
export function listLabels(scope: Scope, query: Paging): Promise<{ data: Label[]; meta?: PageMeta }> {
  const { sql, organization_id } = scope
  return pageIfAsked(scope, query, {
    sort: { keys: [sql`lower(l.name)`, sql`l.id`], direction: 'asc' },
    rows: ({ slice }) => selectLabels(scope, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from labels where organization_id = ${organization_id}`,
  })
}

/** A label, with the number of tickets in each status that carry it. @throws LABEL_NOT_FOUND */
export async function getLabel(scope: Scope, id: string): Promise<LabelWithUsage> {
  const { sql, organization_id } = scope
  const [label] = await sql<LabelWithUsage[]>`
    select l.id, l.name, l.color, l.description, l.created_at, count(t.id) as ticket_count,
      json_build_object(
        'open', count(*) filter (where t.status = 'open'),
        'pending', count(*) filter (where t.status = 'pending'),
        'resolved', count(*) filter (where t.status = 'resolved'),
        'closed', count(*) filter (where t.status = 'closed')
      ) as usage
    from labels l
    left join ticket_labels tl on tl.organization_id = l.organization_id and tl.label_id = l.id
    left join tickets t on t.organization_id = tl.organization_id and t.id = tl.ticket_id and t.deleted_at is null
    where l.organization_id = ${organization_id} and l.id = ${id}
    group by l.organization_id, l.id`
  if (!label) throw new ApiError('LABEL_NOT_FOUND')
  return label
}

/** The select list is the response: its columns are the fields of `Label`. */
function selectLabels({ sql, organization_id }: Scope, slice: Fragment) {
  return sql<Label[]>`
    select l.id, l.name, l.color, l.description, l.created_at, (
      select count(*) from ticket_labels tl
      join tickets t on t.organization_id = tl.organization_id and t.id = tl.ticket_id and t.deleted_at is null
      where tl.organization_id = l.organization_id and tl.label_id = l.id
    ) as ticket_count
    from labels l
    where l.organization_id = ${organization_id} ${slice}`
}
