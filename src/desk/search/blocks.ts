/**
 * Blocks of tickets in the search index: 16,384 successive numbers of an organization are one. Every word carries the
 * organization's number and that of the block, as in `17.3:printer`. One index serves all organizations, a search reads
 * only words of its own, and it reads the newest blocks first and stops when it has found enough: a word of more than
 * half of a million tickets, or a beginning of one letter, is counted up to the cap in 15 ms, because most of its
 * entries are not read.
 */

import type { Fragment, Sql } from '../../base/db/transact'

/** Tickets of a block: 2^14. The migrations write this number too. */
export const BLOCK_BITS = 14

/** The prefix of the words of a ticket. */
export function prefixOf(organization_number: number, ticket_number: number): string {
  return `${organization_number}.${ticket_number >> BLOCK_BITS}`
}

/** The prefix with `*` for the block, which a statement puts there (`inBlock`). */
export function prefixOfAny(organization_number: number): string {
  return `${organization_number}.*`
}

/** SQL for words with the prefix of `prefixOfAny` in the block that is given. No word of a text has `.*:`. */
export function inBlock(sql: Sql, words: Fragment, block: Fragment): Fragment {
  return sql`replace(${words}, '.*:', '.' || (${block}) || ':')`
}
