/** The ticket list. One statement reads a page and its total. */
import type { Fragment } from '../db/transact'
import type { Scope } from '../scope'
import { emptyPage, type Page, type PagedList, page } from '../shapes/page'
import { countOf, isCounted } from './counts'
import { type Selection, selection } from './filter'
import type { Ticket, TicketFilter } from './model'
import { fields, present, type TicketRow, withNames } from './row'

/** A row of a page, with the number of tickets on all pages. */
type CountedRow = TicketRow & { total: number }

/** A way to read the rows of a list: the order, and the statement that reads a page in that order. */
type Reading = Pick<PagedList<CountedRow[], { total: number }>, 'sort' | 'rows'>

/** A page of the tickets that match, newest first unless the filter has a sort, and how many there are in all. */
export async function listTickets(scope: Scope, filter: TicketFilter): Promise<Page<Ticket>> {
  const { sql } = scope
  const selected = await selection(scope, filter, filter.sort)
  if (!selected) return emptyPage(filter)
  const total = isCounted(filter)
    ? countOf(scope, filter)
    : sql`(select count(*) from ${selected.from} where ${selected.where})`
  const reading = filter.search || filter.label_ids ? fromAll(scope, selected) : inOrder(scope, selected, total)
  const { data, meta } = await page(scope, filter, {
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
function inOrder({ sql }: Scope, { from, where, id, sort_key, direction }: Selection, total: Fragment): Reading {
  return {
    sort: { keys: sort_key === id ? [id] : [sort_key, id], direction },
    rows: ({ slice, order }) => sql<CountedRow[]>`
      with page as materialized (
        select t.organization_id, t.id from ${from} where ${where} ${slice}
      )
      select ${fields(sql)}, ${total} as total from page
      join tickets t using (organization_id, id)
      ${withNames(sql)}
      ${order}`,
  }
}

/** For words and labels, which lead to tickets in no order: all are found before they are sorted, and counted on the way. */
function fromAll({ sql, organization_id }: Scope, { from, where, id, sort_key, direction }: Selection): Reading {
  return {
    sort: { keys: [sql`hit.sort_key`, sql`hit.id`], direction },
    rows: ({ slice, order }) => sql<CountedRow[]>`
      with hits as materialized (
        select ${id} as id, ${sort_key} as sort_key from ${from} where ${where}
      ), page as materialized (
        select hit.id, hit.sort_key from hits hit where true ${slice}
      )
      select ${fields(sql)}, (select count(*) from hits) as total from page hit
      join tickets t on t.organization_id = ${organization_id} and t.id = hit.id
      ${withNames(sql)}
      ${order}`,
  }
}
