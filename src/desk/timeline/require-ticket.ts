/** Checks that a ticket is there: for lists of its timeline, messages and participants, and for what is added to it. */
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'

/** Throws unless the ticket exists and is not deleted. @throws TICKET_NOT_FOUND */
export async function requireTicket({ sql, organization_id }: Scope, ticket_id: string): Promise<void> {
  const found = await sql`
    select from tickets where organization_id = ${organization_id} and id = ${ticket_id} and deleted_at is null`
  if (found.length === 0) throw new ApiError('TICKET_NOT_FOUND')
}

/** Keeps a visible ticket as it is until the transaction ends: a deletion waits. @throws TICKET_NOT_FOUND */
export async function keepTicket({ sql, organization_id }: Scope, id: string): Promise<void> {
  const found = await sql`
    select from tickets where organization_id = ${organization_id} and id = ${id} and deleted_at is null for share`
  if (found.length === 0) throw new ApiError('TICKET_NOT_FOUND')
}
