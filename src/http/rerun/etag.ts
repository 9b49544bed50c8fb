/** Tags of single objects (RFC 9110, sections 8.8.3 and 13; decisions.md section 2). */
import { createHash } from 'node:crypto'
import Elysia, { ElysiaCustomStatusResponse } from 'elysia'
import fresh from 'fresh'
import { ApiError } from '../../errors'
import { inTransaction, type Scope } from '../../scope'
import { LargeAnswer } from '../answer'
import { lockPath } from '../resources'
import type { Call, Handlers } from './route-handlers'

/**
 * Gives single objects their ETag, answers 304 to a GET whose If-None-Match names it, and runs a PATCH or DELETE with
 * If-Match in a transaction that holds the resource's row, so that nobody changes it between the check and the change.
 */
export function etags(handlers: Handlers) {
  return (
    new Elysia({ name: 'etags' })
      // Each field is named: Elysia prepares for every request what a hook of all routes seems to use.
      .onBeforeHandle({ as: 'global' }, async ({ request, route, params, query, body, set, status, ...more }) => {
        const { scope } = more as { scope?: Scope }
        const handler = scope && request.headers.has('if-match') && handlers.find(request.method, route)
        if (!handler || !isConditional(request.method, route)) return
        const call = { request, route, params: params ?? {}, query, body, set, status, scope } as Call
        return inTransaction(scope, async (inner) => {
          await lockPath(inner, call.params)
          await requireMatch(handlers, { ...call, scope: inner })
          return handler({ ...call, scope: inner })
        }).then(withoutContent)
      })
      .mapResponse({ as: 'global' }, ({ request, route, params, responseValue, set }) => {
        if (responseValue instanceof LargeAnswer) {
          const [etag] = tagsOf(responseValue)
          if (etag !== undefined) set.headers.etag = etag
          return etag !== undefined && isKnown(request, etag) ? notModified(set) : responseValue.toResponse(request)
        }
        const value = responseValue instanceof ElysiaCustomStatusResponse ? responseValue.response : responseValue
        const id = idOf(value)
        if (id === undefined || !isTagged(handlers, request.method, route, Object.values(params ?? {}).at(-1) === id)) {
          // For errors of unknown routes, a hook that returns nothing would leave nothing.
          return responseValue as Response
        }
        if (responseValue instanceof ElysiaCustomStatusResponse) set.status = responseValue.code
        const text = JSON.stringify(value)
        const etag = etagOf(text)
        set.headers.etag = etag
        if (isKnown(request, etag)) return notModified(set)
        set.headers['content-type'] = 'application/json'
        // Elysia sends a string as it is; only its type for this hook does not know.
        return text as unknown as Response
      })
  )
}

/** Elysia sends nothing at all for a hook's 204, unless it is a whole response. */
function withoutContent(value: unknown): unknown {
  const is_empty = value instanceof ElysiaCustomStatusResponse && value.response === undefined
  return is_empty ? new Response(null, { status: Number(value.code) }) : value
}

/** @throws PRECONDITION_FAILED when a PATCH or DELETE has an If-Match that does not hold. The path is known to exist. */
export async function requireMatch(handlers: Handlers, call: Call): Promise<void> {
  const { request, route } = call
  const header = request.headers.get('if-match')
  if (header === null || !isConditional(request.method, route) || header.trim() === '*') return
  const read = handlers.find('GET', route)
  const current = read ? tagsOf((await read(call)) as { data: object } | LargeAnswer) : []
  // If-Match compares strongly: a weak tag never holds. `fresh` compares weakly and does not read this header.
  if (!header.split(',').some((tag) => current.includes(tag.trim()))) throw new ApiError('PRECONDITION_FAILED')
}

/**
 * The tags that hold: that of the GET, and where a GET shows more than other answers do (a ticket's messages and time)
 * also that of what they show.
 */
function tagsOf(shown: { data: object } | LargeAnswer): string[] {
  if (shown instanceof LargeAnswer) return shown.versions.map((version) => etagOf(JSON.stringify(version)))
  const { data } = shown
  const { messages, time_entries, ...own } = data as Record<string, unknown>
  return [etagOf(JSON.stringify({ data })), etagOf(JSON.stringify({ data: own }))]
}

/** What a DELETE names by a word instead of an id is an action, and actions take no condition. */
function isConditional(method: string, route: string): boolean {
  return method === 'PATCH' || (method === 'DELETE' && route.includes('/:', route.lastIndexOf('/')))
}

/** Whether what the route answers can be read again at an address of its own. */
function isTagged({ reads }: Handlers, method: string, route: string, is_of_path: boolean): boolean {
  if (method === 'GET') return true
  if (method === 'PATCH') return reads().has(route)
  if (method !== 'POST') return false
  if (is_of_path) return reads().has(route.slice(0, route.lastIndexOf('/')))
  return [...reads()].some((path) => path.startsWith(`${route}/:`))
}

/** Of `{ data }` with one object. */
function idOf(value: unknown): string | undefined {
  const id = (value as { data?: { id?: unknown } | null } | null | undefined)?.data?.id
  return typeof id === 'string' ? id : undefined
}

/** The signatures in addresses of attachments (`attachments/url.ts`), as they are in JSON fields and in HTML. */
const SIGNATURES =
  /(\/api\/v1\/attachments\/[0-9a-f-]{36}\/content)\?organization=[0-9a-f-]{36}&(?:amp;)?expires=\d+&(?:amp;)?signature=[\w-]+/g

function etagOf(text: string): string {
  const lasting = text.includes('signature=') ? text.replace(SIGNATURES, '$1') : text
  return `"${createHash('sha256').update(lasting).digest('base64url').slice(0, 27)}"`
}

/** Whether a GET comes from one who has what is tagged so. */
function isKnown({ method, headers }: Request, etag: string): boolean {
  return method === 'GET' && fresh({ 'if-none-match': headers.get('if-none-match') ?? undefined }, { etag })
}

function notModified(set: { status?: number | string }): Response {
  set.status = 304
  return new Response(null, { status: 304 })
}
