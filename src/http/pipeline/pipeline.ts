/**
 * Leads every request through the steps that `app.ts` lists, in that order.
 *
 * Elysia validates body and query before it calls hooks and handlers. Path, If-Match and key are therefore checked in
 * two places: in `error-answers.ts` when body or query is wrong, and in `rerun/` when they are right and the request
 * has one of the two headers. Without these headers the handler's own query answers 404.
 */
import { randomUUID } from 'node:crypto'
import Elysia from 'elysia'
import { config } from '../../base/config'
import { ApiError } from '../../base/errors'
import { log } from '../../base/log'
import { observeRequest } from '../../base/metrics/http-requests'
import { count, type Figure } from '../../base/metrics/organization-figures'
import { clientAddress, loggedAddress } from '../../base/net/client-address'
import { noteForwarder } from '../../base/net/untrusted-proxy'
import { beginSpan, currentSpan, isTracing, type Span } from '../../base/tracing/trace'
import { admission } from '../admission/authenticate'
import { countedBy, identify, showsKey } from '../admission/credentials'
import { allowEvery, allowOrigin, preflightAnswer, requireOwnPage } from '../admission/cross-origin'
import { withKeyAudit } from '../admission/key-audit'
import { countCustomer, countRequest } from '../admission/rate-limit'
import { withoutFalseLength } from '../request/answer'
import { releaseBody } from '../request/arriving-body'
import type { Declarations } from '../request/declarations'
import { singleParameters } from '../request/repeated-parameters'
import { outerState, type RequestState, setState, stateOf } from '../request/request'
import { bodyReader } from '../request/request-body'
import { ensureUrl, isApi, isBadEncoding, isInlet, isMcp } from '../request/url'
import { entityTags } from '../rerun/etag'
import { idempotency } from '../rerun/idempotency'
import { ifMatch } from '../rerun/if-match'
import { keyWrites } from '../rerun/key-write'
import type { Handlers } from '../rerun/route-handlers'
import { deprecation } from './deprecation'
import { errorAnswers } from './error-answers'

/** One year, for a service that itself serves HTTPS (RFC 6797). A proxy in front adds its own. */
const TLS_ONLY = 'max-age=31536000'

/**
 * Returns the plugin with all steps. The app uses it before its first route.
 * @param stopping aborted when the service begins to stop: from then on each connection closes after its answer
 */
export function pipeline(handlers: Handlers, declarations: Declarations, stopping?: AbortSignal) {
  return (
    new Elysia({ name: 'pipeline' })
      .use(errorAnswers(handlers, declarations))

      // url: before all hooks, because Elysia reads path and query before the first one.
      .wrap((handle, request) => {
        ensureUrl(request)
        const audited = isApi(request.url) && showsKey(request) ? withKeyAudit(handle, request, declarations) : handle
        const limited = uncounting(audited, request)
        const complete = request.method === 'HEAD' ? withTrueLength(limited) : releasing(limited, request)
        const traced = inSpan(complete, request)
        return stopping ? closedAfter(traced, stopping) : traced
      })

      // id, caller, limit
      .onRequest(async ({ request, server, set }) => {
        const state = beginState(request, server?.requestIP(request)?.address)
        set.headers['x-request-id'] = state.id
        if (config.TLS_CERT_FILE) set.headers['strict-transport-security'] = TLS_ONLY
        if (!isApi(request.url) && !isMcp(request.url)) return
        set.headers['cache-control'] = 'no-store'
        set.headers['x-content-type-options'] = 'nosniff'
        if (config.MCP === 'on' && isMcp(request.url)) requireOwnPage(request)
        const preflight = preflightAnswer(request)
        if (preflight) return preflight
        // Counts itself: a good token has no limit, and providers send the mail of many from one address.
        if (isInlet(request.url)) return
        await identify(request, state)
        const headers = set.headers as Record<string, string>
        allowOrigin(request, state, headers)
        if (!outerState(request)) await countCaller(request, state, headers)
      })

      // until when the route stays, body
      .use(deprecation(declarations))
      .onParse({ as: 'global' }, bodyReader(declarations))
      .onTransform({ as: 'global' }, ({ request }) => {
        if (isBadEncoding(request.url)) throw new ApiError('BAD_REQUEST', { reason: 'The query is no valid UTF-8' })
      })

      // membership, permission
      .use(admission(declarations))

      // query, path, If-Match, key; etag, after the handler
      .use(singleParameters())
      .use(ifMatch(handlers, declarations))
      .use(idempotency(handlers, declarations))
      .use(keyWrites(handlers, declarations))
      .use(entityTags(handlers))

      // log
      .onAfterResponse({ as: 'global' }, ({ request, route, set }) => {
        const { answered } = stateOf(request)
        const note = () => noteRequest(request, route, typeof set.status === 'number' ? set.status : 200)
        if (answered) void answered.then(note)
        else note()
      })
  )
}

type Handle = (...given: unknown[]) => unknown

function withTrueLength(handle: Handle): Handle {
  return async (...given) => {
    const response = await handle(...given)
    return response instanceof Response ? withoutFalseLength(response) : response
  }
}

/** Does not count a request that is answered 304. */
function uncounting(handle: Handle, request: Request): Handle {
  if (!request.headers.has('if-none-match')) return handle
  return async (...given) => {
    const response = await handle(...given)
    if (response instanceof Response && response.status === 304) stateOf(request).uncount?.(response.headers)
    return response
  }
}

/** Frees what the body of a request held, once it is answered. */
function releasing(handle: Handle, request: Request): Handle {
  if (request.method === 'GET') return handle
  return async (...given) => {
    try {
      return await handle(...given)
    } finally {
      releaseBody(request)
    }
  }
}

/** Traces a request of the API, as part of the trace that its `traceparent` names. `noteRequest` ends the span. */
function inSpan(handle: Handle, request: Request): Handle {
  if (!isTracing() || !isApi(request.url)) return handle
  const attributes = { 'http.request.method': request.method, 'url.scheme': config.TLS_CERT_FILE ? 'https' : 'http' }
  const parent = request.headers.get('traceparent')
  const begun = beginSpan({ name: request.method, kind: 'server', parent, attributes })
  return begun ? (...given) => begun.run(() => handle(...given)) : handle
}

/** The server closes a connection itself after an answer with this header. */
function closedAfter(handle: Handle, stopping: AbortSignal): Handle {
  return async (...given) => {
    const response = await handle(...given)
    if (stopping.aborted && response instanceof Response) response.headers.set('connection', 'close')
    return response
  }
}

const UNTRUSTED_PROXY =
  'X-Forwarded-For came from a peer that TRUSTED_PROXIES does not name: behind a proxy all clients count as one address. ' +
  'The command doctor says which peer'

function beginState(request: Request, peer = '127.0.0.1'): RequestState {
  const outer = outerState(request)
  const begun = { started_ms: performance.now(), span: currentSpan() }
  if (outer) return setState(request, { ...begun, id: outer.id, address: outer.address })
  const forwarded = request.headers.get('x-forwarded-for')
  if (forwarded !== null && noteForwarder(peer)) log.warn(UNTRUSTED_PROXY)
  return setState(request, {
    ...begun,
    id: requestId(request.headers.get('x-request-id')),
    address: clientAddress(peer, forwarded, config.TRUSTED_PROXIES),
  })
}

/** @throws RATE_LIMITED, which a page of any origin may read */
async function countCaller(request: Request, state: RequestState, headers: Record<string, string>): Promise<void> {
  const { caller } = state
  try {
    // Customers are strangers, who could ask without end for what they know.
    if (caller?.type === 'contact') await countCustomer(caller.id, request.method, headers)
    else state.uncount = await countRequest(countedBy(state), headers)
  } catch (error) {
    allowEvery(request, headers)
    throw error
  }
}

/** Takes the client's id when it can stand in a log line and in a header, else makes one. */
function requestId(given: string | null): string {
  return given && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}

function endSpan(span: Span, state: RequestState, method: string, route: string, status: number): void {
  span.rename(`${method} ${route}`)
  span.set({
    ...{ 'http.route': route, 'http.response.status_code': status },
    ...{ 'deskwire.request_id': state.id, 'deskwire.organization_id': state.organization_id },
  })
  span.end(status >= 500 ? String(status) : undefined)
}

/** Orchestrators and load balancers ask for these each second. `health.ts` logs when an answer changes. */
const PROBES = new Set(['/healthz', '/readyz'])

function noteRequest(request: Request, route: string, status: number): void {
  const state = stateOf(request)
  const duration_ms = performance.now() - state.started_ms
  observeRequest(request.method, route, status, duration_ms)
  if (state.span) endSpan(state.span, state, request.method, route, status)
  if (state.organization_id) count(state.organization_id, figureOf(status))
  const line = {
    request_id: state.id,
    method: request.method,
    route,
    status,
    duration_ms: Math.round(duration_ms * 10) / 10,
    ...callerIn(state),
    organization_id: state.organization_id,
    remote_address: loggedAddress(state.address),
    trace_id: state.span?.trace_id,
  }
  log[PROBES.has(route) ? 'debug' : status >= 500 ? 'error' : 'info'](line, 'request')
}

/** The caller, as the log line names it. */
function callerIn({ api_key, caller }: RequestState) {
  if (api_key) return { api_key_id: api_key.id }
  return caller?.type === 'contact' ? { contact_id: caller.id } : { user_id: caller?.id }
}

function figureOf(status: number): Figure {
  if (status >= 500) return 'requests_failed'
  return status >= 400 ? 'requests_refused' : 'requests_ok'
}
