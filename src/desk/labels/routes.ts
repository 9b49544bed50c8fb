import Elysia from 'elysia'
import { listOrPage, NoContent, one } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { createLabel, deleteLabel, updateLabel } from './commands'
import { Label, LabelChanges, LabelWithUsage, NewLabel } from './model'
import { getLabel, listLabels } from './queries'

export const labelRoutes = new Elysia({ tags: ['Labels'], detail: { about: 'Coloured tags of tickets.' } })
  .use(inOrganization)

  .get('/labels', ({ scope, query }) => listLabels(scope, query), {
    query: query(Paging),
    response: listOrPage(Label),
    detail: { summary: 'List labels', permission: 'labels:read' },
  })

  .post('/labels', ({ scope, body }) => created(createLabel(scope, body)), {
    body: NewLabel,
    response: { 201: one(LabelWithUsage) },
    detail: {
      summary: 'Create label',
      permission: 'labels:write',
      codes: ['LABEL_NAME_EXISTS'],
      idempotency: 'with the change',
    },
  })

  .get('/labels/:label_id', ({ scope, params }) => data(getLabel(scope, params.label_id)), {
    params: path('label_id'),
    response: one(LabelWithUsage),
    detail: { summary: 'Get label', permission: 'labels:read' },
  })

  .patch('/labels/:label_id', ({ scope, params, body }) => data(updateLabel(scope, params.label_id, body)), {
    params: path('label_id'),
    body: LabelChanges,
    response: one(LabelWithUsage),
    detail: { summary: 'Update label', permission: 'labels:write', codes: ['LABEL_NAME_EXISTS'] },
  })

  .delete('/labels/:label_id', ({ scope, params }) => done(deleteLabel(scope, params.label_id)), {
    params: path('label_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete label', permission: 'labels:write', codes: ['ON_HOLD'] },
  })
