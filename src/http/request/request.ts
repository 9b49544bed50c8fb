/** Keeps what the pipeline finds out about a request, from the first hook to the log line, beside Elysia's context. */
import type { ApiError } from '../../base/errors'
import type { Origin, Scope } from '../../base/scope'
import type { Span } from '../../base/tracing/trace'

/**
 * The caller, by the credential of the request. Every kind of credential is a member of this union, with its own
 * `type`; `organization_id` is where the caller acts when the request names no organization.
 */
export type Caller =
  | {
      type: 'user'
      id: string
      email: string
      organization_id: string
      /** The session of the access token, and when the token was issued and ends (Unix seconds). */
      session_id: string | null
      /** Tells if it began at an identity provider. It acts in `organization_id` alone then. */
      is_from_provider: boolean
      issued_at_s: number
      expires_at_s: number
    }
  | { type: 'api_key'; id: string; name: string; organization_id: string; permissions: ReadonlySet<string> }
  | {
      /** A customer. */
      type: 'contact'
      id: string
      name: string
      email: string
      organization_id: string
      token_id: string
      scope: 'own' | 'company'
      /** Origins of pages that may use the token. */
      portal_origins: string[]
    }

export type RequestState = {
  id: string
  started_ms: number
  /** The client's address; behind a trusted proxy the one that the proxy forwards. */
  address: string
  /** The user of a valid token, or a valid API key; without them, `credential_error` says what is wrong. */
  caller?: Caller
  credential_error?: ApiError
  /** The API key that the request shows, also one that is revoked or not allowed here: for the audit log. */
  api_key?: { id: string; name: string; organization_id: string }
  /** The status with which the audit log lists the request already. */
  audited_status?: number
  /** Why the body cannot be used. Thrown only after the checks that come before the body. */
  body_error?: ApiError
  /** The trace of the request, when there is one. */
  span?: Span
  /** Resolves at the end of an answer that is made while it is sent. */
  answered?: Promise<void>
  /** Takes a request off the count of the rate limit when it is answered 304. */
  uncount?: (headers: Headers) => void
  organization_id?: string
  /** Where and in whose name the request acts, once it is admitted. */
  scope?: Scope
}

const states = new WeakMap<Request, RequestState>()

/** Begins the state of a request: the pipeline's first step. */
export function setState(request: Request, state: RequestState): RequestState {
  states.set(request, state)
  return state
}

/** Returns the state of a request. @throws Error when the pipeline has not seen it */
export function stateOf(request: Request): RequestState {
  const state = states.get(request)
  if (!state) throw new Error('The request was not seen by the first hook')
  return state
}

const outers = new WeakMap<Request, Request>()

/** Says for which request of a client the service sends one to itself. It comes from there, and was counted with it. */
export function sendFor(outer: Request, inner: Request): void {
  outers.set(inner, outer)
}

/** Returns the state of the request of a client that this one is sent for; undefined when a client has sent it. */
export function outerState(request: Request): RequestState | undefined {
  const outer = outers.get(request)
  return outer && stateOf(outer)
}

/** Longer User-Agent headers are cut. */
const USER_AGENT_MAX_LENGTH = 500

/** Where a request comes from, for the audit log. */
export function originOf(request: Request): Origin {
  const { address, id } = stateOf(request)
  const user_agent = request.headers.get('user-agent')?.slice(0, USER_AGENT_MAX_LENGTH) ?? null
  return { ip: address, user_agent, request_id: id }
}
