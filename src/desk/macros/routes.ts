import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done, inSteps } from '../../http/request/answer'
import { applyMacro, createMacro, deleteMacro, previewMacro, updateMacro } from './commands'
import { AppliedMacro, Macro, MacroChanges, MacroPreview, MacroUse, NewMacro } from './model'
import { getMacro, listMacros, type MacroPage } from './queries'

export const macroRoutes = new Elysia({
  tags: ['Macros'],
  detail: { about: 'Prepared answers and changes of a ticket, made by one request.' },
})
  .use(inOrganization)

  .get('/macros', async ({ scope, query }) => inSteps<MacroPage>(await listMacros(scope, query)), {
    query: query(Paging),
    response: pageOf(Macro),
    detail: { summary: 'List macros', description: 'By name', permission: 'macros:read' },
  })

  .post('/macros', ({ scope, body }) => created(createMacro(scope, body)), {
    body: NewMacro,
    response: { 201: one(Macro) },
    detail: {
      summary: 'Create macro',
      permission: 'macros:write',
      codes: ['MACRO_NAME_EXISTS'],
      idempotency: 'with the change',
    },
  })

  .get('/macros/:macro_id', ({ scope, params }) => data(getMacro(scope, params.macro_id)), {
    params: path('macro_id'),
    response: one(Macro),
    detail: { summary: 'Get macro', permission: 'macros:read' },
  })

  .patch('/macros/:macro_id', ({ scope, params, body }) => data(updateMacro(scope, params.macro_id, body)), {
    params: path('macro_id'),
    body: MacroChanges,
    response: one(Macro),
    detail: { summary: 'Update macro', permission: 'macros:write', codes: ['MACRO_NAME_EXISTS'] },
  })

  .delete('/macros/:macro_id', ({ scope, params }) => done(deleteMacro(scope, params.macro_id)), {
    params: path('macro_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete macro', permission: 'macros:write' },
  })

  .post('/macros/:macro_id/preview', ({ scope, params, body }) => data(previewMacro(scope, params.macro_id, body)), {
    params: path('macro_id'),
    body: MacroUse,
    response: one(MacroPreview),
    detail: {
      summary: 'Preview macro',
      description: 'What it would do to a ticket; changes nothing',
      permission: 'tickets:read',
      reads: true,
      idempotency: 'with the change',
    },
  })

  .post('/macros/:macro_id/apply', ({ scope, params, body }) => data(applyMacro(scope, params.macro_id, body)), {
    params: path('macro_id'),
    body: MacroUse,
    response: one(AppliedMacro),
    detail: {
      summary: 'Apply macro',
      description: 'Writes its message, then makes its changes: all or nothing',
      permission: 'tickets:write',
      and_permission: 'messages:write',
      codes: ['EMPTY_BODY', 'INVALID_STATUS', 'INVALID_CUSTOM'],
      codes_422: ['USER_NOT_FOUND', 'LABEL_NOT_FOUND'],
      idempotency: 'by its command',
    },
  })
