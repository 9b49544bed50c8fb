/**
 * Pages of lists, by number or by cursor. A list says what it is sorted by, how its rows are read and how they are
 * counted; `page` alone decides which part of it is shown, and writes `meta`. A list that shows everything unless it is
 * asked for a page is made by `pageIfAsked`.
 */
import { ZERO_ID } from '../db/columns'
import type { Fragment } from '../db/transact'
import { type ApiError, fieldError } from '../errors'
import type { Scope } from '../scope'
import type { PageMeta } from './answers'
import { cursorOf, type ListIdentity, type Position, positionOf } from './cursor'
import type { Paging } from './query'
import { settledTime } from './settled'
import { behind, orderBy, positionIn, type Sorting } from './sorting'

const DEFAULT_PER_PAGE = 20
const MAX_PER_PAGE = 100

/** The part of a list that is shown. */
type Range = {
  /** Ends a statement that reads this part, and must stand right after its conditions: `where … ${slice}`. */
  slice: Fragment
  /**
   * `slice` without its offset: all rows up to the end of this part. A list that merges several statements ends each of
   * them with `head`, and the outer one with `slice`.
   */
  head: Fragment
  /**
   * The condition of the slice alone, which begins with `and`; empty when the part begins with the first row or by
   * number.
   */
  behind: Fragment
  /** `order by`, for a statement around the one with the slice. */
  order: Fragment
  /** Most rows to read; Infinity for all. One more than the page shows, which tells if there is a next page. */
  limit: number
  /** Rows to skip. */
  offset: number
  /** `none` when the page does not say how many rows there are: then no statement counts them. */
  count: 'all' | 'none'
}

/** One list: `Row` is read as the answer shows it, `Counts` become part of `meta`. */
export type PagedList<Row, Counts> = {
  /** Its name, with the ids of its path: a cursor is good for this list only. */
  name: string
  sort: Sorting<Row>
  rows(range: Range): Promise<Row[]>
  /**
   * A result of one row. Gets the rows that are being read at the same time, for a list whose rows carry their total.
   */
  count(rows: Promise<Row[]>): Promise<Counts[]>
  /** Throws the 404 of the path. */
  parent?(): Promise<unknown>
  /**
   * Gives the row with which `rows` stopped to look for others, by its sort keys, when the page is not full. More may
   * follow.
   */
  endsAt?(): Partial<Row> | undefined
  /** Rows that pages by number reach; later ones need a cursor. All when left out. */
  reach?: number
}

export type Page<T> = { data: T[]; meta: PageMeta }

/** The page of a list that the query asks for; the first 20 rows when it asks for none. @throws VALIDATION_ERROR */
export async function page<Row extends object, Counts extends { total: number }>(
  scope: Scope,
  query: Paging,
  list: PagedList<Row, Counts>,
): Promise<{ data: Row[]; meta: PageMeta & Partial<Counts> }> {
  return query.cursor === undefined ? numberedPage(scope, query, list) : pageAfter(scope, query, query.cursor, list)
}

/** The whole list without `meta`; as `page` when the query asks for a page. @throws VALIDATION_ERROR */
export async function pageIfAsked<Row extends object, Counts extends { total: number }>(
  scope: Scope,
  query: Paging,
  list: PagedList<Row, Counts>,
): Promise<{ data: Row[]; meta?: PageMeta & Partial<Counts> }> {
  if (isPageAsked(query)) return page(scope, query, list)
  const order = orderBy(scope.sql, list.sort)
  return {
    data: await list.rows({
      slice: order,
      head: order,
      behind: scope.sql``,
      order,
      limit: Number.POSITIVE_INFINITY,
      offset: 0,
      count: 'none',
    }),
  }
}

/** The first rows of a list, which nobody counts. */
export async function firstRows<Row extends object>(
  scope: Scope,
  { sort, rows }: Pick<PagedList<Row, unknown>, 'sort' | 'rows'>,
  most = DEFAULT_PER_PAGE,
): Promise<Row[]> {
  // A page reads one row more.
  return rows(rangeOf(scope, sort, most - 1, scope.sql``))
}

/** Tells if a list that shows everything is to show a page. */
export function isPageAsked({ page, per_page, cursor }: Paging): boolean {
  return page !== undefined || per_page !== undefined || cursor !== undefined
}

async function numberedPage<Row extends object, Counts extends { total: number }>(
  scope: Scope,
  query: Paging,
  list: PagedList<Row, Counts>,
): Promise<{ data: Row[]; meta: PageMeta & Partial<Counts> }> {
  const { page = 1 } = query
  const per_page = perPage(query)
  const last = Math.ceil((list.reach ?? Number.POSITIVE_INFINITY) / per_page)
  if (page > last) return pageBeyond(scope, query, list, last)
  const offset = Math.min((page - 1) * per_page, Number.MAX_SAFE_INTEGER)
  const settled = list.sort.end && (await settledTime(scope.sql))
  const found = list.rows(rangeOf(scope, list.sort, per_page, scope.sql``, offset))
  const [rows, [counts]] = await Promise.all([found, list.count(found), list.parent?.()])
  const { total, ...others } = counts!
  const { data, next_cursor, is_ended } = shownOf(scope, query, list, rows, settled)
  if (is_ended && data.length === 0 && page > 1) throw behindLast(next_cursor)
  return { data, meta: { total, page, per_page, next_cursor, ...others } as PageMeta & Partial<Counts> }
}

/**
 * A page behind the last one that is shown by number. It is empty when the list ends before.
 * @throws VALIDATION_ERROR with the cursor that goes on behind the last page
 */
async function pageBeyond<Row extends object, Counts extends { total: number }>(
  scope: Scope,
  query: Paging,
  list: PagedList<Row, Counts>,
  last: number,
): Promise<{ data: Row[]; meta: PageMeta & Partial<Counts> }> {
  const { data, meta } = await numberedPage(scope, { ...query, page: last }, list)
  const is_whole = data.length < meta.per_page && !list.endsAt?.()
  if (is_whole || meta.next_cursor === null) return { data: [], meta: { ...meta, page: query.page } }
  throw behindLast(meta.next_cursor)
}

function behindLast(cursor: string | null): ApiError {
  const message = 'lies behind the last page that is shown by number. details.cursor leads on'
  return fieldError('VALIDATION_ERROR', '/query/page', message, { cursor })
}

async function pageAfter<Row extends object, Counts>(
  scope: Scope,
  query: Paging,
  cursor: string,
  list: PagedList<Row, Counts>,
): Promise<{ data: Row[]; meta: PageMeta & Partial<Counts> }> {
  await list.parent?.()
  if (query.page !== undefined) {
    throw fieldError('VALIDATION_ERROR', '/query/cursor', 'must stand without page')
  }
  const per_page = perPage(query)
  const after = positionOf(identityOf(scope, query, list), cursor, list.sort.keys.length)
  const settled = list.sort.end && (await settledTime(scope.sql))
  const rows = await list.rows(rangeOf(scope, list.sort, per_page, behind(scope.sql, list.sort, after, settled)))
  const { data, next_cursor } = shownOf(scope, query, list, rows, settled, after)
  return { data, meta: { per_page, next_cursor } as PageMeta & Partial<Counts> }
}

function perPage({ per_page = DEFAULT_PER_PAGE }: Paging): number {
  return Math.min(per_page, MAX_PER_PAGE)
}

/** The facts that cursors of the list are bound to: all of the query except for what says which page it is. */
function identityOf<Row, Counts>(scope: Scope, query: Paging, { name }: PagedList<Row, Counts>): ListIdentity {
  const { page: _page, per_page: _per_page, cursor: _cursor, ...filter } = query
  return { organization_id: scope.organization_id, name, filter }
}

/** @param condition of the page beside those of the list: nothing, or `and …` */
function rangeOf<Row>(
  { sql }: Scope,
  sort: Sorting<Row>,
  per_page: number,
  condition: Fragment,
  offset?: number,
): Range {
  const order = orderBy(sql, sort)
  const limit = per_page + 1
  // With a parameter in `limit` the server plans the statement anew each time: 3.3 ms for a page of tickets that is
  // read in 1.1 ms.
  const most = sql.unsafe(`limit ${limit}`)
  const slice = sql`${condition} ${order} ${most} ${offset ? sql`offset ${offset}` : sql``}`
  const head = sql`${condition} ${order} ${offset ? sql`limit ${offset + limit}` : most}`
  return {
    slice,
    head,
    behind: condition,
    order,
    limit,
    offset: offset ?? 0,
    count: offset === undefined ? 'none' : 'all',
  }
}

/**
 * The rows of a page, and the cursor of the next one, which is null at the end of a list that is not followed.
 * @param rows what was read: one more than the page shows when there is a next page
 * @param settled of a followed list
 * @param after the position of the page, when a cursor gave it
 * @returns `is_ended`: more rows may follow although none were found
 */
function shownOf<Row extends object, Counts>(
  scope: Scope,
  query: Paging,
  list: PagedList<Row, Counts>,
  rows: Row[],
  settled: string | undefined,
  after?: Position,
): { data: Row[]; next_cursor: string | null; is_ended: boolean } {
  const data = rows.slice(0, perPage(query))
  const has_more = rows.length > data.length
  const end = has_more ? undefined : list.endsAt?.()
  const last = (end as Row | undefined) ?? data.at(-1)
  const position = last && positionIn(last, list.sort)
  const next = settled === undefined ? (has_more || end) && position : nextFollowed(settled, position, after)
  return {
    data,
    next_cursor: next ? cursorOf(identityOf(scope, query, list), next) : null,
    is_ended: end !== undefined,
  }
}

/** A page by number shows what is not settled too: it is shown again, because other changes may come before it. */
function nextFollowed(settled: string, position: Position | undefined, after: Position | undefined): Position {
  const horizon = [settled, ZERO_ID]
  if (position) return position[0]! < settled ? position : horizon
  return after && after[0]! >= settled ? after : horizon
}
