import Elysia from 'elysia'
import { one } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { created } from '../../http/request/answer'
import { Ticket } from '../tickets/model'
import { beginTicket } from './begin-ticket'
import { OpenedTicket, TicketInclude, TicketToBegin } from './model'
import { openTicket } from './open-ticket'

export const openingRoutes = new Elysia({ tags: ['Tickets'] })
  .use(inOrganization)

  .post('/tickets', ({ scope, body }) => created(beginTicket(scope, body)), {
    body: TicketToBegin,
    response: { 201: one(Ticket) },
    detail: {
      summary: 'Create ticket',
      permission: 'tickets:write',
      codes: ['EXTERNAL_ID_EXISTS', 'EMAIL_SEND_FAILED'],
      codes_422: ['ATTACHMENT_INFECTED'],
      idempotency: 'by its command',
    },
  })

  .get('/tickets/:ticket_id', ({ scope, params, query }) => openTicket(scope, params.ticket_id, query.include ?? []), {
    params: path('ticket_id'),
    query: TicketInclude,
    response: OpenedTicket,
    detail: {
      summary: 'Get ticket',
      description:
        'With `include` also what stands beside it, each part as its own endpoint gives it, which takes the same permission',
      permission: 'tickets:read',
    },
  })
