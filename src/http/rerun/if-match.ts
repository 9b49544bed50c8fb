/** Answers 412 to a PATCH or DELETE whose If-Match no longer holds (RFC 9110, section 13.1.1). */
import Elysia, { ElysiaCustomStatusResponse } from 'elysia'
import { inTransaction } from '../../base/scope'
import type { LargeAnswer } from '../request/answer'
import { type Declarations, declarationOf } from '../request/declarations'
import { stateOf } from '../request/request'
import { lockPath } from '../request/resources'
import { requireTag } from '../request/tags'
import type { Call, Handlers } from './route-handlers'

/**
 * Returns the plugin that runs the handler of a PATCH or DELETE with If-Match in a transaction. The transaction locks
 * the resource's row, so that nobody changes it between the check and the change. A route whose command does that
 * itself is left to it.
 */
export function ifMatch(handlers: Handlers, declarations: Declarations) {
  return new Elysia({ name: 'if-match' }).onBeforeHandle(
    { as: 'global' },
    // Each field is named: Elysia prepares for every request whatever a global hook seems to use.
    async ({ request, route, params, query, body, set, status }) => {
      const { scope } = stateOf(request)
      const handler = scope && request.headers.has('if-match') && handlers.find(request.method, route)
      if (!handler || !isConditional(request.method, route)) return
      if (declarationOf(declarations, request.method, route).if_match) return
      const call = { request, route, params: params ?? {}, query, body, set, status, scope } as Call
      return inTransaction(scope, async (inner) => {
        await lockPath(inner, call.params)
        await requireMatch(handlers, { ...call, scope: inner })
        return handler({ ...call, scope: inner })
      }).then(withoutContent)
    },
  )
}

/**
 * Checks the If-Match of a PATCH or DELETE, if there is one. The path is known to exist.
 * @throws PRECONDITION_FAILED
 */
export async function requireMatch(handlers: Handlers, call: Call): Promise<void> {
  const { request, route } = call
  const header = request.headers.get('if-match')
  if (header === null || !isConditional(request.method, route) || header.trim() === '*') return
  const read = handlers.find('GET', route)
  // The query is of the write.
  requireTag(header, read && ((await read({ ...call, query: {} })) as { data: object } | LargeAnswer))
}

/** A DELETE that ends in a word instead of an id (`/tickets/:ticket_id/labels`) is an action, without conditions. */
function isConditional(method: string, route: string): boolean {
  return method === 'PATCH' || (method === 'DELETE' && route.includes('/:', route.lastIndexOf('/')))
}

/** Elysia sends nothing at all for the 204 of a hook, unless it is a whole response. */
export function withoutContent(value: unknown): unknown {
  const is_empty = value instanceof ElysiaCustomStatusResponse && value.response === undefined
  return is_empty ? new Response(null, { status: Number(value.code) }) : value
}
