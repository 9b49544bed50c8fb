import Elysia from 'elysia'
import { NoContent, one, orNull, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, done } from '../../http/request/answer'
import { requirePerson } from '../../http/request/permissions'
import { TimeEntry } from '../time-entries/model'
import { dropTimer, startTimer, stopTimer } from './commands'
import { NewTimer, StoppedTimer, Timer } from './model'
import { findTimer, listTimers } from './queries'

export const timerRoutes = new Elysia({
  tags: ['Timers'],
  detail: { about: 'Time that is being measured: one running timer for each user and organization.' },
})
  .use(inOrganization)

  .post(
    '/tickets/:ticket_id/timer/start',
    ({ scope, params, body }) => created(startTimer(scope, params.ticket_id, body)),
    {
      params: path('ticket_id'),
      body: NewTimer,
      response: { 201: one(Timer) },
      detail: {
        summary: 'Start timer',
        permission: 'member',
        codes: ['TIMER_ALREADY_RUNNING'],
        idempotency: 'with the change',
        has_optional_body: true,
      },
    },
  )

  .post(
    '/tickets/:ticket_id/timer/stop',
    ({ scope, params, body }) => created(stopTimer(scope, params.ticket_id, body)),
    {
      params: path('ticket_id'),
      body: StoppedTimer,
      response: { 201: one(TimeEntry) },
      detail: {
        summary: 'Stop timer',
        permission: 'member',
        codes: ['TIMER_NOT_FOUND'],
        idempotency: 'with the change',
        has_optional_body: true,
      },
    },
  )

  .get('/timer/active', async ({ scope }) => ({ data: (await findTimer(scope, requirePerson(scope).id)) ?? null }), {
    response: one(orNull(Timer)),
    detail: { summary: 'Get active timer', permission: 'member' },
  })

  .delete('/timer/active', ({ scope }) => done(dropTimer(scope)), {
    response: { 204: NoContent },
    detail: { summary: 'Drop active timer', permission: 'member', codes: ['TIMER_NOT_FOUND'] },
  })

  .get('/timers', ({ scope, query }) => listTimers(scope, query), {
    query: query(Paging),
    response: pageOf(Timer),
    detail: { summary: 'List timers', permission: 'admin' },
  })
