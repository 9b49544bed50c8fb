import Elysia from 'elysia'
import { NoContent, one, pageOf } from '../../base/shapes/answers'
import { path } from '../../base/shapes/fields'
import { Paging, query } from '../../base/shapes/query'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done } from '../../http/request/answer'
import { createRule, deleteRule, updateRule } from './commands'
import { NewRule, Rule, RuleChanges } from './model'
import { getRule, listRules } from './queries'

/** A key needs them for what the rule does. The command asks for that to read its event, too. */
const RIGHTS = ['tickets:write', 'messages:write'] as const

export const ruleRoutes = new Elysia({
  tags: ['Rules'],
  detail: { about: 'Macros that the service applies by itself when an event happens.' },
})
  .use(inOrganization)

  .get('/rules', ({ scope, query }) => listRules(scope, query), {
    query: query(Paging),
    response: pageOf(Rule),
    detail: { summary: 'List rules', description: 'By name', permission: 'rules:read' },
  })

  .post('/rules', ({ scope, body }) => created(createRule(scope, body)), {
    body: NewRule,
    response: { 201: one(Rule) },
    detail: {
      summary: 'Create rule',
      permission: 'rules:write',
      and_permission: RIGHTS,
      codes: ['RULE_NAME_EXISTS'],
      idempotency: 'with the change',
    },
  })

  .get('/rules/:rule_id', ({ scope, params }) => data(getRule(scope, params.rule_id)), {
    params: path('rule_id'),
    response: one(Rule),
    detail: { summary: 'Get rule', permission: 'rules:read' },
  })

  .patch('/rules/:rule_id', ({ scope, params, body }) => data(updateRule(scope, params.rule_id, body)), {
    params: path('rule_id'),
    body: RuleChanges,
    response: one(Rule),
    detail: { summary: 'Update rule', permission: 'rules:write', and_permission: RIGHTS, codes: ['RULE_NAME_EXISTS'] },
  })

  .delete('/rules/:rule_id', ({ scope, params }) => done(deleteRule(scope, params.rule_id)), {
    params: path('rule_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete rule', permission: 'rules:write' },
  })
