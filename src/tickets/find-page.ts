/**
 * Ways to find the ids of a page of tickets. A way reads about as many index entries as there are rows up to the end of the
 * page, however many tickets match; only the ids of the page are joined then.
 */
import { TICKET_STATUSES } from '../db/schema'
import type { Fragment, Sql } from '../db/transact'
import type { Scope } from '../scope'
import type { PagedList } from '../shapes/page'
import type { Sorting } from '../shapes/sorting'
import { talliesOf, tally } from '../tallies/tallies'
import { ofEachLabel, type Selection } from './filter'
import type { TicketFilter } from './model'
import type { TicketRow } from './row'

/** A row of a page. A page that is counted has the number of tickets on all pages in each row. */
export type ListRow = TicketRow & {
  total: number
  /** `updated_at` with all its digits, in a list that is sorted by it. */
  changed_at: string
}

export type Range = Parameters<PagedList<ListRow, { total: number }>['rows']>[0]

export type Way = {
  sort: Sorting<ListRow>
  /** SQL for `with`: the last table is `page`, with the column `id`. */
  find(range: Range): Fragment
  /** SQL for the number of all tickets that match, when they are found on the way. */
  found?: Fragment
  /** Walks from an end of the list to the page, however far that is. */
  is_walk?: boolean
}

/** Tickets with the labels, when they are at most so many, are sorted. With more of them the order is walked. */
const SORTED_MOST = 5000
/** A page that comes after so many tickets is found by the days of creation, or from the nearer end. */
export const FAR = 2000
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The way to a page of a list without a search. */
export async function wayToPage(scope: Scope, filter: TicketFilter, selected: Selection): Promise<Way> {
  const { label_ids, contact_id, company_id, assignee_id, status } = filter
  if (selected.by !== 'id') {
    const is_few = label_ids && (await isRare(scope, label_ids))
    return is_few ? sortLabels(scope, filter, selected, label_ids) : inOrder(scope, filter, selected)
  }
  if (contact_id || company_id) return inOrder(scope, filter, selected)
  if (assignee_id) return status ? inOrder(scope, filter, selected) : mergeStatuses(scope, selected)
  return label_ids ? mergeLabels(scope, filter, selected, label_ids) : inOrder(scope, filter, selected)
}

/** For an index that has the order: its first entries are the page. */
export function inOrder(scope: Scope, filter: TicketFilter, selected: Selection): Way {
  const { sql } = scope
  const { matching, id, sort_key } = selected
  const is_by_day = selected.by === 'id' && Object.keys(conditionsOf(filter)).every((name) => name === 'status')
  return {
    sort: sorting(sql, selected, sort_key, id),
    is_walk: !is_by_day,
    find: (range) =>
      is_by_day && range.offset >= FAR
        ? sql`${dayOf(scope, filter, selected, range)}, page as materialized (
            select t.id ${matching} and t.id ${sql.unsafe(selected.direction === 'asc' ? '>=' : '<')} (select bound from day)
            ${range.order} ${sql.unsafe(`limit ${range.limit}`)} offset ${range.offset} - (select before from day)
          )`
        : sql`page as materialized (select t.id ${matching} ${range.slice})`,
  }
}

/**
 * The day of creation on which a far page begins, from the tallies: `bound` is an id before which no ticket of the day comes
 * in the order of the list, `before` is the number of tickets that do.
 */
function dayOf(scope: Scope, { status }: TicketFilter, { direction }: Selection, { offset }: Range): Fragment {
  const { sql } = scope
  const way = sql.unsafe(direction)
  const bound = direction === 'asc' ? sql`key` : sql`lag(key, 1, ${LAST_ID}) over list`
  return sql`
    days as (
      select key, sum(n) as n
      from ${talliesOf(scope, 'tickets_of_day', status ? sql`and status = ${status}` : sql``)} group by key
    ), sums as (
      select ${bound} as bound, sum(n) over list - n as before from days window list as (order by key ${way})
    ), day as materialized (
      select bound, before from sums where before <= ${offset} order by before desc limit 1
    )`
}

/** For labels: the first tickets of each are merged. */
function mergeLabels(scope: Scope, filter: TicketFilter, selected: Selection, label_ids: string[]): Way {
  const { sql } = scope
  const id = sql`hit.id`
  return {
    sort: sorting(sql, selected, id, id),
    is_walk: true,
    find: ({ head, slice }) => sql`page as materialized (
      select distinct hit.id ${ofEachLabel(scope, label_ids, filter, id, head)} where true ${slice}
    )`,
  }
}

/** For an assignee, whose index has the order for each status: the first tickets of each are merged. */
function mergeStatuses({ sql }: Scope, selected: Selection): Way {
  const id = sql`t.id`
  const statuses = sql.unsafe(TICKET_STATUSES.map((status) => `('${status}')`).join(', '))
  return {
    sort: sorting(sql, selected, id, id),
    is_walk: true,
    find: ({ head, slice }) => sql`page as materialized (
      select t.id from (values ${statuses}) as part (status), lateral (
        select t.id ${selected.matching} and t.status = part.status ${head}
      ) as t
      where true ${slice}
    )`,
  }
}

/** For labels of few tickets, in another order than that of creation: all are found before they are sorted. */
function sortLabels(scope: Scope, filter: TicketFilter, selected: Selection, label_ids: string[]): Way {
  const { sql } = scope
  const columns = sql`hit.id, ${selected.sort_key} as sort_key`
  return amongAll(
    scope,
    selected,
    sql`select distinct hit.id, hit.sort_key ${ofEachLabel(scope, label_ids, filter, columns, sql``)}`,
  )
}

/** For what leads to tickets in no order: all are found before they are sorted. */
export function sortFound(scope: Scope, selected: Selection): Way {
  const { sql } = scope
  const { matching, id, sort_key } = selected
  return amongAll(scope, selected, sql`select ${id} as id, ${sort_key} as sort_key ${matching}`)
}

/** @param hits SQL for all tickets that match, with `id` and `sort_key` */
function amongAll({ sql }: Scope, selected: Selection, hits: Fragment): Way {
  return {
    sort: sorting(sql, selected, sql`hit.sort_key`, sql`hit.id`),
    find: ({ slice }) => sql`
      hits as materialized (${hits}),
      page as materialized (select hit.id from hits hit where true ${slice})`,
    found: sql`(select count(*) from hits)`,
  }
}

/** Tells if so few tickets have one of the labels that it costs little to sort them. */
async function isRare(scope: Scope, label_ids: string[]): Promise<boolean> {
  const { sql } = scope
  const [row] = await sql<{ n: number }[]>`
    select ${tally(scope, 'tickets_of_label', sql`and key = any(${label_ids}::uuid[])`)} as n`
  return row!.n <= SORTED_MOST
}

/** @param sort_key what the statement sorts by @param id what breaks its ties */
export function sorting(sql: Sql, { by, direction }: Selection, sort_key: Fragment, id: Fragment): Sorting<ListRow> {
  const last = { sql: id, field: 'id' } as const
  if (by === 'id') return { keys: [last], direction }
  if (by === 'rank') {
    const bound = (priority: string | number) => sql`ticket_rank(${priority})`
    return { keys: [{ sql: sort_key, field: 'priority', bound }, last], direction }
  }
  const keys = [{ sql: sort_key, field: 'changed_at' } as const, last]
  return direction === 'asc' ? { keys, direction, end: 'followed' } : { keys, direction }
}

/** The conditions that a filter has. */
function conditionsOf({ sort: _s, page: _p, per_page: _n, cursor: _c, ...conditions }: TicketFilter) {
  return Object.fromEntries(Object.entries(conditions).filter(([, value]) => value !== undefined && value !== ''))
}
