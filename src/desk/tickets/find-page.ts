/**
 * Ways to find the ids of a page of tickets. A way reads about as many index entries as there are rows up to the end of
 * the page, however many tickets match; only the ids of the page are joined then.
 */
import { TICKET_STATUSES } from '../../base/db/schema'
import { LAST_ID } from '../../base/db/schema/ticket-order'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import type { PagedList } from '../../base/shapes/page'
import type { Sorting } from '../../base/shapes/sorting'
import { partsOfUnread } from '../read-marks/unread'
import { talliesOf, tally } from '../tallies/tallies'
import { inStatus, rankOf } from './condition'
import { type Conditions, filters, givenOf, ofEachLabel, type Selection } from './filter'
import type { TicketFilter } from './model'
import { columnsOfPlace, columnsToSort, keyOf, type SortedRow, sorting } from './order'
import type { TicketRow } from './row'
import { COUNTED_MOST } from './total'

/** A row of a page. A page that is counted has the number of tickets on all pages in each row. */
export type ListRow = TicketRow & SortedRow & { total: number }

export type Range = Parameters<PagedList<ListRow, { total: number }>['rows']>[0]

/** A ticket by its place in a list. */
export type Place = Pick<ListRow, 'id'> & Partial<ListRow>

type Found = {
  /** SQL for `with`: the last table is `page`, with the column `id`. */
  tables: Fragment
  /** SQL for the number of all tickets that match, or of more than are counted, when they are found on the way. */
  total?: Fragment
  /** More match than are counted, although the number is smaller than that. */
  is_part?: boolean
  /** The ticket with which the search for the page ended, when more may follow: as SQL for its id, or read. */
  end_id?: Fragment
  end?: Place
}

export type Way = {
  sort: Sorting<ListRow>
  find(range: Range): Found | Promise<Found>
  /** Walks from an end of the list to the page, however far that is. */
  is_walk?: boolean
}

/** Up to so many tickets of a label are all read. With more, some come soon in any order. */
const LABELLED_MOST = 50_000
/** Tickets that match, when they are at most so many, are sorted. With more of them the order is walked. */
const SORTED_MOST = 5000
/**
 * So many tickets are looked at in an order before those that match are sorted. The same for each page: where the walk
 * for a page by number ends, that for the next one does, too.
 */
const WALKED_MOST = 20_000
/**
 * So many are looked at where all that match are read, before these are sorted: one ticket in twelve of 100,000 by two
 * custom fields were 8333 to sort.
 */
const GLANCED_MOST = 2000
/** A page that comes after so many tickets is found by the days of creation, or from the nearer end. */
export const FAR = 2000

/** The way to a page of a list without a search. */
export async function wayToPage(scope: Scope, filter: TicketFilter & Conditions, selected: Selection): Promise<Way> {
  const { label_ids } = filter
  const names = givenOf(filter).map(({ name }) => name)
  const is_by_id = selected.by === 'id'
  if (is_by_id && label_ids?.length === 1 && names.every((name) => name === 'label_ids' || name === 'status')) {
    return mergeLabels(scope, filter, selected, label_ids)
  }
  if (label_ids && (await areFew(scope, label_ids))) return sortLabels(scope, filter, selected, label_ids)
  if (filter.unread !== undefined) return nearOrSorted(scope, selected, ofUnread(scope, filter, filter.unread))
  // Few tickets may have it, and the first of them may be anywhere in any order.
  const is_rare = filter.waiting || filter.has_draft
  if (names.length > 0 && (!is_by_id || is_rare)) {
    return nearOrSorted(scope, selected, ofTickets(scope, filter, selected))
  }
  return inOrder(scope, filter, selected)
}

/** For an index that has the order: its first entries are the page. */
function inOrder(scope: Scope, filter: TicketFilter & Conditions, selected: Selection): Way {
  const { sql } = scope
  const { matching } = selected
  const parts = partsOf(scope, filter, selected)
  const is_by_day = selected.by === 'id' && givenOf(filter).every(({ name }) => name === 'status')
  return {
    sort: sorting(sql, selected),
    is_walk: !is_by_day,
    find: (range) => ({
      tables:
        is_by_day && range.offset >= FAR
          ? sql`${dayOf(scope, filter, selected, range)}, page as materialized (
              select t.id ${matching} and t.id ${sql.unsafe(selected.direction === 'asc' ? '>=' : '<')} (select bound from day)
              ${range.order} ${sql.unsafe(`limit ${range.limit}`)} offset ${range.offset} - (select before from day)
            )`
          : parts
            ? mergeParts(scope, selected, parts, range)
            : sql`page as materialized (select t.id ${matching} ${range.slice})`,
    }),
  }
}

/**
 * The day of creation on which a far page begins, from the tallies: `bound` is an id before which no ticket of the day
 * comes in the order of the list, `before` is the number of tickets that do.
 */
function dayOf(scope: Scope, { status }: TicketFilter, { direction }: Selection, { offset }: Range): Fragment {
  const { sql } = scope
  const way = sql.unsafe(direction)
  const bound = direction === 'asc' ? sql`key` : sql`lag(key, 1, ${LAST_ID}) over list`
  return sql`
    days as (
      select key, sum(n) as n
      from ${talliesOf(scope, 'tickets_of_day', status ? sql`and ${inStatus(sql, status, sql`status`)}` : sql``)} group by key
    ), sums as (
      select ${bound} as bound, sum(n) over list - n as before from days window list as (order by key ${way})
    ), day as materialized (
      select bound, before from sums where before <= ${offset} order by before desc limit 1
    )`
}

/** For labels: the first tickets of each are merged. */
function mergeLabels(scope: Scope, filter: TicketFilter & Conditions, selected: Selection, label_ids: string[]): Way {
  const { sql } = scope
  const id = sql`hit.id`
  return {
    sort: sorting(sql, selected, id, id),
    is_walk: true,
    find: ({ head, slice }) => ({
      tables: sql`page as materialized (
        select distinct hit.id ${ofEachLabel(scope, label_ids, filter, id, head)} where true ${slice}
      )`,
    }),
  }
}

/** Parts of a list, for each of which an index has the order by time of creation: `column` is `part.value` there. */
type Parts = { column: Fragment; values: readonly (string | number)[] }

function partsOf({ sql }: Scope, filter: TicketFilter, { by }: Selection): Parts | undefined {
  const { assignee_id, status, priority } = filter
  if (by !== 'id' || givenOf(filter).some(({ entry }) => entry.is_indexed)) return undefined
  const column = sql`t.status`
  if (status && status.length > 1) return { column, values: status }
  if (assignee_id) return status ? undefined : { column, values: TICKET_STATUSES }
  if (status || !priority || priority.length === 1) return undefined
  return { column: sql`ticket_rank(t.priority)`, values: priority.map(rankOf) }
}

/** The first tickets of each part are merged. */
function mergeParts({ sql }: Scope, selected: Selection, { column, values }: Parts, { head, slice }: Range): Fragment {
  const listed = values.map((value) => (typeof value === 'number' ? `(${value})` : `('${value}')`)).join(', ')
  return sql`page as materialized (
    select t.id from (values ${sql.unsafe(listed)}) as part (value), lateral (
      select t.id ${selected.matching} and ${column} = part.value ${head}
    ) as t
    where true ${slice}
  )`
}

/** For labels of few tickets: all are found before they are sorted. */
function sortLabels(scope: Scope, filter: TicketFilter & Conditions, selected: Selection, label_ids: string[]): Way {
  const { sql } = scope
  const columns = sql`hit.id, ${keyOf(sql, selected)} as sort_key`
  return {
    sort: sorting(sql, selected, sql`hit.sort_key`, sql`hit.id`),
    find: ({ slice }) => ({
      tables: sql`
        hits as materialized (select distinct hit.id, hit.sort_key ${ofEachLabel(scope, label_ids, filter, columns, sql``)}),
        page as materialized (select hit.id from hits hit where true ${slice})`,
      total: sql`(select count(*) from hits)`,
    }),
  }
}

/** The selection that `nearOrSorted` reads. */
type Source = {
  /** Tells if so few tickets match that they are sorted. */
  areFew(): Promise<boolean>
  /** Tells that all are read already, whether they are few or not. */
  areRead?(): boolean
  /** Tells if so many match that they are not sorted: then a page ends where the walk for it does. */
  areMany?(): Promise<boolean>
  /** SQL behind `from tickets t where true`: the conditions, each with `and` before it. */
  asking: Fragment
  /** A statement for all that match, with the columns `id`, `updated_at` and `priority`. */
  all(): Fragment
  /** The number of tickets as far as it is known, after the question if they are few. */
  counted?(): Pick<Found, 'total' | 'is_part'>
}

/**
 * For an order that the filter knows nothing of. The order is walked when enough of its first tickets match. Else, or
 * when few match at all, these are sorted: then the first of them may be anywhere in the order.
 */
export function nearOrSorted(scope: Scope, selected: Selection, source: Source): Way {
  const { sql } = scope
  return {
    sort: sorting(sql, selected),
    async find(range) {
      const are_few = await source.areFew()
      const are_read = source.areRead?.() ?? false
      const near = are_few ? [] : await walk(scope, source, range, are_read ? GLANCED_MOST : WALKED_MOST)
      const is_short = near.length < range.offset + range.limit
      if (is_short && (are_few || are_read || !(await source.areMany?.()))) {
        const tables = sql`
          hits as materialized (${source.all()}),
          page as materialized (select t.id from hits t where true ${range.slice})`
        return { tables, ...source.counted?.() }
      }
      const tables = sql`page as materialized (select unnest(${near.slice(range.offset)}::uuid[]) as id)`
      return { tables, ...source.counted?.(), end: is_short ? await endOfWalk(scope, selected, range) : undefined }
    },
  }
}

function ofTickets(scope: Scope, filter: TicketFilter & Conditions, { matching }: Selection): Source {
  const { sql, organization_id } = scope
  const { label_ids } = filter
  const most = sql.unsafe(`limit ${SORTED_MOST + 1}`)
  return {
    // Labels that few tickets have do not come here.
    async areFew() {
      if (label_ids) return false
      const [row] = await sql<{ n: number }[]>`select count(*) as n from (select 1 ${matching} ${most}) as counted`
      return row!.n <= SORTED_MOST
    },
    asking: filters(scope, sql`t.id`, filter),
    all: () => sql`
      select ${columnsToSort(sql)} from tickets t
      where t.organization_id = ${organization_id} and t.deleted_at is null ${filters(scope, sql`t.id`, filter, 'row', 'id', 'words')} ${
        label_ids
          ? sql`and t.id in (
              select l.ticket_id from ticket_labels l
              where l.organization_id = ${organization_id} and l.label_id = any(${label_ids}::uuid[]))`
          : sql``
      }`,
  }
}

/** Unread tickets, or read ones, by the marks of the caller: few of many tickets may be that. */
function ofUnread(scope: Scope, filter: TicketFilter & Conditions, unread: boolean): Source {
  const { sql, organization_id } = scope
  const { unread: _, ...others } = filter
  const found = partsOfUnread(scope, unread)
    .map((part) => sql`select t.id from ${part} ${filters(scope, sql`t.id`, others)}`)
    .reduce((all, part) => sql`${all} union all ${part}`)
  let [total, few]: [number, string[] | null] = [0, null]
  return {
    async areFew() {
      const [row] = await sql<{ n: number; ids: string[] | null }[]>`
        select count(*) as n, case when count(*) <= ${SORTED_MOST} then coalesce(array_agg(id), '{}') end as ids
        from (${found} ${sql.unsafe(`limit ${COUNTED_MOST + 1}`)}) as found`
      ;[total, few] = [row!.n, row!.ids]
      return few !== null
    },
    asking: filters(scope, sql`t.id`, filter),
    all: () => sql`
      select ${columnsToSort(sql)} from tickets t where t.organization_id = ${organization_id}
        and t.deleted_at is null and t.id ${few ? sql`= any(${few}::uuid[])` : sql`in (${found})`}`,
    counted: () => ({ total: few ? sql`(select count(*) from hits)` : sql`${total}::bigint` }),
  }
}

/** The ids of those of the first tickets in the order of a list that match, up to the end of the page. */
async function walk(scope: Scope, { asking }: Source, range: Range, most: number): Promise<string[]> {
  const { sql } = scope
  const needed = range.offset + range.limit
  const rows = await sql<{ id: string }[]>`
    select t.id from (${walked(scope, range, sql`t.*`, most)}) as t
    where true ${asking} ${range.offset ? sql`limit ${needed}` : sql.unsafe(`limit ${needed}`)}`
  return rows.map(({ id }) => id)
}

/** The last ticket that the walk for a page looks at. @returns undefined when the list ends before */
async function endOfWalk(scope: Scope, selected: Selection, range: Range): Promise<Place | undefined> {
  const { sql } = scope
  const [end] = await sql<Place[]>`
    select * from (${walked(scope, range, columnsOfPlace(sql, selected), WALKED_MOST)}) as t
    offset ${sql.unsafe(String(WALKED_MOST - 1))}`
  return end
}

/** The tickets that a walk looks at, in the order of the list. */
function walked({ sql, organization_id }: Scope, range: Range, columns: Fragment, most: number): Fragment {
  return sql`
    select ${columns} from tickets t
    where t.organization_id = ${organization_id} and t.deleted_at is null ${range.behind} ${range.order} ${sql.unsafe(`limit ${most}`)}`
}

/** Tells if tickets have these labels so seldom that all of them are read. */
async function areFew(scope: Scope, label_ids: string[]): Promise<boolean> {
  const { sql } = scope
  const [row] = await sql<{ n: number }[]>`
    select ${tally(scope, 'tickets_of_label', sql`and key = any(${label_ids}::uuid[])`)} as n`
  return row!.n <= LABELLED_MOST
}
