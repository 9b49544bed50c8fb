import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, done } from '../../http/request/answer'
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
    ({ scope, params, body }) => created(createParticipant(scope, params.ticket_id, body)),
    {
      params: path('ticket_id'),
      body: NewParticipant,
      response: { 201: one(Participant) },
      detail: { summary: 'Create participant', permission: 'tickets:write', idempotency: 'with the change' },
    },
  )

  .delete(
    '/tickets/:ticket_id/participants/:participant_id',
    ({ scope, params }) => done(deleteParticipant(scope, params.ticket_id, params.participant_id)),
    {
      params: path('ticket_id', 'participant_id'),
      response: { 204: NoContent },
      detail: { summary: 'Delete participant', permission: 'tickets:write' },
    },
  )
