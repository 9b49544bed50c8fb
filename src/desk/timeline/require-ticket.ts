/** Checks that a ticket is there: for lists of its timeline, messages and participants, and for what is added to it. */
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'

/** Throws unless the ticket exists and is not deleted. @throws TICKET_NOT_FOUND */
export async function requireTicket({ sql, organization_id }: Scope, ticket_id: string): Promise<void> {
  const found = await sql`
    select from tickets where organization_id = ${organization_id} and id = ${ticket_id} and deleted_at is null`
  if (found.length === 0) throw new ApiError('TICKET_NOT_FOUND')
}

/**
 * Keeps a ticket that may be written to as it is until the transaction ends: a deletion or a merge waits.
 * @throws TICKET_NOT_FOUND, TICKET_MERGED
 */
export async function keepTicket({ sql, organization_id }: Scope, id: string): Promise<void> {
  const [ticket] = await sql<{ merged_into_id: string | null }[]>`
    select merged_into_id from tickets
    where organization_id = ${organization_id} and id = ${id} and deleted_at is null for share`
  if (!ticket) throw new ApiError('TICKET_NOT_FOUND')
  if (ticket.merged_into_id === null) return
  const [target] = await sql<TicketCode[]>`
    select id, code from tickets where organization_id = ${organization_id} and id = ${ticket.merged_into_id}`
  requireUnmerged({ merged_into: target! })
}

type TicketCode = { id: string; code: string }

/** Refuses to write to a ticket that was merged into another one. @throws TICKET_MERGED */
export function requireUnmerged({ merged_into }: { merged_into: TicketCode | null }): void {
  if (merged_into) throw new ApiError('TICKET_MERGED', { merged_into })
}
