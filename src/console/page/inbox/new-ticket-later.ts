/** The form that begins a ticket, in a file of its own: few need it at first. */
import { lazy } from '../lazy'

export const NewTicket = lazy(async () => (await import('./new-ticket')).NewTicket)
