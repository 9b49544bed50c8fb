/**
 * The ticket list of a search, or of custom fields. Words are found by the blocks of the index
 * (`desk/search/ticket-search.ts`); status, priority, assignee, a label and custom fields are words there too. The
 * tickets of a contact, of a company or of labels are each asked for the words when they are few.
 */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { wordsOfFilter } from '../custom/custom-words'
import { blocksOf, foundInBlock, SLACK, type TicketSearch, ticketSearch } from '../search/ticket-search'
import { tally } from '../tallies/tallies'
import { type Conditions, filters, isLabelled, type Order, type Selection } from './filter'
import { nearOrSorted, sorting, type Way } from './find-page'
import type { TicketFilter } from './model'
import { COUNTED_MOST } from './total'

/** The tickets of a contact, company or labels, when they are at most so many, are asked for the words. */
const ASKED_MOST = 20_000
/**
 * A page looks at so many tickets that have all words, those of a phrase in any order. Of more matches none are sorted.
 */
const LOOKED_MOST = 100_000

/** The search of a list, for words or for custom fields. @returns undefined without one, and when it has no word */
export async function searchOf(scope: Scope, filter: TicketFilter): Promise<TicketSearch | undefined> {
  const { search, status, priority, assignee_id, label_ids, custom } = filter
  if (!search && !custom) return undefined
  const member = assignee_id === 'none' ? undefined : assignee_id
  const single = [status, priority, member].filter((value) => value !== undefined)
  const label = label_ids?.length === 1 ? [await labelsThatExist(scope, label_ids)] : []
  const words = wordsOfFilter(scope.organization_id, custom)
  return ticketSearch(scope, search || undefined, [...single.map((value) => [value]), ...label, ...words])
}

/** Tells if the list is that of a contact, company or labels with few tickets: they need no index of words. */
export async function areFewAsked(scope: Scope, { contact_id, company_id, label_ids }: Conditions): Promise<boolean> {
  // A single label is a word.
  const labels = label_ids && label_ids.length > 1 ? label_ids : undefined
  const keys = contact_id ?? company_id ?? labels
  if (!keys) return false
  const kind = contact_id ? 'tickets_of_contact' : company_id ? 'tickets_of_company' : 'tickets_of_label'
  const [row] = await scope.sql<{ n: number }[]>`
    select ${tally(scope, kind, scope.sql`and key = any(${[keys].flat()}::uuid[])`)} as n`
  return row!.n <= ASKED_MOST
}

/**
 * The way to a page of a search. In another order than that of creation the matches are read once, up to the cap of
 * totals: they are the total, and all that is sorted when there are no more.
 */
export function wayOfSearch(scope: Scope, filter: Conditions, selected: Selection, search: TicketSearch): Way {
  const { sql, organization_id } = scope
  if (selected.by === 'id') return fromBlocks(scope, filter, selected, search)
  const matches = (most: number) => matchesOf(scope, search, filter, 'desc', sql``, most)
  let first: FirstMatches = { hits: 0, is_ended: false, ids: [] }
  const areAll = () => first.ids !== null
  return nearOrSorted(scope, selected, {
    async areFew() {
      // Ten thousand ids take 6 ms to read. They are needed only when they are all.
      const [found] = await sql<FirstMatches[]>`
        select count(*) filter (where is_hit)::int as hits, coalesce(bool_or(is_end), false) as is_ended,
          case when count(*) <= ${COUNTED_MOST} and bool_or(is_end) is not true
            then coalesce(array_agg(id) filter (where is_hit), '{}') end as ids
        from ${matches(COUNTED_MOST + 1)}`
      first = found!
      return areAll() || search.older !== undefined
    },
    async areMany() {
      if (first.is_ended) return true
      const ends = await sql`select from ${matches(LOOKED_MOST + SLACK)} where is_end`
      return ends.length > 0
    },
    asking: sql`${filters(scope, sql`t.id`, filter)} ${isLabelled(scope, sql`t.id`, filter.label_ids)}`,
    all: () => sql`
      select t.id, t.updated_at, t.priority
      from ${areAll() ? sql`unnest(${first.ids!}::uuid[]) as hit (id)` : matches(LOOKED_MOST + SLACK)}, lateral (
        select t.id, t.updated_at, t.priority from tickets t
        where t.organization_id = ${organization_id} and t.id = hit.id and t.deleted_at is null offset 0
      ) as t
      ${areAll() ? sql`` : sql`where hit.is_hit`}`,
    counted: () => ({ total: sql`${first.hits}::bigint`, is_part: !areAll() }),
  })
}

/** The word of a label stays in documents when the label is deleted. */
async function labelsThatExist({ sql, organization_id }: Scope, ids: string[]): Promise<string[]> {
  const labels = await sql<{ id: string }[]>`
    select id from labels where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  return labels.map(({ id }) => id)
}

/** What was found up to the cap of totals: how many, if the look ended there, and the ids when they are all. */
type FirstMatches = { hits: number; is_ended: boolean; ids: string[] | null }

/**
 * A table `hit (id, is_hit, is_end)` in brackets, in about the order of creation. It ends after `LOOKED_MOST` tickets,
 * which `is_end` says: those that come before this one in the order of ids are all looked at.
 * @param behind the condition of a page by cursor, on `hit`
 * @param most rows. Documents without blocks are found in no order, so that all are read
 */
function matchesOf(
  scope: Scope,
  search: TicketSearch,
  conditions: Conditions,
  direction: Order['direction'],
  behind: Fragment,
  most: number,
): Fragment {
  const { sql, organization_id } = scope
  const { created_after, created_before, contact_id, company_id, merged, label_ids } = conditions
  // Tickets without an assignee have no word for it.
  const assignee_id = conditions.assignee_id === 'none' ? 'none' : undefined
  const id = sql`s.ticket_id`
  const bounds = {
    before: sql`
      ${created_before === undefined ? sql`` : sql`and hit.id < ${firstIdAt(created_before)}`}
      ${direction === 'desc' ? behind : sql``}`,
    after: sql`
      ${created_after === undefined ? sql`` : sql`and hit.id >= ${firstIdAt(created_after + 1)}`}
      ${direction === 'asc' ? behind : sql``}`,
  }
  const { found: _, ...others } = conditions
  const asked = filters(scope, id, search.older ? others : { assignee_id, contact_id, company_id, merged })
  // Tickets are looked up one by one, and only where something of theirs is asked for. A join may read all of the
  // organization.
  const ofTicket =
    search.older || assignee_id || contact_id || company_id || merged !== undefined
      ? sql`and (select true from tickets t where t.organization_id = ${organization_id} and t.id = s.ticket_id ${asked})`
      : sql``
  const are_labels_asked = search.older || (label_ids && label_ids.length > 1)
  const limit = (count: number) => (search.older ? sql`` : sql.unsafe(`limit ${count}`))
  return sql`(
    select id, is_hit, n = ${LOOKED_MOST} as is_end from (
      select hit.*, row_number() over () as n
      from ${blocksOf(scope, search, direction, bounds)} cross join lateral (
        select ${id} as id,
          s.is_whole ${ofTicket} ${are_labels_asked ? isLabelled(scope, id, label_ids) : sql``} as is_hit
        from ${foundInBlock(scope, search)} as s
        where true ${filters(scope, id, { created_after, created_before })}
        order by s.ticket_id ${sql.unsafe(direction)}
      ) as hit
      where true ${behind} ${limit(LOOKED_MOST + SLACK)}
    ) as hit
    where is_hit or n = ${LOOKED_MOST} ${limit(most)}
  ) as hit`
}

/** For a list by time of creation: matches are read until they hold the page and are counted. */
function fromBlocks(scope: Scope, filter: Conditions, { direction }: Selection, search: TicketSearch): Way {
  const { sql } = scope
  const id = sql`hit.id`
  const is_before_end = sql`(hit.id ${sql.unsafe(direction === 'asc' ? '<=' : '>=')} (select id from hits where is_end)) is not false`
  return {
    sort: sorting(sql, { by: 'id', direction }, id, id),
    find({ behind, slice, count, offset, limit }) {
      const most = (count === 'all' ? Math.max(COUNTED_MOST, offset + limit) : limit) + SLACK
      return {
        tables: sql`
          hits as materialized (select * from ${matchesOf(scope, search, filter, direction, behind, most)}),
          page as materialized (select hit.id from hits hit where hit.is_hit and ${is_before_end} ${slice})`,
        total: sql`(select count(*) from hits where is_hit)`,
        end_id: sql`(select id from hits where is_end)`,
      }
    },
  }
}
