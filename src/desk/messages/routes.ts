import Elysia from 'elysia'
import { listOrPage, NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done, inSteps } from '../../http/request/answer'
import { getRecipients } from './addressees'
import { createMessage, deleteMessage } from './commands'
import { listAllMessages, listMessages, type MessagePage, type PageOfAll } from './list-messages'
import { Message, MessageFilter, MessageOfTicket, NewMessage, Recipients } from './model'
import { getMessage } from './queries'
import { resendMessage } from './resend'

export const messageRoutes = new Elysia({
  tags: ['Messages'],
  detail: { about: 'Replies and internal notes of a ticket, sent by email where asked.' },
})
  .use(inOrganization)

  .get('/messages', async ({ scope, query }) => inSteps<PageOfAll>(await listAllMessages(scope, query)), {
    query: query(Paging),
    response: pageOf(MessageOfTicket),
    detail: {
      summary: 'List messages of all tickets',
      description: 'Oldest first, with notes, each as in the events about it',
      permission: 'messages:read',
    },
  })

  .get(
    '/tickets/:ticket_id/messages',
    async ({ scope, params, query }) => inSteps<MessagePage>(await listMessages(scope, params.ticket_id, query)),
    {
      params: path('ticket_id'),
      query: MessageFilter,
      response: listOrPage(Message),
      detail: { summary: 'List messages', permission: 'messages:read' },
    },
  )

  .get('/tickets/:ticket_id/recipients', ({ scope, params }) => data(getRecipients(scope, params.ticket_id)), {
    params: path('ticket_id'),
    response: one(Recipients),
    detail: {
      summary: 'Get recipients',
      description: 'Where a public message without `cc` would go now',
      permission: 'messages:read',
    },
  })

  .post(
    '/tickets/:ticket_id/messages',
    ({ scope, params, body }) => created(createMessage(scope, params.ticket_id, body)),
    {
      params: path('ticket_id'),
      body: NewMessage,
      response: { 201: one(Message) },
      detail: {
        summary: 'Create message',
        permission: 'messages:write',
        codes: ['EMAIL_SEND_FAILED', 'PRECONDITION_FAILED'],
        codes_422: ['ATTACHMENT_INFECTED'],
        idempotency: 'by its command',
      },
    },
  )

  .get(
    '/tickets/:ticket_id/messages/:message_id',
    ({ scope, params }) => data(getMessage(scope, params.ticket_id, params.message_id)),
    {
      params: path('ticket_id', 'message_id'),
      response: one(Message),
      detail: { summary: 'Get message', permission: 'messages:read' },
    },
  )

  .post(
    '/tickets/:ticket_id/messages/:message_id/resend',
    ({ scope, params }) => data(resendMessage(scope, params.ticket_id, params.message_id)),
    {
      params: path('ticket_id', 'message_id'),
      response: one(Message),
      detail: {
        summary: 'Send message again',
        description:
          'To the recipients that `failed` or `bounced`, with the same Message-ID; the contact gets it at its address of ' +
          'now. 422 when there is nobody, when no mailbox can send, and while it is being sent',
        permission: 'messages:write',
        codes: ['EMAIL_SEND_FAILED'],
        idempotency: 'afterwards',
      },
    },
  )

  .delete(
    '/tickets/:ticket_id/messages/:message_id',
    ({ scope, params }) => done(deleteMessage(scope, params.ticket_id, params.message_id)),
    {
      params: path('ticket_id', 'message_id'),
      response: { 204: NoContent },
      detail: { summary: 'Delete message', permission: 'messages:write', codes: ['ON_HOLD'] },
    },
  )
