import Elysia from 'elysia'
import { one } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data } from '../../http/request/answer'
import { Ticket } from '../tickets/model'
import { mergeTickets, unmergeTicket } from './commands'
import { NewMerge, NewSplit } from './model'
import { splitTicket } from './split'

export const mergingRoutes = new Elysia({
  tags: ['Merging'],
  detail: { about: 'Tickets about one thing become one, and one about several becomes several.' },
})
  .use(inOrganization)

  .post('/tickets/:ticket_id/merge', ({ scope, params, body }) => data(mergeTickets(scope, params.ticket_id, body)), {
    params: path('ticket_id'),
    body: NewMerge,
    response: one(Ticket),
    detail: {
      summary: 'Merge tickets',
      description: 'Moves messages and time of other tickets to this one, and closes those',
      permission: 'tickets:write',
      idempotency: 'with the change',
    },
  })

  .post('/tickets/:ticket_id/unmerge', ({ scope, params }) => data(unmergeTicket(scope, params.ticket_id)), {
    params: path('ticket_id'),
    response: one(Ticket),
    detail: {
      summary: 'Undo merge',
      description: 'Within 30 days: what was written on the ticket goes back to it',
      permission: 'tickets:write',
      codes: ['TICKET_NOT_MERGED', 'UNMERGE_EXPIRED'],
      idempotency: 'with the change',
    },
  })

  .post('/tickets/:ticket_id/split', ({ scope, params, body }) => created(splitTicket(scope, params.ticket_id, body)), {
    params: path('ticket_id'),
    body: NewSplit,
    response: { 201: one(Ticket) },
    detail: {
      summary: 'Split ticket',
      description: 'Opens a ticket with some of the messages of this one',
      permission: 'tickets:write',
      idempotency: 'with the change',
    },
  })
