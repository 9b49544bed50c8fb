import Elysia from 'elysia'
import { NoContent } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { done } from '../../http/request/answer'
import { markRead, markUnread } from './commands'
import { NewReadMark } from './model'

export const readMarkRoutes = new Elysia({
  tags: ['Read marks'],
  detail: { about: 'How far a person has read a ticket, on every device.' },
})
  .use(inOrganization)

  .put(
    '/tickets/:ticket_id/read',
    ({ scope, params, body }) => done(markRead(scope, params.ticket_id, body?.message_id)),
    {
      params: path('ticket_id'),
      body: NewReadMark,
      response: { 204: NoContent },
      detail: {
        summary: 'Mark ticket as read',
        description: 'Up to a message or note. Messages and notes of your own mark by themselves. No event tells of it',
        permission: 'member',
        has_optional_body: true,
        codes: ['TICKET_MERGED'],
      },
    },
  )

  .delete('/tickets/:ticket_id/read', ({ scope, params }) => done(markUnread(scope, params.ticket_id)), {
    params: path('ticket_id'),
    response: { 204: NoContent },
    detail: {
      summary: 'Mark ticket as unread',
      description: 'From the newest message or note of somebody else on; without one nothing happens',
      permission: 'member',
      codes: ['TICKET_MERGED'],
    },
  })
