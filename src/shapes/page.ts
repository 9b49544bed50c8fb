/**
 * Pages of lists. A list says what it is sorted by, how its rows are read and how they are counted; `page` alone decides
 * which part of it is shown, and writes `meta`. A list that shows everything unless it is asked for a page is made by
 * `pageIfAsked`.
 */
import type { Fragment } from '../db/transact'
import type { Scope } from '../scope'
import type { PageMeta } from './answers'
import type { Paging } from './query'

const DEFAULT_PER_PAGE = 20
const MAX_PER_PAGE = 100

/** The order of a list: keys in one direction, the last of which no two rows share. */
type Sorting = { keys: Fragment[]; direction: 'asc' | 'desc' }

/** The part of a list that is shown. */
type Range = {
  /** Ends a statement that reads this part, and must stand right after its conditions: `where … ${slice}`. */
  slice: Fragment
  /** `order by`, for a statement around the one with the slice. */
  order: Fragment
  /** At most so many rows; Infinity for all. */
  limit: number
  /** So many rows come before them. */
  offset: number
}

/** One list: `Rows` are read as the answer shows them, `Counts` become part of `meta`. */
export type PagedList<Rows, Counts> = {
  sort: Sorting
  rows(range: Range): Promise<Rows>
  /** A result of one row. Gets the rows that are being read at the same time, for a list whose rows carry their total. */
  count(rows: Promise<Rows>): Promise<Counts[]>
}

export type Page<T> = { data: T[]; meta: PageMeta }

/** The page of a list that the query asks for; the first 20 rows when it asks for none. */
export async function page<Rows, Counts extends { total: number }>(
  { sql }: Scope,
  query: Paging,
  list: PagedList<Rows, Counts>,
): Promise<{ data: Rows; meta: PageMeta & Counts }> {
  const { page, per_page } = pageOf(query)
  const offset = Math.min((page - 1) * per_page, Number.MAX_SAFE_INTEGER)
  const order = orderBy(sql, list.sort)
  // With a parameter in `limit` the server plans the statement anew each time: 3.3 ms for a page of tickets that is read
  // in 1.1 ms.
  const slice = sql`${order} ${sql.unsafe(`limit ${per_page}`)} ${offset > 0 ? sql`offset ${offset}` : sql``}`
  const rows = list.rows({ slice, order, limit: per_page, offset })
  const [data, [counts]] = await Promise.all([rows, list.count(rows)])
  const { total, ...others } = counts!
  return { data, meta: { total, page, per_page, ...others } as PageMeta & Counts }
}

/** The whole list without `meta`; as `page` when the query asks for a page. */
export async function pageIfAsked<Rows, Counts extends { total: number }>(
  scope: Scope,
  query: Paging,
  list: PagedList<Rows, Counts>,
): Promise<{ data: Rows; meta?: PageMeta & Counts }> {
  if (query.page !== undefined || query.per_page !== undefined) return page(scope, query, list)
  const order = orderBy(scope.sql, list.sort)
  return { data: await list.rows({ slice: order, order, limit: Number.POSITIVE_INFINITY, offset: 0 }) }
}

/** The page of a list that has no rows. */
export function emptyPage(query: Paging): Page<never> {
  return { data: [], meta: { total: 0, ...pageOf(query) } }
}

function pageOf({ page = 1, per_page = DEFAULT_PER_PAGE }: Paging) {
  return { page, per_page: Math.min(per_page, MAX_PER_PAGE) }
}

function orderBy(sql: Scope['sql'], { keys, direction }: Sorting): Fragment {
  const way = sql.unsafe(direction)
  return sql`order by ${keys.map((key, index) => (index > 0 ? sql`, ${key} ${way}` : sql`${key} ${way}`))}`
}
