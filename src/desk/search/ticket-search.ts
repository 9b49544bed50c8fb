/**
 * Finds tickets by words: SQL that reads the blocks of the index in the order of the list, so that it can stop early.
 *
 * A list by time of creation reads matches from the newest block on (or from the oldest), until it has a page and has
 * counted up to the cap. Numbers and ids of tickets that are made at the same moment may differ in their order, so it
 * reads some matches more (`SLACK`) before it sorts them by id.
 */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { BLOCK_BITS, inBlock, prefixOfAny } from './blocks'
import { organizationNumber } from './ticket-document'
import { facetQuery, facetWord, type SearchQuery, toTsquery } from './words'

/** Tickets whose order by number and by id may differ, and matches that are read more for it. */
export const SLACK = 1000

/** A search of tickets, with properties that they must have. */
export type TicketSearch = { in_blocks: SearchQuery }

/**
 * Makes a search of what somebody typed, or of facets alone.
 * @param facets lists of facets: the ticket must have at least one of each list. An empty list finds nothing
 * @returns undefined when the text holds no word: it matches nothing
 */
export async function ticketSearch(
  scope: Scope,
  text: string | undefined,
  facets: string[][],
): Promise<TicketSearch | undefined> {
  const number = await organizationNumber(scope)
  const words = facets.map((any) => any.map(facetWord))
  if (text === undefined) return { in_blocks: facetQuery(prefixOfAny(number), words) }
  const in_blocks = toTsquery(prefixOfAny(number), text, words)
  return in_blocks && { in_blocks }
}

/** Where a list by time of creation begins and ends: conditions on `tickets hit`, such as `and hit.id < …`. */
type Bounds = { before: Fragment; after: Fragment }

/**
 * A table `block (found, whole)` in brackets: the search for each block, in the order of the list. With `offset 0` it
 * is read once for a block, not for each ticket: a phrase of 120 words took 45 us.
 * @param direction of the list by time of creation
 */
export function blocksOf(
  { sql, organization_id }: Scope,
  { in_blocks }: TicketSearch,
  direction: 'asc' | 'desc',
  { before, after }: Bounds,
): Fragment {
  const numberAt = (condition: Fragment, way: Fragment) => sql`(
    select hit.number from tickets hit
    where hit.organization_id = ${organization_id} ${condition} order by hit.id ${way} limit 1)`
  const newest = sql`(${numberAt(before, sql`desc`)} + ${SLACK}::integer) >> ${BLOCK_BITS}`
  const oldest = sql`greatest(${numberAt(after, sql`asc`)} - ${SLACK}::integer, 0) >> ${BLOCK_BITS}`
  const series =
    direction === 'desc' ? sql`generate_series(${newest}, ${oldest}, -1)` : sql`generate_series(${oldest}, ${newest})`
  return sql`(
    select ${inBlock(sql, sql`${in_blocks.found}`, sql`n`)}::tsquery as found,
      ${inBlock(sql, sql`${in_blocks.whole}`, sql`n`)}::tsquery as whole
    from ${series} as n
    offset 0
  ) as block`
}

/**
 * A table `(ticket_id, is_whole)` in brackets: the tickets whose documents have the words of a `block`, and if these
 * match as a whole, such as phrases. It can only be read by the index of words: a plan for any organization would look
 * cheaper by the primary key, and reads a million documents for each block. The second condition says the same as the
 * first, for a cluster alone: it leads to one node (`base/db/cluster/route-searches.ts`).
 */
export function foundInBlock({ sql, organization_id }: Scope, { in_blocks }: TicketSearch): Fragment {
  return sql`(
    select s.ticket_id, ${in_blocks.found === in_blocks.whole ? sql`true` : sql`s.document @@ block.whole`} as is_whole
    from ticket_search s
    where (s.organization_id = ${organization_id}) is true and (s.organization_id = ${organization_id} or never())
      and s.document @@ block.found
    offset 0)`
}

/** The condition of a search on `tickets t`: `and …`. It reads the document of each ticket, as no join does. */
export function isFound({ sql, organization_id }: Scope, { in_blocks }: TicketSearch): Fragment {
  const whole = sql`${inBlock(sql, sql`${in_blocks.whole}`, sql`t.number >> ${BLOCK_BITS}`)}::tsquery`
  return sql`and (
    select s.document @@ ${whole} from ticket_search s
    where s.organization_id = ${organization_id} and s.ticket_id = t.id)`
}
