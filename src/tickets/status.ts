/** The states of a ticket and the ways between them (interface: States and transitions). Pure. */
import type { TICKET_STATUSES } from '../db/schema'

export type TicketStatus = (typeof TICKET_STATUSES)[number]

/** Where each status may go. */
export const TRANSITIONS: Record<TicketStatus, readonly TicketStatus[]> = {
  open: ['pending', 'resolved', 'closed'],
  pending: ['open', 'resolved', 'closed'],
  resolved: ['open', 'closed'],
  closed: ['open'],
}

/** Staying where it is counts as allowed: it is no change. */
export function isAllowed(from: TicketStatus, to: TicketStatus): boolean {
  return from === to || TRANSITIONS[from].includes(to)
}
