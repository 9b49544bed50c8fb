import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done, inSteps } from '../../http/request/answer'
import { NewRating } from '../ratings/model'
import { createMyMessage, createMyTicket, rateMine, uploadMine } from './commands'
import { createToken, revokeTokens } from './contact-tokens'
import {
  ContactToken,
  MyAttachment,
  MyMessage,
  MyRatedTicket,
  MyTicket,
  MyTicketFilter,
  NewContactToken,
  NewMyMessage,
  NewMyTicket,
} from './model'
import { getMyTicket, listMyMessages, listMyTickets, type MyMessages } from './queries'

const SECTION = {
  tags: ['Customers'],
  detail: { about: 'What a contact may do with a token: see and write its own tickets.' },
}

export const contactTokenRoutes = new Elysia(SECTION)
  .use(inOrganization)

  .post(
    '/contacts/:contact_id/tokens',
    ({ scope, params, body }) => created(createToken(scope, params.contact_id, body)),
    {
      params: path('contact_id'),
      body: NewContactToken,
      response: { 201: one(ContactToken) },
      detail: {
        summary: 'Create contact token',
        description:
          'For the page of a customer. It ends with the contact, and with the API key or the membership of the admin that made it.',
        permission: 'contact_tokens:write',
        has_optional_body: true,
        idempotency: 'never',
      },
    },
  )

  .delete('/contacts/:contact_id/tokens', ({ scope, params }) => done(revokeTokens(scope, params.contact_id)), {
    params: path('contact_id'),
    response: { 204: NoContent },
    detail: { summary: 'Revoke contact tokens', permission: 'contact_tokens:write' },
  })

  .delete(
    '/contacts/:contact_id/tokens/:contact_token_id',
    ({ scope, params }) => done(revokeTokens(scope, params.contact_id, params.contact_token_id)),
    {
      params: path('contact_id', 'contact_token_id'),
      response: { 204: NoContent },
      detail: { summary: 'Revoke contact token', permission: 'contact_tokens:write' },
    },
  )

/** Routes of customers, which take their tokens and nothing else. */
export const portalRoutes = new Elysia(SECTION)
  .use(inOrganization)

  .get('/my/tickets', ({ scope, query }) => listMyTickets(scope, query), {
    query: MyTicketFilter,
    response: pageOf(MyTicket),
    detail: { summary: 'List my tickets', permission: 'customer' },
  })

  .post('/my/tickets', ({ scope, body }) => created(createMyTicket(scope, body)), {
    body: NewMyTicket,
    response: { 201: one(MyTicket) },
    detail: {
      summary: 'Create my ticket',
      permission: 'customer',
      codes_422: ['ATTACHMENT_INFECTED'],
      idempotency: 'by its command',
    },
  })

  .get('/my/tickets/:ticket_id', ({ scope, params }) => data(getMyTicket(scope, params.ticket_id)), {
    params: path('ticket_id'),
    response: one(MyRatedTicket),
    detail: { summary: 'Get my ticket', permission: 'customer' },
  })

  .put('/my/tickets/:ticket_id/rating', ({ scope, params, body }) => data(rateMine(scope, params.ticket_id, body)), {
    params: path('ticket_id'),
    body: NewRating,
    response: one(MyRatedTicket),
    detail: {
      summary: 'Rate my ticket',
      description: 'When it is resolved or closed. Only its contact; the newest rating counts',
      permission: 'customer',
      codes: ['TICKET_MERGED', 'INVALID_STATUS'],
    },
  })

  .get(
    '/my/tickets/:ticket_id/messages',
    async ({ scope, params, query }) => inSteps<MyMessages>(await listMyMessages(scope, params.ticket_id, query)),
    {
      params: path('ticket_id'),
      query: query(Paging),
      response: pageOf(MyMessage),
      detail: { summary: 'List my messages', description: 'Oldest first', permission: 'customer' },
    },
  )

  .post(
    '/my/tickets/:ticket_id/messages',
    ({ scope, params, body }) => created(createMyMessage(scope, params.ticket_id, body)),
    {
      params: path('ticket_id'),
      body: NewMyMessage,
      response: { 201: one(MyMessage) },
      detail: {
        summary: 'Create my message',
        permission: 'customer',
        codes: ['TICKET_MERGED'],
        codes_422: ['ATTACHMENT_INFECTED'],
        idempotency: 'by its command',
      },
    },
  )

  .post('/my/attachments', ({ scope, request }) => created(uploadMine(scope, request)), {
    parse: 'none',
    response: { 201: one(MyAttachment) },
    detail: {
      summary: 'Upload my attachment',
      permission: 'customer',
      codes_422: ['ATTACHMENT_INFECTED'],
      idempotency: 'afterwards',
      requestBody: {
        required: true,
        content: {
          'multipart/form-data': {
            schema: { type: 'object', required: ['file'], properties: { file: { type: 'string', format: 'binary' } } },
          },
        },
      },
    },
  })
