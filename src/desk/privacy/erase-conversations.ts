/**
 * Erases what tickets say, with what merges have brought to them; their contacts stay. Rows go in the caller's
 * transaction. Events and stored answers are found by the ids of what they tell of, which takes a walk over all of
 * them: the ids are noted with the rows, and the walk follows, also after a crash.
 */
import { newId } from '../../base/db/columns'
import type { Scope } from '../../base/scope'
import { eraseLedgerOf } from './erase-ledger'
import { eraseAnswers, eraseEvents } from './erase-published'
import { eraseTickets } from './erase-tickets'
import { idsOf, isNamedIn } from './traces'

/** Erasures whose events one walk erases. */
const ERASURES = 50

/** Erases tickets that the caller has locked, together with those that were merged into them. */
export async function eraseConversations(scope: Scope, ticket_ids: string[]): Promise<void> {
  const { sql, organization_id } = scope
  const tickets = await sql<{ id: string }[]>`
    select id from tickets where organization_id = ${organization_id}
      and (id = any(${ticket_ids}::uuid[]) or merged_into_id = any(${ticket_ids}::uuid[]))
    order by id`
  const all = tickets.map(({ id }) => id)
  const ids = [...all, ...(await idsOf(scope, all))]
  await sql`
    insert into retention_erasures (organization_id, id, ids) values (${organization_id}, ${newId()}, ${ids}::uuid[])`
  await eraseLedgerOf(scope, all)
  await eraseTickets(scope, all)
}

/** Leaves of events and stored answers that tell of erased tickets ids only. */
export async function finishErasures(scope: Scope): Promise<void> {
  const { sql, organization_id } = scope
  for (;;) {
    const rows = await sql<{ id: string; ids: string[] }[]>`
      select id, ids from retention_erasures where organization_id = ${organization_id} order by id limit ${ERASURES}`
    if (rows.length === 0) return
    const ids = rows.flatMap(({ ids }) => ids)
    const isIn = isNamedIn(new Set(ids))
    await eraseAnswers(scope, { isIn, contact_ids: [] })
    await eraseEvents(scope, { isIn, ids, contact_ids: [], address_like: [] })
    await sql`
      delete from retention_erasures
      where organization_id = ${organization_id} and id = any(${rows.map(({ id }) => id)}::uuid[])`
  }
}
