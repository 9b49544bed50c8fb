import Elysia from 'elysia'
import { one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { data } from '../../http/request/answer'
import { downloadOriginal, importMessage } from './commands'
import { InboundFilter, InboundMessage, InboundOptions } from './model'
import { getInboundMessage, listInboundMessages } from './queries'
import { releaseMessage } from './release'

export const inboundMessageRoutes = new Elysia({
  tags: ['Inbound messages'],
  detail: { about: 'The ledger of all email that was accepted.' },
})
  .use(inOrganization)

  .get('/inbound-messages', ({ scope, query }) => listInboundMessages(scope, query), {
    query: InboundFilter,
    response: pageOf(InboundMessage),
    detail: { summary: 'List inbound messages', permission: 'inbound_messages:read' },
  })

  .post(
    '/inbound-messages',
    async ({ scope, request, query, status }) => {
      const message = await data(importMessage(scope, request, query))
      return status(query.dry_run ? 200 : 201, message)
    },
    {
      query: InboundOptions,
      response: { 200: one(InboundMessage), 201: one(InboundMessage) },
      detail: {
        summary: 'File inbound message',
        permission: 'inbound_messages:write',
        reads: 'dry run',
        idempotency: 'afterwards',
        requestBody: {
          required: true,
          content: { 'message/rfc822': { schema: { type: 'string', format: 'binary' } } },
        },
      },
    },
  )

  .get(
    '/inbound-messages/:inbound_message_id',
    ({ scope, params }) => data(getInboundMessage(scope, params.inbound_message_id)),
    {
      params: path('inbound_message_id'),
      response: one(InboundMessage),
      detail: { summary: 'Get inbound message', permission: 'inbound_messages:read' },
    },
  )

  .post(
    '/inbound-messages/:inbound_message_id/release',
    ({ scope, params }) => data(releaseMessage(scope, params.inbound_message_id)),
    {
      params: path('inbound_message_id'),
      response: one(InboundMessage),
      detail: {
        summary: 'Release inbound message',
        permission: 'inbound_messages:write',
        codes: ['NOT_HELD'],
        idempotency: 'afterwards',
      },
    },
  )

  .get(
    '/inbound-messages/:inbound_message_id/raw',
    async ({ scope, params }) => {
      const original = await downloadOriginal(scope, params.inbound_message_id)
      return new Response(original, {
        headers: {
          'content-type': 'message/rfc822',
          'content-disposition': 'attachment; filename="message.eml"',
          'content-security-policy': "default-src 'none'; sandbox",
          'x-content-type-options': 'nosniff',
        },
      })
    },
    {
      params: path('inbound_message_id'),
      detail: {
        summary: 'Download inbound message',
        permission: 'inbound_messages:read',
        codes: ['ATTACHMENT_INFECTED'],
        responses: { 200: { description: 'The email as it came', content: { 'message/rfc822': {} } } },
      },
    },
  )
