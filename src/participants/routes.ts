import Elysia from 'elysia'
import { data } from '../http/answer'
import { inOrganization } from '../http/authenticate'
import { NoContent, one, pageOf } from '../shapes/answers'
import { path } from '../shapes/fields'
import { Paging, query } from '../shapes/query'
import { createParticipant, deleteParticipant } from './commands'
import { NewParticipant, Participant } from './model'
import { listParticipants } from './queries'

export const participantRoutes = new Elysia({
  tags: ['Participants'],
  detail: { about: 'Who besides the contact takes part in a conversation.' },
})
  .use(inOrganization)

  .get(
    '/tickets/:ticket_id/participants',
    ({ scope, params, query }) => listParticipants(scope, params.ticket_id, query),
    {
      params: path('ticket_id'),
      query: query(Paging),
      response: pageOf(Participant),
      detail: { summary: 'List participants', permission: 'tickets:read' },
    },
  )

  .post(
    '/tickets/:ticket_id/participants',
    async ({ scope, params, body, status }) =>
      status(201, await data(createParticipant(scope, params.ticket_id, body))),
    {
      params: path('ticket_id'),
      body: NewParticipant,
      response: { 201: one(Participant) },
      detail: { summary: 'Create participant', permission: 'tickets:write', idempotency: 'with the change' },
    },
  )

  .delete(
    '/tickets/:ticket_id/participants/:participant_id',
    async ({ scope, params, status }) => {
      await deleteParticipant(scope, params.ticket_id, params.participant_id)
      return status(204, undefined)
    },
    {
      params: path('ticket_id', 'participant_id'),
      response: { 204: NoContent },
      detail: { summary: 'Delete participant', permission: 'tickets:write' },
    },
  )
