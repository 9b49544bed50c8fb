/** The ticket list. One statement reads a page and its total. */
import type { Fragment, Sql } from '../db/transact'
import type { Scope } from '../scope'
import { type Page, type PagedList, page, type Sorting } from '../shapes/page'
import { exactTime } from '../shapes/settled'
import { countOf, isCounted } from './counts'
import { type Selection, selection } from './filter'
import type { Ticket, TicketFilter } from './model'
import { fields, present, type TicketRow, withNames } from './row'

/** A row of a page. A page that is counted has the number of tickets on all pages in each row. */
type ListRow = TicketRow & {
  total: number
  /** `updated_at` with all its digits, in a list that is sorted by it. */
  changed_at: string
}

/** A way to read the rows of a list: the order, and the statement that reads a page in that order. */
type Reading = Pick<PagedList<ListRow, { total: number }>, 'sort' | 'rows'>

/** A page of the tickets that match, newest first unless the filter has a sort, and how many there are in all. */
export async function listTickets(scope: Scope, filter: TicketFilter): Promise<Page<Ticket>> {
  const { sql } = scope
  const selected = await selection(scope, filter, filter.sort)
  const total = isCounted(filter)
    ? countOf(scope, filter)
    : sql`(select count(*) from ${selected.from} where ${selected.where})`
  const reading = filter.search || filter.label_ids ? fromAll(scope, selected) : inOrder(scope, selected, total)
  const { data, meta } = await page(scope, filter, {
    name: 'tickets',
    ...reading,
    // Only a page without rows needs a statement for its total.
    async count(rows) {
      const [row] = await rows
      return row ? [{ total: row.total }] : sql<{ total: number }[]>`select ${total} as total`
    },
  })
  return { data: data.map(present), meta }
}

/** For an index that has the order: its first entries are the page. The ids come first, and only they are joined. */
function inOrder({ sql }: Scope, selected: Selection, total: Fragment): Reading {
  const { from, where, id, sort_key } = selected
  return {
    sort: sorting(sql, selected, sort_key, id),
    rows: ({ slice, order, count }) => sql<ListRow[]>`
      with page as materialized (
        select t.organization_id, t.id from ${from} where ${where} ${slice}
      )
      select ${fields(sql)} ${extras(sql, selected, count === 'all' ? total : undefined)} from page
      join tickets t using (organization_id, id)
      ${withNames(sql)}
      ${order}`,
  }
}

/** For words and labels, which lead to tickets in no order: all are found before they are sorted, and counted on the way. */
function fromAll({ sql, organization_id }: Scope, selected: Selection): Reading {
  const { from, where, id, sort_key } = selected
  return {
    sort: sorting(sql, selected, sql`hit.sort_key`, sql`hit.id`),
    rows: ({ slice, order, count }) => sql<ListRow[]>`
      with hits as materialized (
        select ${id} as id, ${sort_key} as sort_key from ${from} where ${where}
      ), page as materialized (
        select hit.id, hit.sort_key from hits hit where true ${slice}
      )
      select ${fields(sql)} ${extras(sql, selected, count === 'all' ? sql`(select count(*) from hits)` : undefined)}
      from page hit
      join tickets t on t.organization_id = ${organization_id} and t.id = hit.id
      ${withNames(sql)}
      ${order}`,
  }
}

/** @param sort_key what the statement sorts by @param id what breaks its ties */
function sorting(sql: Sql, { by, direction }: Selection, sort_key: Fragment, id: Fragment): Sorting<ListRow> {
  const last = { sql: id, field: 'id' } as const
  if (by === 'id') return { keys: [last], direction }
  if (by === 'rank') {
    const bound = (priority: string | number) => sql`ticket_rank(${priority})`
    return { keys: [{ sql: sort_key, field: 'priority', bound }, last], direction }
  }
  const keys = [{ sql: sort_key, field: 'changed_at' } as const, last]
  return direction === 'asc' ? { keys, direction, end: 'followed' } : { keys, direction }
}

/** The columns of a row beside those of a ticket. */
function extras(sql: Sql, { by }: Selection, total?: Fragment): Fragment {
  return sql`
    ${by === 'updated_at' ? sql`, ${exactTime(sql, sql`t.updated_at`)} as changed_at` : sql``}
    ${total ? sql`, ${total} as total` : sql``}`
}
