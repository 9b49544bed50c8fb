/** The states of a ticket and the ways between them. Pure. */
import type { TICKET_STATUSES } from '../../base/db/schema'

type TicketStatus = (typeof TICKET_STATUSES)[number]

/** The statuses that may follow each status. */
export const TRANSITIONS: Record<TicketStatus, readonly TicketStatus[]> = {
  open: ['pending', 'resolved', 'closed'],
  pending: ['open', 'resolved', 'closed'],
  resolved: ['open', 'closed'],
  closed: ['open'],
}

/** Tells if a ticket may go from one status to the other. The same status is always allowed: nothing changes. */
export function isAllowed(from: TicketStatus, to: TicketStatus): boolean {
  return from === to || TRANSITIONS[from].includes(to)
}
