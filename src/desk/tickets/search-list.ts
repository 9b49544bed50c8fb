/**
 * The ticket list of a search. Words are found by the blocks of the index (`desk/search/ticket-search.ts`); status,
 * priority, assignee and labels are words there too. The tickets of a contact or company are each asked for the words
 * when they are few.
 */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { blocksOf, documentOf, foundInBlock, SLACK, type TicketSearch, ticketSearch } from '../search/ticket-search'
import { tally } from '../tallies/tallies'
import { filters, isLabelled, keyOf, type Order, type Selection, sortOf } from './filter'
import { inOrder, nearOrSorted, type Range, sorting, type Way } from './find-page'
import type { TicketConditions, TicketFilter } from './model'
import { COUNTED_MOST } from './total'

type Searched = Selection & { search: TicketSearch; asks_each: boolean }

/** The tickets of a contact or company, when they are at most so many, are asked for the words one after the other. */
const ASKED_MOST = 5000

/** What a search selects. @returns undefined without a search, and for one that holds no word */
export async function searched(scope: Scope, filter: TicketFilter): Promise<Searched | undefined> {
  if (!filter.search) return undefined
  const labels = filter.label_ids && (await labelsThatExist(scope, filter.label_ids))
  const search = await ticketSearch(scope, filter.search, facetsOf({ ...filter, label_ids: labels }))
  if (!search) return undefined
  const order = sortOf(filter.sort)
  const asks_each = await isOfFew(scope, filter)
  const selected = asks_each
    ? askingEach(scope, search, filter, order)
    : inBlocks(scope, search, filter, order, scope.sql``)
  return { ...selected, search, asks_each }
}

/** Tells if the list is that of a contact or company with few tickets. */
async function isOfFew(scope: Scope, { contact_id, company_id }: TicketConditions): Promise<boolean> {
  const key = contact_id ?? company_id
  if (!key) return false
  const kind = contact_id ? 'tickets_of_contact' : 'tickets_of_company'
  const [row] = await scope.sql<{ n: number }[]>`select ${tally(scope, kind, scope.sql`and key = ${key}`)} as n`
  return row!.n <= ASKED_MOST
}

/**
 * The way to a page of a search. In another order than that of creation the matches are read once, up to the cap of
 * totals: they are the total, and all that is sorted when there are no more.
 */
export async function wayOfSearch(scope: Scope, filter: TicketFilter, selected: Searched): Promise<Way> {
  const { sql, organization_id } = scope
  const { search } = selected
  if (selected.asks_each) return inOrder(scope, filter, selected)
  if (selected.by === 'id') return fromBlocks(scope, filter, selected)
  const { matching } = inBlocks(scope, search, filter, { ...selected, by: 'id' }, sql``)
  const most = sql.unsafe(`limit ${COUNTED_MOST + 1}`)
  let hits: { id: string }[] = []
  const areAll = () => hits.length <= COUNTED_MOST
  return nearOrSorted(scope, askingEach(scope, search, filter, selected), {
    async areFew() {
      hits = await sql<{ id: string }[]>`select hit.id ${matching} ${most}`
      return areAll() || search.older !== undefined
    },
    asking: sql`cross join lateral ${documentOf(scope, search)} as document where true ${filters(scope, sql`t.id`, filter)}`,
    walked_most: ASKED_MOST,
    all: () => sql`
      select t.id, t.updated_at, t.priority
      from ${areAll() ? sql`unnest(${hits.map(({ id }) => id)}::uuid[])` : sql`(select hit.id ${matching})`} as hit (id), lateral (
        select t.id, t.updated_at, t.priority from tickets t
        where t.organization_id = ${organization_id} and t.id = hit.id and t.deleted_at is null offset 0
      ) as t`,
    found: () => sql`${hits.length}::bigint`,
  })
}

/** Conditions that are words of the documents. */
function facetsOf({ status, priority, assignee_id, label_ids }: TicketConditions): string[][] {
  const single = [status, priority, assignee_id].filter((value) => value !== undefined)
  return [...single.map((value) => [value]), ...(label_ids ? [label_ids] : [])]
}

/** The word of a label stays in documents when the label is deleted. */
async function labelsThatExist({ sql, organization_id }: Scope, ids: string[]): Promise<string[]> {
  const labels = await sql<{ id: string }[]>`
    select id from labels where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  return labels.map(({ id }) => id)
}

/** @param behind the condition of a page by cursor, on `hit` */
function inBlocks(
  scope: Scope,
  search: TicketSearch,
  conditions: TicketConditions,
  order: Order,
  behind: Fragment,
): Selection {
  const { sql, organization_id } = scope
  const { by, direction } = order
  const id = sql`s.ticket_id`
  const { created_after, created_before, contact_id, company_id } = conditions
  const bounds = {
    before: sql`
      ${created_before === undefined ? sql`` : sql`and hit.id < ${firstIdAt(created_before)}`}
      ${direction === 'desc' ? behind : sql``}`,
    after: sql`
      ${created_after === undefined ? sql`` : sql`and hit.id >= ${firstIdAt(created_after + 1)}`}
      ${direction === 'asc' ? behind : sql``}`,
  }
  // Tickets are looked up one by one, and only where something of theirs is asked for. A join may read all of the
  // organization.
  const ofTicket = (columns: Fragment, others: Fragment) => sql`(
    select ${columns} from tickets t where t.organization_id = ${organization_id} and t.id = s.ticket_id ${others} limit 1
  )`
  const asked = search.older ? conditions : { contact_id, company_id }
  const is_asked = search.older || contact_id || company_id
  const matching = sql`from ${blocksOf(scope, search, direction, bounds)} cross join lateral (
    select s.ticket_id as id, ${by === 'id' ? id : ofTicket(keyOf(scope, id, by), sql``)} as sort_key
    from ${foundInBlock(scope, search)} as s
    where true ${filters(scope, id, { created_after, created_before })}
      ${is_asked ? sql`and ${ofTicket(sql`true`, filters(scope, id, asked))}` : sql``}
      ${search.older ? isLabelled(scope, id, conditions.label_ids) : sql``}
    ${by === 'id' ? sql`order by s.ticket_id ${sql.unsafe(direction)}` : sql``}
  ) as hit where true ${behind}`
  return { matching, id: sql`hit.id`, sort_key: by === 'id' ? sql`hit.id` : sql`hit.sort_key`, by, direction }
}

/** Reads the documents of the tickets that match the other conditions, one after the other. */
function askingEach(scope: Scope, search: TicketSearch, conditions: TicketConditions, order: Order): Selection {
  const { sql, organization_id } = scope
  const id = sql`t.id`
  const { by, direction } = order
  const matching = sql`
    from tickets t cross join lateral ${documentOf(scope, search)} as document
    where t.organization_id = ${organization_id} and t.deleted_at is null ${filters(scope, id, conditions)}
    ${search.older ? isLabelled(scope, id, conditions.label_ids) : sql``}`
  return { matching, id, sort_key: keyOf(scope, id, by), by, direction }
}

/** For a list by time of creation: matches are read until they hold the page and are counted. */
function fromBlocks(scope: Scope, filter: TicketFilter, selected: Searched): Way {
  const { sql } = scope
  const id = sql`hit.id`
  return {
    sort: sorting(sql, selected, id, id),
    find: (range) => {
      const { matching } = inBlocks(scope, selected.search, filter, selected, range.behind)
      return sql`
        hits as materialized (select ${id} ${matching} ${limitOf(scope, selected, range)}),
        page as materialized (select ${id} from hits hit where true ${range.slice})`
    },
    found: () => sql`(select count(*) from hits)`,
  }
}

/** The matches that are read. Documents without blocks are found in no order, so that all matches are read. */
function limitOf({ sql }: Scope, { search }: Searched, { count, offset, limit }: Range): Fragment {
  if (search.older) return sql``
  return sql.unsafe(`limit ${(count === 'all' ? Math.max(COUNTED_MOST, offset + limit) : limit) + SLACK}`)
}
