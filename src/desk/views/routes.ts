import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { createView, deleteView, updateView } from './commands'
import { NewView, View, ViewChanges } from './model'
import { getView, listViews } from './queries'

export const viewRoutes = new Elysia({ tags: ['Views'], detail: { about: 'Saved filters of the ticket list.' } })
  .use(inOrganization)

  .get('/views', ({ scope, query }) => listViews(scope, query), {
    query: query(Paging),
    response: pageOf(View),
    detail: { summary: 'List views', permission: 'views:read' },
  })

  .post('/views', ({ scope, body }) => created(createView(scope, body)), {
    body: NewView,
    response: { 201: one(View) },
    detail: {
      summary: 'Create view',
      permission: 'views:write',
      codes: ['INVALID_STATUS', 'INVALID_PRIORITY'],
      idempotency: 'with the change',
    },
  })

  .get('/views/:view_id', ({ scope, params }) => data(getView(scope, params.view_id)), {
    params: path('view_id'),
    response: one(View),
    detail: { summary: 'Get view', permission: 'views:read' },
  })

  .patch('/views/:view_id', ({ scope, params, body }) => data(updateView(scope, params.view_id, body)), {
    params: path('view_id'),
    body: ViewChanges,
    response: one(View),
    detail: { summary: 'Update view', permission: 'views:write', codes: ['INVALID_STATUS', 'INVALID_PRIORITY'] },
  })

  .delete('/views/:view_id', ({ scope, params }) => done(deleteView(scope, params.view_id)), {
    params: path('view_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete view', permission: 'views:write' },
  })
