/** Runs a write of an API key in one transaction with its entry in the audit log. */
import Elysia from 'elysia'
import { inTransaction } from '../../base/scope'
import { type Declarations, declarationOf } from '../request/declarations'
import { stateOf } from '../request/request'
import { withoutContent } from './if-match'
import type { Call, Handlers } from './route-handlers'

/**
 * Returns the plugin that runs the handler in a transaction, which lists it too (`scope.alongside`): a command of one
 * statement begins none. A POST whose command makes its own transaction, or sends something, is left to it.
 */
export function keyWrites(handlers: Handlers, declarations: Declarations) {
  return new Elysia({ name: 'key-writes' }).onBeforeHandle(
    { as: 'global' },
    // Each field is named: Elysia prepares for every request whatever a global hook seems to use.
    async ({ request, route, params, query, body, set, status }) => {
      const { scope } = stateOf(request)
      if (!scope?.alongside) return
      const { idempotency } = declarationOf(declarations, request.method, route)
      const handler = handlers.find(request.method, route)
      if (!handler || (request.method === 'POST' && idempotency !== 'with the change')) return
      const call = { request, route, params: params ?? {}, query, body, set, status, scope } as Call
      return inTransaction(scope, async (inner) => handler({ ...call, scope: inner })).then(withoutContent)
    },
  )
}
