import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { data, done } from '../../http/request/answer'
import { deleteSenderRule, putSenderRule } from './commands'
import { NewSenderRule, SenderRule } from './model'
import { listSenderRules } from './queries'

export const senderRuleRoutes = new Elysia({
  tags: ['Sender rules'],
  detail: { about: 'Senders whose mail is held, or never held as spam.' },
})
  .use(inOrganization)

  .get('/sender-rules', ({ scope, query }) => listSenderRules(scope, query), {
    query: query(Paging),
    response: pageOf(SenderRule),
    detail: { summary: 'List sender rules', permission: 'inbound_messages:read' },
  })

  .post(
    '/sender-rules',
    async ({ scope, body, status }) => {
      const { rule, is_new } = await putSenderRule(scope, body)
      return status(is_new ? 201 : 200, await data(rule))
    },
    {
      body: NewSenderRule,
      response: { 200: one(SenderRule), 201: one(SenderRule) },
      detail: {
        summary: 'Create sender rule',
        description: 'Every member may block an address.',
        permission: 'inbound_messages:write',
        or_permission: 'member',
        idempotency: 'with the change',
      },
    },
  )

  .delete(
    '/sender-rules/:sender_rule_id',
    ({ scope, params }) => done(deleteSenderRule(scope, params.sender_rule_id)),
    {
      params: path('sender_rule_id'),
      response: { 204: NoContent },
      detail: { summary: 'Delete sender rule', permission: 'inbound_messages:write' },
    },
  )
