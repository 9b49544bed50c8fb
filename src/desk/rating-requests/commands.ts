import { toInstant } from '../../base/db/columns'
import { ApiError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { publish } from '../../delivery/webhooks/publish'
import { findRecipients } from '../messages/addressees'
import type { NewRating } from '../ratings/model'
import { addressed, askNow, isFinished, isGood } from '../ratings/requests'
import type { Ticket } from '../tickets/model'
import { lockTicket } from '../tickets/queries'
import { recordActivity } from '../timeline/activity'

/**
 * Asks the contact of a ticket for a rating, by a letter that leaves after the commit.
 * @throws TICKET_NOT_FOUND, TICKET_MERGED, INVALID_STATUS, EMAIL_SEND_FAILED, RATING_REQUESTED
 */
export function requestRating(scope: Scope, ticket_id: string): Promise<Ticket> {
  return inTransaction(scope, async (scope) => {
    const { ticket } = await lockTicket(scope, ticket_id)
    if (!isFinished(ticket.status)) throw new ApiError('INVALID_STATUS')
    const { mailbox, recipients } = await findRecipients(scope, addressed(ticket), [])
    if (!mailbox || recipients.length === 0) throw new ApiError('EMAIL_SEND_FAILED')
    await askNow(scope, { ticket_id, mailbox_id: mailbox.id })
    await recordActivity(scope, ticket_id, [{ type: 'rating_requested', data: {} }])
    return ticket
  })
}

/**
 * Rates a ticket in the name of its contact. The newest rating counts; the same one again changes nothing.
 * @param mayRate judges the ticket behind its lock @throws what it throws
 * @throws TICKET_NOT_FOUND, also for one without a contact; TICKET_MERGED
 */
export function rateTicket(
  scope: Scope,
  ticket_id: string,
  { score, comment }: NewRating,
  mayRate: (scope: Scope, ticket: Ticket) => Promise<void> | void,
): Promise<void> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const { ticket, locked_at } = await lockTicket(scope, ticket_id)
    await mayRate(scope, ticket)
    if (!ticket.contact) throw new ApiError('TICKET_NOT_FOUND')
    const rating = { score, comment: comment || null, rated_at: toInstant(locked_at) }
    if (ticket.rating?.score === score && ticket.rating.comment === rating.comment) return
    await sql`
      update tickets set rating_score = ${score}, rating_comment = ${rating.comment}, rated_at = ${rating.rated_at},
        updated_at = ${locked_at}
      where organization_id = ${organization_id} and id = ${ticket_id}`
    const by_contact = { ...scope, actor: { type: 'contact' as const, ...ticket.contact } }
    await recordActivity(by_contact, ticket_id, [{ type: 'rated', data: { score } }])
    const data = { ...ticket, rating, updated_at: toInstant(locked_at) }
    await publish(by_contact, [{ type: 'ticket.rated', data }])
  })
}

/** Rates the ticket of a link. @param id of the request @throws TICKET_NOT_FOUND for a link that is good no more */
export async function rateByLink(scope: Scope, id: string, rating: NewRating): Promise<void> {
  const { ticket_id } = await findByLink(scope, id)
  await rateTicket(scope, ticket_id, rating, async (inner) => {
    await findByLink(inner, id)
  }).catch(asEnded)
}

/** A merge ends the links of a ticket. */
function asEnded(error: unknown): never {
  throw error instanceof ApiError && error.code === 'TICKET_MERGED' ? new ApiError('TICKET_NOT_FOUND') : error
}

/** A ticket as the page of a link shows it. */
type AskedTicket = { ticket_id: string; code: string; organization_name: string; contact_id: string }

/** Finds the ticket of a link. @param id of the request @throws TICKET_NOT_FOUND for a link that is good no more */
export async function findByLink({ sql, organization_id }: Scope, id: string): Promise<AskedTicket> {
  const [asked] = await sql<AskedTicket[]>`
    select t.id as ticket_id, t.code, o.name as organization_name, t.contact_id
    from rating_requests r
    join tickets t on t.organization_id = ${organization_id} and t.id = r.ticket_id
    join organizations o on o.id = ${organization_id}
    where r.organization_id = ${organization_id} and r.id = ${id} and ${isGood(sql, organization_id)}`
  if (!asked) throw new ApiError('TICKET_NOT_FOUND')
  return asked
}
