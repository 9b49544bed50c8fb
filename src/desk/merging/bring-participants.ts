/** Lists the people of merged tickets on the tickets that have their messages, and removes them again. */
import { type Scope, together } from '../../base/scope'
import { addToEach, type CandidatesOfTicket } from '../participants/commands'
import { recordActivity } from '../timeline/activity'

/** Candidates that one call of `addToEach` takes. */
const CHUNK = 100

type Brought = { name: string | null; email: string; confirmed: boolean; original_ticket_id: string }

/**
 * Lists the participants of merged tickets, and their contacts as confirmed ones, in the caller's transaction, which
 * has locked all of them.
 * @param from the merged tickets
 */
export async function bringParticipants(
  scope: Scope,
  ticket: CandidatesOfTicket['ticket'],
  from: string[],
): Promise<void> {
  if (from.length === 0) return
  const { sql, organization_id } = scope
  // A person who came to a merged ticket by another merge comes here from the first ticket.
  const rows = await sql<Brought[]>`
    select c.name, c.email, true as confirmed, t.id as original_ticket_id
    from tickets t join contacts c on c.organization_id = ${organization_id} and c.id = t.contact_id
    where t.organization_id = ${organization_id} and t.id = any(${from}::uuid[])
    union all
    select p.name, p.email, p.confirmed and not p.was_listed, p.ticket_id from participants p
    where p.organization_id = ${organization_id} and p.ticket_id = any(${from}::uuid[])
      and (p.original_ticket_id is null or p.was_listed)
    order by original_ticket_id, email`
  // Of an address that comes twice the first row counts.
  const candidates = rows
    .toSorted((a, b) => Number(b.confirmed) - Number(a.confirmed))
    .map(({ confirmed, ...one }) => ({ ...one, standing: confirmed ? ('confirmed' as const) : ('listed' as const) }))
  for (let start = 0; start < candidates.length; start += CHUNK) {
    await addToEach(scope, [{ ticket, actor: scope.actor, candidates: candidates.slice(start, start + CHUNK) }])
  }
}

/** Removes people who came from merged tickets, unless somebody has confirmed them since. */
export async function removeBrought(scope: Scope, ticket_ids: string[], brought_by: string[]): Promise<void> {
  const { sql, organization_id } = scope
  const these = () => sql`
    organization_id = ${organization_id} and ticket_id = any(${ticket_ids}::uuid[])
    and original_ticket_id = any(${brought_by}::uuid[])`
  const [removed] = await together([
    sql<{ id: string; ticket_id: string; email: string }[]>`
      delete from participants where ${these()} and not was_listed returning id, ticket_id, email`,
    sql`update participants set confirmed = false, was_listed = false, original_ticket_id = null where ${these()}`,
  ])
  for (const { id, ticket_id, email } of removed) {
    await recordActivity(scope, ticket_id, [{ type: 'participant_removed', data: { participant_id: id, email } }])
  }
}
