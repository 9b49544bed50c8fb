import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { createMailbox, deleteMailbox, testMailbox, updateMailbox } from './commands'
import { Mailbox, MailboxChanges, MailboxTest, NewMailbox } from './model'
import { getMailbox, listMailboxes } from './queries'

export const mailboxRoutes = new Elysia({
  tags: ['Mailboxes'],
  detail: { about: 'Addresses that receive and send email.' },
})
  .use(inOrganization)

  .get('/mailboxes', ({ scope, query }) => listMailboxes(scope, query), {
    query: query(Paging),
    response: pageOf(Mailbox),
    detail: { summary: 'List mailboxes', permission: 'mailboxes:read' },
  })

  .post('/mailboxes', ({ scope, body }) => created(createMailbox(scope, body)), {
    body: NewMailbox,
    response: { 201: one(Mailbox) },
    detail: {
      summary: 'Create mailbox',
      permission: 'mailboxes:write',
      codes: ['EMAIL_ALREADY_EXISTS'],
      idempotency: 'with the change',
    },
  })

  .get('/mailboxes/:mailbox_id', ({ scope, params }) => data(getMailbox(scope, params.mailbox_id)), {
    params: path('mailbox_id'),
    response: one(Mailbox),
    detail: { summary: 'Get mailbox', permission: 'mailboxes:read' },
  })

  .patch('/mailboxes/:mailbox_id', ({ scope, params, body }) => data(updateMailbox(scope, params.mailbox_id, body)), {
    params: path('mailbox_id'),
    body: MailboxChanges,
    response: one(Mailbox),
    detail: { summary: 'Update mailbox', permission: 'mailboxes:write', codes: ['EMAIL_ALREADY_EXISTS'] },
  })

  .delete('/mailboxes/:mailbox_id', ({ scope, params }) => done(deleteMailbox(scope, params.mailbox_id)), {
    params: path('mailbox_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete mailbox', permission: 'mailboxes:write' },
  })

  .post('/mailboxes/:mailbox_id/test', ({ scope, params }) => data(testMailbox(scope, params.mailbox_id)), {
    params: path('mailbox_id'),
    response: one(MailboxTest),
    detail: { summary: 'Test mailbox', permission: 'mailboxes:write', idempotency: 'afterwards' },
  })
