/** The ticket list. One statement reads a page and its total. */
import type { Fragment, Sql } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { page } from '../../base/shapes/page'
import { exactTime } from '../../base/shapes/settled'
import { type Selection, selection } from './filter'
import { conditionsOf, FAR, type ListRow, wayToPage } from './find-page'
import type { Ticket, TicketFilter, TicketListMeta } from './model'
import { fromNearerEnd } from './nearer-end'
import { fields, present, withNames } from './row'
import { searched, wayOfSearch } from './search-list'
import { COUNTED_MOST, totalOf } from './total'

type Counts = { total: number; total_is_exact: boolean }

/** A page of the tickets that match, newest first unless the filter has a sort, and how many there are in all. */
export async function listTickets(
  scope: Scope,
  filter: TicketFilter,
): Promise<{ data: Ticket[]; meta: TicketListMeta }> {
  const { sql, organization_id } = scope
  const found_by_words = await searched(scope, filter)
  const selected = found_by_words ?? selection(scope, filter, filter.sort)
  const way = await (found_by_words ? wayOfSearch(scope, filter, found_by_words) : wayToPage(scope, filter, selected))
  const { total, is_capped } = totalOf(scope, filter, selected)
  // A page without rows has one that holds the total alone.
  let counted = 0
  const { data, meta } = await page<ListRow, Counts>(scope, filter, {
    name: 'tickets',
    sort: way.sort,
    reach:
      is_capped || (selected.by !== 'id' && Object.keys(conditionsOf(filter)).length > 0) ? COUNTED_MOST : undefined,
    async rows(range) {
      const is_far = way.is_walk && !is_capped && range.offset >= FAR
      const part = is_far ? await fromNearerEnd(scope, way, range, total) : range
      const is_near = await way.isNear?.(part)
      const number = range.count === 'all' ? (way.found?.() ?? total) : sql`0`
      const rows = await sql<ListRow[]>`
        with ${way.find(part, is_near)}
        select ${fields(scope)} ${extras(sql, selected)}, counted.total
        from (select ${number} as total) as counted
        left join (page join tickets t on t.organization_id = ${organization_id} and t.id = page.id) on true
        ${withNames(scope)}
        ${orderOf(sql, selected)}`
      counted = rows[0]!.total
      return rows.filter(({ id }) => id !== null)
    },
    async count(rows) {
      await rows
      const total_is_exact = !is_capped || counted <= COUNTED_MOST
      return [{ total: total_is_exact ? counted : COUNTED_MOST, total_is_exact }]
    },
  })
  return { data: data.map(present), meta }
}

/** The columns of a row beside those of a ticket. */
function extras(sql: Sql, { by }: Selection): Fragment {
  return by === 'updated_at' ? sql`, ${exactTime(sql, sql`t.updated_at`)} as changed_at` : sql``
}

/** The order of the rows of a page. */
function orderOf(sql: Sql, { by, direction }: Selection): Fragment {
  const way = sql.unsafe(direction)
  const key = { id: sql``, updated_at: sql`t.updated_at ${way},`, rank: sql`ticket_rank(t.priority) ${way},` }[by]
  return sql`order by ${key} t.id ${way}`
}
