/** What is known of a request besides Elysia's context, from the first hook to the log line. */
import type { ApiError } from '../errors'

export type Caller = { id: string; email: string; organization_id: string }

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
  user_id?: string
  organization_id?: string
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
