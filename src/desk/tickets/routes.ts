import Elysia from 'elysia'
import { NoContent, one, pageOf, pageWith } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { data, done } from '../../http/request/answer'
import { Activity } from '../timeline/model'
import { listActivity } from '../timeline/queries'
import { changeTickets } from './bulk'
import { deleteTicket, updateTicket } from './commands'
import { listTickets } from './list'
import {
  Assignment,
  BulkChange,
  BulkResult,
  Ticket,
  TicketChanges,
  TicketLabels,
  TicketListMeta,
  TicketQuery,
} from './model'
import { effectiveFilter } from './saved-filter'

export const ticketRoutes = new Elysia({
  tags: ['Tickets'],
  detail: { about: 'Support requests with status, priority, assignee and labels.' },
})
  .use(inOrganization)

  .get('/tickets', async ({ scope, query }) => listTickets(scope, await effectiveFilter(scope, query)), {
    query: TicketQuery,
    response: pageWith(Ticket, TicketListMeta),
    detail: { summary: 'List tickets', permission: 'tickets:read' },
  })

  .post('/tickets/bulk', ({ scope, body }) => changeTickets(scope, body), {
    body: BulkChange,
    response: BulkResult,
    detail: {
      summary: 'Change many tickets',
      description: 'Each ticket is changed wholly or not at all, like by PATCH. After a fault, repeat it',
      permission: 'tickets:write',
      reads: 'dry run',
      idempotency: 'afterwards',
    },
  })

  .patch('/tickets/:ticket_id', ({ scope, params, body }) => data(updateTicket(scope, params.ticket_id, body)), {
    params: path('ticket_id'),
    body: TicketChanges,
    response: one(Ticket),
    detail: { summary: 'Update ticket', permission: 'tickets:write', codes: ['EXTERNAL_ID_EXISTS'] },
  })

  .delete('/tickets/:ticket_id', ({ scope, params }) => done(deleteTicket(scope, params.ticket_id)), {
    params: path('ticket_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete ticket', permission: 'tickets:write', codes: ['ON_HOLD'] },
  })

  .post(
    '/tickets/:ticket_id/labels',
    ({ scope, params, body }) => data(updateTicket(scope, params.ticket_id, { add_label_ids: body.label_ids })),
    {
      params: path('ticket_id'),
      body: TicketLabels,
      response: one(Ticket),
      detail: { summary: 'Add ticket labels', permission: 'tickets:write', idempotency: 'with the change' },
    },
  )

  .delete(
    '/tickets/:ticket_id/labels',
    ({ scope, params, body }) => data(updateTicket(scope, params.ticket_id, { remove_label_ids: body.label_ids })),
    {
      params: path('ticket_id'),
      body: TicketLabels,
      response: one(Ticket),
      detail: { summary: 'Remove ticket labels', permission: 'tickets:write' },
    },
  )

  .post('/tickets/:ticket_id/assign', ({ scope, params, body }) => data(updateTicket(scope, params.ticket_id, body)), {
    params: path('ticket_id'),
    body: Assignment,
    response: one(Ticket),
    detail: { summary: 'Assign ticket', permission: 'tickets:write', idempotency: 'with the change' },
  })

  .post(
    '/tickets/:ticket_id/unassign',
    ({ scope, params }) => data(updateTicket(scope, params.ticket_id, { assignee_id: null })),
    {
      params: path('ticket_id'),
      response: one(Ticket),
      detail: { summary: 'Unassign ticket', permission: 'tickets:write', idempotency: 'with the change' },
    },
  )

  .get('/tickets/:ticket_id/activity', ({ scope, params, query }) => listActivity(scope, params.ticket_id, query), {
    params: path('ticket_id'),
    query: query(Paging),
    response: pageOf(Activity),
    detail: { summary: 'List ticket activity', permission: 'tickets:read' },
  })
