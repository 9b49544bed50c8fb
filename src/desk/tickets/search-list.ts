/**
 * The ticket list of a search, or of custom fields. Words are found by the blocks of the index
 * (`desk/search/ticket-search.ts`); status, priority, assignee, a label and custom fields are words there too. The
 * tickets of a contact, of a company or of labels are each asked for the words when they are few.
 */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { blocksOf, foundInBlock, SLACK, type TicketSearch, ticketSearch } from '../search/ticket-search'
import { tally } from '../tallies/tallies'
import type { TicketConditions } from './conditions'
import { type Conditions, filters, givenOf, type Selection } from './filter'
import { nearOrSorted, type Way } from './find-page'
import type { TicketFilter } from './model'
import { columnsToSort, type Order, sorting } from './order'
import { COUNTED_MOST } from './total'

/** The tickets of a contact, company or labels, when they are at most so many, are asked for the words. */
const ASKED_MOST = 20_000
/**
 * A page looks at so many tickets that have all words, those of a phrase in any order. Of more matches none are sorted.
 */
const LOOKED_MOST = 100_000
/** So many matches are sorted at once. With more the first tickets of the order may hold the page. */
const SORTED_MOST = 2000

/**
 * A search, and the conditions that its words do not tell. `exact` asks for the last word as it stands: it finds a
 * part, and the index reads a word in half of the time.
 */
type ListSearch = TicketSearch & { asked: TicketConditions; exact?: TicketSearch }

/** The search of a list, for words or for custom fields. @returns undefined without one, and when it has no word */
export async function searchOf(scope: Scope, filter: TicketFilter): Promise<ListSearch | undefined> {
  const { search, custom } = filter
  if (!search && !custom) return undefined
  const facets: string[][] = []
  const asked: [string, unknown][] = []
  for (const { name, value, entry } of givenOf(filter)) {
    const words = await entry.words(scope, value)
    if (words) facets.push(...words)
    else asked.push([name, value])
  }
  const ticket_search = await ticketSearch(scope, search || undefined, facets)
  if (!ticket_search) return undefined
  const found = { ...ticket_search, asked: Object.fromEntries(asked) }
  if (!search || /["“”„]/.test(search)) return found
  return { ...found, exact: await ticketSearch(scope, search.replace(/\S+(?=\s*$)/, '"$&"'), facets) }
}

/**
 * Tells if the list is that of a contact, company or labels with few tickets, or of the one with an external id: they
 * need no index of words.
 */
export async function areFewAsked(scope: Scope, { asked }: ListSearch): Promise<boolean> {
  const counted = givenOf(asked).map(({ value, entry }) => ({ value, way: entry.counted }))
  if (counted.some(({ way }) => way === 'at most one')) return true
  for (const { value, way } of counted) {
    if (typeof way !== 'object' || way === null) continue
    const keys = way.keys(value, scope.organization_id).flat()
    const [row] = await scope.sql<{ n: number }[]>`
      select ${tally(scope, way.kind, scope.sql`and key = any(${keys}::uuid[])`)} as n`
    return row!.n <= ASKED_MOST
  }
  return false
}

/**
 * The way to a page of a search. In another order than that of creation the matches are read once, up to the cap of
 * totals: they are the total, and all that is sorted when there are no more.
 */
export function wayOfSearch(scope: Scope, filter: Conditions, selected: Selection, search: ListSearch): Way {
  const { sql, organization_id } = scope
  if (selected.by === 'id') return fromBlocks(scope, filter, selected, search)
  const matches = (most: number) => matchesOf(scope, search, filter, 'desc', sql``, most)
  const firstMatches = areHits(search)
    ? sql`(select s.ticket_id as id, true as is_hit, false as is_end ${hitsUnsorted(scope, search, filter, 'desc')}) as hit`
    : matches(COUNTED_MOST + 1)
  let first: FirstMatches = { hits: 0, is_ended: false, ids: [] }
  const areAll = () => first.ids !== null
  return nearOrSorted(scope, selected, {
    async areFew() {
      // Ten thousand ids take 6 ms to read. They are needed only when they are all.
      const [found] = await sql<FirstMatches[]>`
        select count(*) filter (where is_hit)::int as hits, coalesce(bool_or(is_end), false) as is_ended,
          case when count(*) <= ${COUNTED_MOST} and bool_or(is_end) is not true
            then coalesce(array_agg(id) filter (where is_hit), '{}') end as ids
        from ${firstMatches}`
      first = found!
      return areAll() && first.hits <= SORTED_MOST
    },
    areRead: areAll,
    async areMany() {
      if (first.is_ended) return true
      const ends = await sql`select from ${matches(LOOKED_MOST + SLACK)} where is_end`
      return ends.length > 0
    },
    asking: filters(scope, sql`t.id`, filter),
    all: () => sql`
      select ${columnsToSort(sql)}
      from ${areAll() ? sql`unnest(${first.ids!}::uuid[]) as hit (id)` : matches(LOOKED_MOST + SLACK)}, lateral (
        select ${columnsToSort(sql)} from tickets t
        where t.organization_id = ${organization_id} and t.id = hit.id and t.deleted_at is null offset 0
      ) as t
      ${areAll() ? sql`` : sql`where hit.is_hit`}`,
    counted: () => ({ total: sql`${first.hits}::bigint`, is_part: !areAll() }),
  })
}

/** The matches up to the cap of totals: how many, if the look ended there, and the ids when they are all. */
type FirstMatches = { hits: number; is_ended: boolean; ids: string[] | null }

/** Tells if all tickets that the index finds match: nothing of them is asked that is no word there. */
function areHits({ in_blocks: { found, whole }, asked }: ListSearch): boolean {
  return found === whole && givenOf(asked).every(({ entry }) => ['id', 'words'].includes(entry.asks))
}

/** The bounds of a list by time of creation. @param behind the condition of a page by cursor, on `hit` */
function boundsOf({ sql }: Scope, conditions: Conditions, direction: Order['direction'], behind: Fragment) {
  const { created_after, created_before } = conditions
  return {
    before: sql`
      ${created_before === undefined ? sql`` : sql`and hit.id < ${firstIdAt(created_before)}`}
      ${direction === 'desc' ? behind : sql``}`,
    after: sql`
      ${created_after === undefined ? sql`` : sql`and hit.id >= ${firstIdAt(created_after + 1)}`}
      ${direction === 'asc' ? behind : sql``}`,
  }
}

/**
 * A table `hit (id, is_hit, share, is_end)` in brackets, in about the order of creation. `share` of the blocks were
 * read up to it. It ends after `LOOKED_MOST` tickets, which `is_end` says: those before this one in the order of
 * ids are all looked at.
 * @param behind the condition of a page by cursor, on `hit`
 * @param most rows
 */
function matchesOf(
  scope: Scope,
  search: ListSearch,
  conditions: Conditions,
  direction: Order['direction'],
  behind: Fragment,
  most: number,
): Fragment {
  const { sql, organization_id } = scope
  const { asked } = search
  const id = sql`s.ticket_id`
  const is_row_asked = givenOf(asked).some(({ entry }) => entry.asks === 'row')
  // Tickets are looked up one by one, and only where something of theirs is asked for. A join may read all of the
  // organization.
  const ofTicket = is_row_asked
    ? sql`and (
        select true from tickets t where t.organization_id = ${organization_id} and t.id = s.ticket_id
          ${filters(scope, id, asked, 'row')}
      )`
    : sql``
  const limit = (count: number) => sql.unsafe(`limit ${count}`)
  return sql`(
    select id, is_hit, share, n = ${LOOKED_MOST} as is_end from (
      select hit.*, share, row_number() over () as n
      from (
        select block.*, row_number() over ()::real / count(*) over () as share
        from ${blocksOf(scope, search, direction, boundsOf(scope, conditions, direction, behind))}
      ) as block cross join lateral (
        select ${id} as id,
          s.is_whole ${ofTicket} ${filters(scope, id, asked, 'labels')} as is_hit
        from ${foundInBlock(scope, search)} as s
        where true ${filters(scope, id, conditions, 'id')}
        order by s.ticket_id ${sql.unsafe(direction)}
      ) as hit
      where true ${behind} ${limit(LOOKED_MOST + SLACK)}
    ) as hit
    where is_hit or n = ${LOOKED_MOST} ${limit(most)}
  ) as hit`
}

/** For a list by time of creation: matches are read until they hold the page and are counted. */
function fromBlocks(scope: Scope, filter: Conditions, { direction }: Selection, search: ListSearch): Way {
  const { sql } = scope
  const id = sql`hit.id`
  const end_id = areHits(search) ? undefined : sql`(select id from hits where is_end)`
  const way = sql.unsafe(direction === 'asc' ? '<=' : '>=')
  const is_before_end = end_id ? sql`and hit.is_hit and (hit.id ${way} ${end_id}) is not false` : sql``
  return {
    sort: sorting(sql, { by: 'id', direction }, id, id),
    find({ behind, slice, count, offset, limit }) {
      const head = offset + limit + SLACK
      const most = count === 'all' ? Math.max(COUNTED_MOST + 1, head) : head
      const all = sql`(select count(*) from hits where is_hit)`
      // Most tickets that are open are new: the first of them promise too many.
      const is_guess = !end_id && !filter.status && head <= COUNTED_MOST / 2
      return {
        // The table `hits` is read no further than somebody asks for its rows.
        tables: sql`
          hits as materialized (select * from ${matchesOf(scope, search, filter, direction, behind, most)}),
          page as materialized (
            select hit.id from (select * from hits ${end_id ? sql`` : sql.unsafe(`limit ${head}`)}) as hit
            where true ${is_before_end} ${slice})`,
        total: is_guess ? countOfMany(scope, filter, direction, search, head, all) : all,
        ...(end_id && { end_id }),
      }
    },
  }
}

/**
 * SQL for the number of matches. When the first `head` of them stand so close that there are more than the cap, they
 * are counted up to it without their order, by `exact`: two words of 1.4 % of a million tickets took 30 ms, now 17.
 * @param all the number of `hits`
 */
function countOfMany(
  scope: Scope,
  conditions: Conditions,
  direction: Order['direction'],
  { exact, ...search }: ListSearch,
  head: number,
  all: Fragment,
): Fragment {
  const { sql } = scope
  return sql`case
    when coalesce((select share from hits ${sql.unsafe(`offset ${head - 1}`)} limit 1), 1) < ${head / COUNTED_MOST}::real
      and (select count(*) from (select ${hitsUnsorted(scope, exact ?? search, conditions, direction)}) as hit) > ${COUNTED_MOST}
    then ${COUNTED_MOST + 1}::bigint else ${all} end`
}

/** The end of a statement for matches in any order, up to the cap, where all that are found match (`areHits`). */
function hitsUnsorted(
  scope: Scope,
  search: TicketSearch,
  conditions: Conditions,
  direction: Order['direction'],
): Fragment {
  const { sql } = scope
  return sql`
    from ${blocksOf(scope, search, direction, boundsOf(scope, conditions, direction, sql``))}
    cross join lateral ${foundInBlock(scope, search)} as s
    where true ${filters(scope, sql`s.ticket_id`, conditions, 'id')}
    ${sql.unsafe(`limit ${COUNTED_MOST + 1}`)}`
}
