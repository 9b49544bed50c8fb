/** The only place that renders errors (interface: Errors; decisions.md section 2). */
import { ValueErrorType } from '@sinclair/typebox/errors'
import Elysia, { ValidationError } from 'elysia'
import { ApiError, ERRORS, type ErrorCode, type Fault } from '../errors'
import { log, safeError } from '../log'
import { codePoints } from '../shapes/characters'
import { stateOf } from './request'
import type { Call } from './rerun/route-handlers'
import { notFoundCodeOf, requirePath } from './resources'

/** What else is judged before the body of a request whose path is there; throws what it finds. */
type CheckBefore = (call: Call) => Promise<void>

export const errorsAfter = (checkBefore: CheckBefore) =>
  new Elysia({ name: 'errors' }).onError({ as: 'global' }, async (context) => {
    const { request, set } = context
    const state = stateOf(request)
    const found = context as unknown as Partial<Call>
    const error = await toApiError(context.error, request, found, checkBefore).catch(toInternal)
    if (error.status >= 500) log.error({ request_id: state.id, error: safeError(context.error) }, error.code)
    const details = error.status === 500 ? { request_id: state.id } : error.details
    set.status = error.status
    set.headers['x-request-id'] = state.id
    if (error.status === 401) set.headers['www-authenticate'] = 'Bearer'
    if (error.status === 503) set.headers['retry-after'] = '5'
    return { error: { code: error.code, message: error.message, details } }
  })

export const errorHandler = errorsAfter(async () => {})

async function toApiError(
  error: unknown,
  request: Request,
  found: Partial<Call>,
  checkBefore: CheckBefore,
): Promise<ApiError> {
  if (error instanceof ApiError) return error
  if (error instanceof ValidationError) {
    if (error.type === 'response') return toInternal()
    // The path is judged before body and query.
    if (found.scope) {
      await requirePath(found.scope, found.params ?? {})
      await checkBefore(found as Call)
    }
    // A body that is no JSON is a fault only where JSON is wanted; queries belong to other routes too.
    return (error.type !== 'query' && stateOf(request).body_error) || toValidationError(error)
  }
  const code = codeOf(error)
  if (code === 'NOT_FOUND') return new ApiError('NOT_FOUND')
  if (code === 'PARSE') return new ApiError('BAD_REQUEST')
  return fromDatabase(error) ?? toInternal()
}

function toInternal(error?: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR')
}

// Validation: all faults of the request at once; the code is that of the first field in the interface's order.

type FieldSchema = {
  code?: ErrorCode
  missing_code?: ErrorCode
  fault?: string
  length_fault?: string
  min?: number
  max?: number
  trim?: boolean
  anyOf?: FieldSchema[]
  properties?: Record<string, unknown>
}

type FieldFault = Fault & { code: ErrorCode; position: number }

function toValidationError(error: ValidationError): ApiError {
  const schema = (error.validator as { schema?: FieldSchema }).schema
  if (error.type === 'body' && error.value === undefined) return new ApiError('BAD_REQUEST')
  const order = Object.keys(schema?.properties ?? {})
  const faults = new Map<string, FieldFault>()
  const found = (error.validator as { Errors(value: unknown): Iterable<RawFault> }).Errors(error.value)
  for (const fault of inFields(found)) {
    if (faults.size >= 100) break
    if (!faults.has(fault.path)) faults.set(fault.path, toFault(fault, order))
  }
  const sorted = [...faults.values()].sort((a, b) => a.position - b.position)
  const prefix = error.type === 'body' ? '' : `/${error.type}`
  const errors = sorted.map(({ path, message }) => ({ path: prefix + path, message }))
  return new ApiError(sorted[0]?.code ?? 'VALIDATION_ERROR', { errors }, 422)
}

type RawFault = {
  type: ValueErrorType
  path: string
  value: unknown
  schema: unknown
  /** Of a union: what each of its branches finds. */
  errors: Iterable<RawFault>[]
}

/** An object that may also be null is judged by its fields, like one that may not. */
function* inFields(faults: Iterable<RawFault>): Iterable<RawFault> {
  for (const fault of faults) {
    const is_object = typeof fault.value === 'object' && fault.value !== null
    const branch = ((fault.schema as FieldSchema).anyOf ?? []).findIndex(({ properties }) => properties !== undefined)
    if (fault.type === ValueErrorType.Union && is_object && branch >= 0) yield* inFields(fault.errors[branch] ?? [])
    else yield fault
  }
}

function toFault({ type, path, value, schema: raw }: RawFault, order: string[]): FieldFault {
  const schema = raw as FieldSchema
  const name = path.split('/')[1] ?? ''
  const position = order.indexOf(name)
  if (type === ValueErrorType.ObjectRequiredProperty) {
    return { path, position, code: schema.missing_code ?? 'VALIDATION_ERROR', message: 'is required' }
  }
  const length_fault = lengthFault(schema, value)
  if (length_fault) return { path, position, code: 'VALIDATION_ERROR', message: length_fault }
  const counts = type === ValueErrorType.ArrayMaxItems || type === ValueErrorType.ArrayMinItems
  const code = counts ? 'VALIDATION_ERROR' : (schema.code ?? 'VALIDATION_ERROR')
  const message = schema.fault ?? (schema.code && ERRORS[schema.code][1]) ?? schema.length_fault ?? 'is not valid'
  return { path, position, code, message }
}

/** A text that breaks its length is a VALIDATION_ERROR, whatever code the field has for its form. */
function lengthFault(schema: FieldSchema, value: unknown): string | undefined {
  const field = schema.anyOf?.find((branch) => branch.length_fault) ?? schema
  if (!field.length_fault || typeof value !== 'string') return undefined
  const length = codePoints(field.trim ? value.trim() : value)
  return length < (field.min ?? 0) || length > (field.max ?? 0) ? field.length_fault : undefined
}

// The database.

const UNAVAILABLE = /^(CONNECTION_|CONNECT_TIMEOUT|ECONN|ENOENT|EPIPE|ENOSPC|57P0|53|58030|08|40001|40P01)/

/** Connection troubles and a full disk are a 503; a row that another request removed meanwhile is as unknown as one never there. */
function fromDatabase(error: unknown): ApiError | undefined {
  const cause = error instanceof Error && error.cause ? error.cause : error
  const code = codeOf(cause)
  if (code === '23503') {
    const not_found = notFoundCodeOf((cause as { constraint_name?: string }).constraint_name ?? '')
    return not_found && new ApiError(not_found, {}, 422)
  }
  return code && UNAVAILABLE.test(code) ? new ApiError('SERVICE_UNAVAILABLE') : undefined
}

function codeOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}
