import Elysia from 'elysia'
import { NoContent, one } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done, headersOf } from '../../http/request/answer'
import { createInlet, deleteInlet } from './commands'
import { Inlet, NewInlet, RawEnvelope, TakenMail } from './model'
import { takeMail } from './take-mail'

const SECTION = { tags: ['Inlets'], detail: { about: 'Mail that a provider brings over HTTPS.' } }

export const inletRoutes = new Elysia(SECTION)
  .use(inOrganization)

  .post(
    '/mailboxes/:mailbox_id/inlet',
    ({ scope, params, body }) => created(createInlet(scope, params.mailbox_id, body)),
    {
      params: path('mailbox_id'),
      body: NewInlet,
      response: { 201: one(Inlet) },
      detail: {
        summary: 'Open inlet',
        permission: 'mailboxes:write',
        and_permission: 'inbound_messages:write',
        idempotency: 'never',
      },
    },
  )

  .delete('/mailboxes/:mailbox_id/inlet', ({ scope, params }) => done(deleteInlet(scope, params.mailbox_id)), {
    params: path('mailbox_id'),
    response: { 204: NoContent },
    detail: { summary: 'Close inlet', permission: 'mailboxes:write', and_permission: 'inbound_messages:write' },
  })

const BYTES = { schema: { type: 'string', format: 'binary' } } as const

export const inboundRoutes = new Elysia(SECTION).post(
  '/inbound/:token',
  ({ params, query, request, set }) => data(takeMail(params.token, query, request, headersOf(set))),
  {
    parse: 'none',
    query: RawEnvelope,
    response: one(TakenMail),
    detail: {
      summary: 'Take mail',
      permission: 'anyone',
      codes: ['MAILBOX_NOT_FOUND', 'INVALID_SIGNATURE'],
      requestBody: { required: true, content: { 'message/rfc822': BYTES, 'multipart/form-data': BYTES } },
    },
  },
)
