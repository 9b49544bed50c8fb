/**
 * Lets pages of other origins use the customers' routes (CORS, the Fetch standard, section 3.2), without cookies. No
 * other route answers other origins.
 */
import { config } from '../../base/config'
import { ApiError } from '../../base/errors'
import { ANSWER_HEADERS, ENDING_HEADERS } from '../openapi/documented-headers'
import type { RequestState } from '../request/request'

const CUSTOMERS = /^\/api\/v1\/my(?:\/|$)/

/** A browser asks once in this time whether it may send a request. */
const PREFLIGHT_S = 7200

/** Headers that a page may read: without the name here a browser hides them. */
const READABLE = Object.keys({ ...ANSWER_HEADERS, ...ENDING_HEADERS }).join(', ')

type Headers = Record<string, string | number>

/**
 * Answers the question of a browser whether a page may send a request: every page may, because a token decides.
 * @returns undefined for other requests
 */
export function preflightAnswer(request: Request): Response | undefined {
  if (request.method !== 'OPTIONS' || !isForCustomers(request) || !request.headers.has('origin')) return undefined
  const headers = {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, HEAD, POST',
    'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, If-None-Match',
    'access-control-max-age': String(PREFLIGHT_S),
  }
  return new Response(null, { status: 204, headers })
}

/**
 * Sets the headers by which a page may read the answer: where the organization of the token lists the origin, and where
 * the answer will be a 401, because no token says whose page it is.
 */
export function allowOrigin(request: Request, { caller }: RequestState, headers: Headers): void {
  if (caller?.type !== 'contact' || caller.portal_origins.includes(request.headers.get('origin') ?? '')) {
    allowEvery(request, headers)
  }
}

/** Sets the headers by which every page may read the answer. */
export function allowEvery(request: Request, headers: Headers): void {
  const origin = request.headers.get('origin')
  if (origin === null || !isForCustomers(request)) return
  headers['access-control-allow-origin'] = origin
  headers['access-control-expose-headers'] = READABLE
  headers.vary = 'Origin'
}

/** @throws FORBIDDEN for a page of an origin that the organization does not list */
export function requireOrigin(request: Request, { portal_origins }: { portal_origins: string[] }): void {
  const origin = request.headers.get('origin')
  if (origin === null || portal_origins.includes(origin)) return
  throw new ApiError('FORBIDDEN', { reason: 'portal_origins of the organization does not list the Origin' })
}

/**
 * Keeps pages of other sites away from what lets no page in, whatever name they gave this address (DNS rebinding).
 * @throws FORBIDDEN
 */
export function requireOwnPage(request: Request): void {
  const origin = request.headers.get('origin')
  if (origin !== null && origin !== new URL(config.BASE_URL).origin) {
    throw new ApiError('FORBIDDEN', { reason: 'The Origin is not that of BASE_URL' })
  }
}

function isForCustomers({ url }: Request): boolean {
  return CUSTOMERS.test(new URL(url).pathname)
}
