import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { createSchedule, deleteSchedule, updateSchedule } from './commands'
import { NewSchedule, Schedule, ScheduleChanges } from './model'
import { getSchedule, listSchedules } from './queries'

export const scheduleRoutes = new Elysia({
  tags: ['Schedules'],
  detail: { about: 'Hours in which an organization works: SLA policies count their minutes.' },
})
  .use(inOrganization)

  .get('/schedules', ({ scope, query }) => listSchedules(scope, query), {
    query: query(Paging),
    response: pageOf(Schedule),
    detail: { summary: 'List schedules', description: 'By name', permission: 'schedules:read' },
  })

  .post('/schedules', ({ scope, body }) => created(createSchedule(scope, body)), {
    body: NewSchedule,
    response: { 201: one(Schedule) },
    detail: {
      summary: 'Create schedule',
      permission: 'schedules:write',
      codes: ['SCHEDULE_NAME_EXISTS'],
      idempotency: 'with the change',
    },
  })

  .get('/schedules/:schedule_id', ({ scope, params }) => data(getSchedule(scope, params.schedule_id)), {
    params: path('schedule_id'),
    response: one(Schedule),
    detail: { summary: 'Get schedule', permission: 'schedules:read' },
  })

  .patch(
    '/schedules/:schedule_id',
    ({ scope, params, body }) => data(updateSchedule(scope, params.schedule_id, body)),
    {
      params: path('schedule_id'),
      body: ScheduleChanges,
      response: one(Schedule),
      detail: { summary: 'Update schedule', permission: 'schedules:write', codes: ['SCHEDULE_NAME_EXISTS'] },
    },
  )

  .delete('/schedules/:schedule_id', ({ scope, params }) => done(deleteSchedule(scope, params.schedule_id)), {
    params: path('schedule_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete schedule', permission: 'schedules:write' },
  })
