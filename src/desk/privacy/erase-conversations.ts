/**
 * Erases what tickets say, with what merges have brought to them; their contacts stay. The decision notes the ids of
 * all that belongs to them. Short transactions follow, also after a crash: rows go, and a walk over all events and
 * stored answers finds by the ids what tells of them.
 */
import type { Scope } from '../../base/scope'
import { eraseLedgerOf } from './erase-ledger'
import { eraseAnswers, eraseEvents } from './erase-published'
import { eraseTickets } from './erase-tickets'
import { noteErasedIds } from './erasure-notes'
import { idsOf, isNamedIn } from './traces'

/** Erasures whose events one walk erases. */
const ERASURES = 50

/**
 * Decides in the caller's transaction, which has locked them, that tickets are erased together with those that were
 * merged into them. `finishErasures` does it.
 */
export async function eraseConversations(scope: Scope, ticket_ids: string[]): Promise<void> {
  const { sql, organization_id } = scope
  const tickets = await sql<{ id: string }[]>`
    select id from tickets where organization_id = ${organization_id}
      and (id = any(${ticket_ids}::uuid[]) or merged_into_id = any(${ticket_ids}::uuid[]))
    order by id`
  await noteErased(
    scope,
    tickets.map(({ id }) => id),
  )
}

/** Notes the ids of tickets that are erased, and of what belongs to them. @returns the id of the note */
export async function noteErased(scope: Scope, tickets: string[]): Promise<string> {
  return noteErasedIds(scope, [...tickets, ...(await idsOf(scope, tickets))])
}

/** Erases the tickets that were noted, in short transactions, and leaves of events and answers about them ids only. */
export async function finishErasures(scope: Scope): Promise<void> {
  const { sql, organization_id } = scope
  for (;;) {
    const rows = await sql<{ id: string; ids: string[] }[]>`
      select id, ids from retention_erasures where organization_id = ${organization_id} order by id limit ${ERASURES}`
    if (rows.length === 0) return
    const ids = rows.flatMap(({ ids }) => ids)
    const tickets = await sql<{ id: string }[]>`
      select id from tickets where organization_id = ${organization_id} and id = any(${ids}::uuid[]) order by id`
    const noted = tickets.map(({ id }) => id)
    await eraseLedgerOf(scope, noted)
    await eraseTickets(scope, noted)
    const isIn = isNamedIn(new Set(ids))
    await eraseAnswers(scope, { isIn, contact_ids: [] })
    // Events of a ticket that quotes tell of its last message, too.
    const about = await sql<{ ticket_id: string }[]>`
      select distinct ticket_id from messages where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
    const sought = [...ids, ...about.map(({ ticket_id }) => ticket_id)]
    await eraseEvents(scope, { isIn, ids: sought, contact_ids: [], address_like: [] })
    await sql`
      delete from retention_erasures
      where organization_id = ${organization_id} and id = any(${rows.map(({ id }) => id)}::uuid[])`
  }
}
