import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { createTeam, deleteTeam, updateTeam } from './commands'
import { NewTeam, Team, TeamChanges } from './model'
import { getTeam, listTeams } from './queries'

export const teamRoutes = new Elysia({
  tags: ['Teams'],
  detail: { about: 'Members who share the work on tickets, and how the tickets are given to them.' },
})
  .use(inOrganization)

  .get('/teams', ({ scope, query }) => listTeams(scope, query), {
    query: query(Paging),
    response: pageOf(Team),
    detail: { summary: 'List teams', description: 'By name', permission: 'teams:read' },
  })

  .post('/teams', ({ scope, body }) => created(createTeam(scope, body)), {
    body: NewTeam,
    response: { 201: one(Team) },
    detail: {
      summary: 'Create team',
      permission: 'teams:write',
      codes: ['TEAM_NAME_EXISTS'],
      idempotency: 'with the change',
    },
  })

  .get('/teams/:team_id', ({ scope, params }) => data(getTeam(scope, params.team_id)), {
    params: path('team_id'),
    response: one(Team),
    detail: { summary: 'Get team', permission: 'teams:read' },
  })

  .patch('/teams/:team_id', ({ scope, params, body }) => data(updateTeam(scope, params.team_id, body)), {
    params: path('team_id'),
    body: TeamChanges,
    response: one(Team),
    detail: { summary: 'Update team', permission: 'teams:write', codes: ['TEAM_NAME_EXISTS'] },
  })

  .delete('/teams/:team_id', ({ scope, params }) => done(deleteTeam(scope, params.team_id)), {
    params: path('team_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete team', permission: 'teams:write' },
  })
