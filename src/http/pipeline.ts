/** What every request gets, first and last: an id, the limit of requests, who calls, a log line. */
import { randomUUID } from 'node:crypto'
import Elysia from 'elysia'
import { verifyAccessToken } from '../auth/tokens'
import { config } from '../config'
import { ApiError } from '../errors'
import { log } from '../log'
import { observeRequest } from '../metrics/http-requests'
import { clientAddress } from '../net/client-address'
import { withoutFalseLength } from './answer'
import { countRequest } from './rate-limit'
import { type RequestState, setState, stateOf } from './request'
import { readBody } from './request-body'
import { ensureUrl, pathStart } from './url'

export const envelope = new Elysia({ name: 'envelope' })
  // Before all hooks, which find path and query read already.
  .wrap((handle, request) => {
    ensureUrl(request)
    if (request.method !== 'HEAD') return handle
    // Its type says that it gives another function.
    return async (...given: unknown[]) => withoutFalseLength((await handle(...given)) as unknown as Response)
  })
  .onRequest(async ({ request, server, set }) => {
    const state = setState(request, {
      id: requestId(request.headers.get('x-request-id')),
      started_ms: performance.now(),
      address: clientAddress(
        server?.requestIP(request)?.address ?? '127.0.0.1',
        request.headers.get('x-forwarded-for'),
        config.TRUSTED_PROXIES,
      ),
    })
    set.headers['x-request-id'] = state.id
    if (!isApi(request.url)) return
    set.headers['cache-control'] = 'no-store'
    set.headers['x-content-type-options'] = 'nosniff'
    await identify(request, state)
    await countRequest(
      state.caller ? `${state.caller.type} ${state.caller.id}` : `address ${state.address}`,
      set.headers as Record<string, string>,
    )
  })
  .onParse({ as: 'global' }, readBody)
  .onTransform({ as: 'global' }, ({ request }) => {
    if (isBadEncoding(request.url)) throw new ApiError('BAD_REQUEST', { reason: 'The query is no valid UTF-8' })
  })
  .onAfterResponse({ as: 'global' }, ({ request, route, set }) => {
    const { answered } = stateOf(request)
    const note = () => noteRequest(request, route, typeof set.status === 'number' ? set.status : 200)
    if (answered) void answered.then(note)
    else note()
  })

function noteRequest(request: Request, route: string, status: number): void {
  const state = stateOf(request)
  const duration_ms = performance.now() - state.started_ms
  observeRequest(request.method, route, status, duration_ms)
  const line = {
    request_id: state.id,
    method: request.method,
    route,
    status,
    duration_ms: Math.round(duration_ms * 10) / 10,
    user_id: state.caller?.id,
    organization_id: state.organization_id,
  }
  log[status >= 500 ? 'error' : 'info'](line, 'request')
}

/** Finds out who calls; what is wrong with the token is told only to routes that need one. */
async function identify(request: Request, state: RequestState): Promise<void> {
  const header = request.headers.get('authorization')
  const token = header?.match(/^Bearer +([^\s,]+)$/i)?.[1]
  if (!token) {
    state.token_error = new ApiError('INVALID_TOKEN')
    return
  }
  try {
    const { sub, email, org_id } = await verifyAccessToken(token)
    state.caller = { type: 'user', id: sub, email, organization_id: org_id }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    state.token_error = error
  }
}

function isApi(url: string): boolean {
  return url.startsWith('/api/v1', pathStart(url))
}

/** A caller's own id is kept when it can stand in a log line and a header. */
function requestId(given: string | null): string {
  return given && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}

/** Percent-encoded bytes that are no UTF-8. A lone percent sign is taken as it is. */
function isBadEncoding(url: string): boolean {
  if (!/%[89a-f]/i.test(url)) return false
  try {
    decodeURIComponent(url.replace(/%(?![0-9a-f]{2})/gi, '%25'))
    return false
  } catch {
    return true
  }
}
