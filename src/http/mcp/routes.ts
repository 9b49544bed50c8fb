/** `/mcp`: tools for programs by the Model Context Protocol, over HTTP, without sessions. */
import type Elysia from 'elysia'
import { ApiError } from '../../base/errors'
import { scopeOf } from '../admission/authenticate'
import { countedBy } from '../admission/credentials'
import { countRequest } from '../admission/rate-limit'
import { type Documented, openApiDocument } from '../openapi/document'
import type { Declarations } from '../request/declarations'
import { PERMISSIONS } from '../request/permissions'
import { stateOf } from '../request/request'
import { readAnyJson } from '../request/request-body'
import { serveMessages } from './serve-messages'
import { type Tool, type ToolDocument, toolsOf } from './tools'

/** Messages of a batch, in the revisions that have batches. */
const MOST_MESSAGES = 20

/** The revisions that have batches; the first is meant by requests that name none. */
const WITH_BATCHES = ['2025-03-26', '2024-11-05', '2024-10-07']

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600

/** Open to every person and key of an organization: what they may do there decides each call. */
const DETAIL = {
  hide: true,
  permission: 'member',
  or_permission: PERMISSIONS,
  idempotency: 'never',
  // Read by the route itself.
  requestBody: { content: { 'application/json-rpc': {} } },
} as const

const CLOSED = { detail: { hide: true, permission: 'anyone' } } as const

/** A plugin for the outermost app, which handles the requests of tools. */
export const mcpRoutes = (documented: Documented, declarations: Declarations) => (app: Elysia) => {
  let tools: Tool[] | undefined
  return app
    .get('/mcp', noSession, CLOSED)
    .delete('/mcp', noSession, CLOSED)
    .post(
      '/mcp',
      async ({ request, set }) => {
        const scope = scopeOf(request)
        const messages = await readMessages(request, scope.organization_id)
        if (messages instanceof Response) return logged(messages, set)
        const others = Array.isArray(messages) ? messages.length - 1 : 0
        if (others > 0) await countRequest(countedBy(stateOf(request)), set.headers as Record<string, string>, others)
        tools ??= toolsOf(openApiDocument(app, documented) as unknown as ToolDocument, declarations)
        const served = { request, scope, tools, declarations, handle: (inner: Request) => app.handle(inner) }
        return logged(await serveMessages(served, messages), set)
      },
      { detail: DETAIL },
    )
}

/** Tells the log the status of an answer. */
function logged(response: Response, set: { status?: number | string }): Response {
  set.status = response.status
  return response
}

/** Answers those who look for a session, or end one. */
function noSession(): Response {
  return refusal(405, -32000, 'There are no sessions: POST each message', { allow: 'POST' })
}

/** Reads a message or a batch. @returns the answer to one that cannot be read @throws PAYLOAD_TOO_LARGE */
async function readMessages(request: Request, organization_id: string): Promise<unknown> {
  let messages: unknown
  try {
    messages = await readAnyJson(request, organization_id)
  } catch (error) {
    if (!(error instanceof ApiError) || ![400, 422].includes(error.status)) throw error
    return refusal(400, error.status === 400 ? PARSE_ERROR : INVALID_REQUEST, 'The message cannot be read')
  }
  if (!Array.isArray(messages)) return messages
  if (!WITH_BATCHES.includes(request.headers.get('mcp-protocol-version') ?? WITH_BATCHES[0]!)) {
    return refusal(400, INVALID_REQUEST, 'This revision has no batches')
  }
  if (messages.length === 0 || messages.length > MOST_MESSAGES) {
    return refusal(400, INVALID_REQUEST, `A batch has 1 to ${MOST_MESSAGES} messages`)
  }
  // The SDK gives no answer to a request that is cancelled, and so none to the whole batch.
  const asked = messages.filter((message) => message?.method !== 'notifications/cancelled')
  return asked.length > 0 ? asked : new Response(null, { status: 202 })
}

function refusal(status: number, code: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers })
}
