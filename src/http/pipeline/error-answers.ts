/** Answers every error: its status, its headers and `{ error: { code, message, details } }`. */
import Elysia, { NotFoundError, ParseError, ValidationError } from 'elysia'
import { config } from '../../base/config'
import { ApiError, type Fault, UnavailableError } from '../../base/errors'
import { log, safeError } from '../../base/log'
import type { Scope } from '../../base/scope'
import { fromDatabase } from '../request/database-errors'
import { type Declarations, declarationOf } from '../request/declarations'
import { RepeatedParameters, repeatedNames } from '../request/repeated-parameters'
import { stateOf } from '../request/request'
import { requirePath } from '../request/resources'
import { brokenFields, toValidationError } from '../request/validation-errors'
import { requireKey } from '../rerun/idempotency'
import { requireMatch } from '../rerun/if-match'
import type { Call, Handlers } from '../rerun/route-handlers'

/** A request that failed: it has no scope when that happened before its membership was found. */
type FailedCall = Omit<Call, 'scope'> & { scope?: Scope }

/** Returns the only `onError` of the API. The app uses it before its routes, or Elysia does not call it for them. */
export function errorAnswers(handlers: Handlers, declarations: Declarations) {
  return new Elysia({ name: 'error-answers' }).onError(
    { as: 'global' },
    // Each field is named: Elysia prepares for every request whatever a global hook seems to use, cookies too.
    async ({ request, route, params, query, body, set, status, error: thrown }) => {
      const { id, scope } = stateOf(request)
      const call = { request, route, params: params ?? {}, query, body, set, status, scope } as FailedCall
      const error = await toApiError(thrown, call, { handlers, declarations }).catch(toInternal)
      const broken = brokenFields(thrown)
      if (error.status >= 500) {
        const why = { lost: lostBy(thrown), reason: error.details.reason, broken }
        log.error({ request_id: id, ...why, error: safeError(thrown) }, error.code)
      }
      const told = config.CHECK_RESPONSES && broken ? { broken } : {}
      const details = error.status === 500 ? { request_id: id, ...told } : error.details
      set.status = error.status
      set.headers['x-request-id'] = id
      if (error.status === 401) set.headers['www-authenticate'] = 'Bearer'
      if (error.status === 408) set.headers.connection = 'close'
      const retry_after_s = error.retry_after_s ?? (error.status === 503 ? 5 : undefined)
      if (retry_after_s) set.headers['retry-after'] = String(retry_after_s)
      return { error: { code: error.code, message: error.message, details } }
    },
  )
}

type Routes = { handlers: Handlers; declarations: Declarations }

async function toApiError(error: unknown, call: FailedCall, routes: Routes): Promise<ApiError> {
  if (error instanceof RepeatedParameters || isOfRequest(error)) return toRefusal(error, call, routes)
  if (error instanceof ApiError) return error
  // Drizzle wraps what ended a statement.
  if (error instanceof Error && error.cause instanceof ApiError) return error.cause
  if (error instanceof UnavailableError) return unavailable(error)
  if (error instanceof NotFoundError) return new ApiError('NOT_FOUND')
  if (error instanceof ParseError) return new ApiError('BAD_REQUEST')
  return fromDatabase(error) ?? toInternal()
}

function isOfRequest(error: unknown): error is ValidationError {
  return error instanceof ValidationError && error.type !== 'response'
}

async function toRefusal(error: RepeatedParameters | ValidationError, call: FailedCall, routes: Routes) {
  const { scope, request } = call
  if (scope) await checkBeforeBody({ ...call, scope }, routes)
  if (error instanceof RepeatedParameters) return error
  // A route whose query is wrong may read no body, so the fault of the body does not count there.
  const judged = (error.type !== 'query' && stateOf(request).body_error) || toValidationError(error)
  const names = judged.status === 422 ? repeatedNames(request.url) : []
  return names.length > 0 ? new RepeatedParameters(names, judged.details.errors as Fault[]) : judged
}

/** Names what is away, for the log: a code such as ECONNREFUSED does not. */
function lostBy(error: unknown): string | undefined {
  if (error instanceof UnavailableError) return error.lost
  return fromDatabase(error)?.status === 503 ? 'database' : undefined
}

function unavailable({ lost }: UnavailableError): ApiError {
  const reason = lost === 'S3' ? 'Files cannot be stored or read at the moment' : 'There is no storage at the moment'
  return new ApiError('SERVICE_UNAVAILABLE', { reason })
}

/** Answers 404, 412 and the 422 of a malformed key before the 422 of a body or a query. */
async function checkBeforeBody(call: Call, { handlers, declarations }: Routes): Promise<void> {
  await requirePath(call.scope, call.params)
  await requireMatch(handlers, call)
  if (!call.request.headers.has('idempotency-key')) return
  if (declarationOf(declarations, call.request.method, call.route).idempotency !== 'never') requireKey(call.request)
}

function toInternal(error?: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR')
}
