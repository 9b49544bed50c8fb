/** The ticket list. One statement reads a page and its total. */
import type { Scope } from '../../base/scope'
import { page } from '../../base/shapes/page'
import { orderBy } from '../../base/shapes/sorting'
import { isFound } from '../search/ticket-search'
import { type Conditions, givenOf, selection } from './filter'
import { FAR, type ListRow, type Place, wayToPage } from './find-page'
import type { Ticket, TicketFilter, TicketListMeta } from './model'
import { fromNearerEnd } from './nearer-end'
import { extraColumn, sorting } from './order'
import { fields, present, withNames } from './row'
import { areFewAsked, searchOf, wayOfSearch } from './search-list'
import { COUNTED_MOST, totalOf } from './total'

type Counts = { total: number; total_is_exact: boolean }

/** A page of the tickets that match, newest first unless the filter has a sort, and how many there are in all. */
export async function listTickets(
  scope: Scope,
  filter: TicketFilter,
): Promise<{ data: Ticket[]; meta: TicketListMeta }> {
  const { sql, organization_id } = scope
  const search = await searchOf(scope, filter)
  const conditions: TicketFilter & Conditions =
    search && filter.search ? { ...filter, found: isFound(scope, search) } : filter
  const selected = selection(scope, conditions, filter.sort)
  const way =
    search && !(await areFewAsked(scope, search))
      ? wayOfSearch(scope, conditions, selected, search)
      : await wayToPage(scope, conditions, selected)
  const { total, is_capped } = totalOf(scope, filter, selected)
  let counted = 0
  let is_part = false
  let end: Place | undefined
  const { data, meta } = await page<ListRow, Counts>(scope, asOneWord(filter), {
    name: 'tickets',
    sort: way.sort,
    reach: is_capped || search || (selected.by !== 'id' && givenOf(filter).length > 0) ? COUNTED_MOST : undefined,
    async rows(range) {
      const is_far = way.is_walk && !is_capped && range.offset >= FAR
      const part = is_far ? await fromNearerEnd(scope, way, range, total) : range
      const found = await way.find(part)
      const number = range.count === 'all' ? (is_capped && found.total) || total : sql`0`
      // A page without rows has one that holds the total alone.
      const rows = await sql<(ListRow & { end_id: string | null })[]>`
        with ${found.tables}
        select ${fields(scope)} ${extraColumn(sql, selected)}, counted.total, counted.end_id
        from (select ${number} as total, ${found.end_id ?? sql`null::uuid`} as end_id) as counted
        left join (page join tickets t on t.organization_id = ${organization_id} and t.id = page.id) on true
        ${withNames(scope)}
        ${orderBy(sql, sorting(sql, selected))}`
      const { total: all, end_id } = rows[0]!
      counted = all
      end = end_id === null ? found.end : { id: end_id }
      is_part = found.is_part ?? end_id !== null
      return rows.filter(({ id }) => id !== null)
    },
    async count(rows) {
      await rows
      const total_is_exact = !is_capped || (counted <= COUNTED_MOST && !is_part)
      return [{ total: is_capped ? Math.min(counted, COUNTED_MOST) : counted, total_is_exact }]
    },
    endsAt: () => end,
  })
  return { data: data.map(present), meta }
}

/** The query that a cursor is bound to. With one word it is as before lists of them: readers keep cursors for long. */
function asOneWord(filter: TicketFilter): Record<string, unknown> {
  const told = ([name, value]: [string, unknown]) =>
    (name === 'status' || name === 'priority') && Array.isArray(value) && value.length === 1
      ? [name, value[0]]
      : [name, value]
  return Object.fromEntries(Object.entries(filter).map(told))
}
