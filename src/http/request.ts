/** What is known of a request besides Elysia's context, from the first hook to the log line. */
import type { ApiError } from '../errors'
import type { Scope } from '../scope'

/**
 * Who calls, by the credential of the request. Every kind of credential is a member of this union, with a `type` of its
 * own; `organization_id` is where the caller acts when the request names no organization.
 */
export type Caller = { type: 'user'; id: string; email: string; organization_id: string }

export type RequestState = {
  id: string
  started_ms: number
  /** Address of the client, behind trusted proxies the forwarded one. */
  address: string
  /** Who calls, when the token is valid; else why not. */
  caller?: Caller
  token_error?: ApiError
  /** Why the body cannot be used; told only after the checks that come before it. */
  body_error?: ApiError
  /** Ends with the answer, when that is made while it is read. */
  answered?: Promise<void>
  organization_id?: string
  /** Where and in whose name the request acts, once it is admitted. */
  scope?: Scope
}

const states = new WeakMap<Request, RequestState>()

export function setState(request: Request, state: RequestState): RequestState {
  states.set(request, state)
  return state
}

export function stateOf(request: Request): RequestState {
  const state = states.get(request)
  if (!state) throw new Error('The request was not seen by the first hook')
  return state
}
