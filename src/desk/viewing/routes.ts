import Elysia from 'elysia'
import { NoContent, one } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { data, done } from '../../http/request/answer'
import { leave, view } from './commands'
import { NewViewing, Viewers } from './model'

export const viewingRoutes = new Elysia({
  tags: ['Viewing'],
  detail: { about: 'Who has a ticket open, so that two people do not answer it.' },
})
  .use(inOrganization)

  .put('/tickets/:ticket_id/viewing', ({ scope, params, body }) => data(view(scope, params.ticket_id, body)), {
    params: path('ticket_id'),
    body: NewViewing,
    response: one(Viewers),
    detail: {
      summary: 'View ticket',
      description: 'Counts for 60 seconds. Answers who else has the ticket open',
      permission: 'member',
      has_optional_body: true,
      codes: ['TICKET_MERGED'],
    },
  })

  .delete('/tickets/:ticket_id/viewing', ({ scope, params }) => done(leave(scope, params.ticket_id)), {
    params: path('ticket_id'),
    response: { 204: NoContent },
    detail: { summary: 'Stop viewing ticket', permission: 'member' },
  })
