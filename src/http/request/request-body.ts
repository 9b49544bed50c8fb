/**
 * Reads JSON bodies and checks their size, type, encoding, syntax, text and model. A fault is remembered instead of
 * thrown, because 403 and 404 are answered before the fault of a body.
 */
import { setImmediate } from 'node:timers/promises'
import { isCleanText } from '../../base/address/characters'
import { ApiError, type Fault } from '../../base/errors'
import { allInTime, contentLengthOf, holdBody, holdMore, inTime } from './arriving-body'
import { type Declarations, declarationOf } from './declarations'
import { scanJson } from './json-scan'
import { stateOf } from './request'
import { judgeBody } from './validation-errors'

const MAX_JSON_BYTES = 8 * 1024 * 1024
/** Bodies of `/auth/*` hold a few short texts, and anybody may send them. */
const MAX_AUTH_BYTES = 16 * 1024
/** Bodies that are read at once. */
const SMALL_BYTES = 64 * 1024
const MAX_DEPTH = 100
/** A ticket with 50 labels has 60 values. Validation costs up to 10 µs for each. */
const MAX_VALUES = 10_000
/** How many unusable texts one answer lists. */
const MOST_FAULTS = 50
const LIMIT_FAULTS = {
  'too deep': `must not be nested deeper than ${MAX_DEPTH} levels`,
  'too many values': `must not hold more than ${MAX_VALUES} values`,
}
/** Stands for a body that cannot be used: no schema accepts a symbol, so validation fails and errors are answered. */
const UNUSABLE = Symbol('unusable body')

/**
 * Returns the hook that reads the body of every route whose body is declared as JSON (uploads and mail read their own,
 * whatever type a request gives). Without a valid token it reads nothing, except for routes that are open to anyone: a
 * stranger cannot make the server hold a body in memory.
 */
export function bodyReader(declarations: Declarations) {
  return async ({ request, route }: { request: Request; route: string }): Promise<unknown> => {
    const state = stateOf(request)
    const { permission, has_optional_body, model, body } = declarationOf(declarations, request.method, route)
    if (body !== 'json') return UNUSABLE
    if (!state.caller && permission !== 'anyone') return UNUSABLE
    if (has_optional_body && !request.body) return {}
    const limit_bytes = route.startsWith('/api/v1/auth/') ? MAX_AUTH_BYTES : MAX_JSON_BYTES
    const result = await readJson(request, state.caller?.organization_id ?? null, limit_bytes).catch(onlyApiErrors)
    const fault = result instanceof ApiError ? result : model && judgeBody(model, result)
    if (!fault) return result
    state.body_error = fault
    return UNUSABLE
  }
}

/**
 * Reads the form of a route without a model that anybody may call.
 * @throws BAD_REQUEST, PAYLOAD_TOO_LARGE
 */
export async function readForm(request: Request): Promise<URLSearchParams> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') throw new ApiError('BAD_REQUEST', { reason: 'It must be a form' })
  const bytes = await readAtMost(request, MAX_AUTH_BYTES)
  if (!bytes) throw new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes: MAX_AUTH_BYTES })
  return new URLSearchParams(new TextDecoder().decode(bytes))
}

/** Any other error is ours. */
function onlyApiErrors(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  throw error
}

async function readJson(
  request: Request,
  organization_id: string | null,
  limit_bytes: number,
): Promise<unknown | ApiError> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (!request.body) return new ApiError('BAD_REQUEST', { reason: 'The request needs a JSON body' })
  if (type !== 'application/json' && !type?.endsWith('+json')) {
    return new ApiError('BAD_REQUEST', { reason: 'The Content-Type must be application/json' })
  }
  const bytes = await readWhole(request, organization_id, limit_bytes)
  if (bytes instanceof ApiError) return bytes
  if (bytes.length === 0) return new ApiError('BAD_REQUEST', { reason: 'The request needs a JSON body' })
  const parsed = await parseJson(bytes)
  return parsed instanceof ApiError ? parsed : toBody(parsed, request.method)
}

async function readWhole(
  request: Request,
  organization_id: string | null,
  limit_bytes: number,
): Promise<Uint8Array | ApiError> {
  if ((contentLengthOf(request) ?? 0) > limit_bytes) return new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes })
  holdBody(request, organization_id, 'whole')
  return (await readAtMost(request, limit_bytes)) ?? new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes })
}

/**
 * Reads a body of JSON that is no body of the API: it may be a list, and its nulls and texts are as they came.
 * @throws PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT, SERVICE_UNAVAILABLE; VALIDATION_ERROR with too many values, BAD_REQUEST
 *   when it is no JSON
 */
export async function readAnyJson(request: Request, organization_id: string): Promise<unknown> {
  const bytes = await readWhole(request, organization_id, MAX_JSON_BYTES)
  const parsed = bytes instanceof ApiError ? bytes : await parseJson(bytes)
  if (parsed instanceof ApiError) throw parsed
  return parsed.value
}

/** The value of a JSON text, and whether it may have texts that cannot be stored. */
type Parsed = { value: unknown; may_harm: boolean }

/** Other work runs between the steps: of 8 MiB of escapes all of them together would hold it for 120 ms. */
async function parseJson(bytes: Uint8Array): Promise<Parsed | ApiError> {
  const endStep = bytes.length > SMALL_BYTES ? setImmediate : undefined
  const scan = scanJson(bytes, { values: MAX_VALUES, depth: MAX_DEPTH })
  if ('fault' in scan) return bodyFault(LIMIT_FAULTS[scan.fault])
  let text: string
  let value: unknown
  await endStep?.()
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    await endStep?.()
    value = JSON.parse(text)
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'The body is no valid JSON' : 'The body is no valid UTF-8'
    return new ApiError('BAD_REQUEST', { reason })
  }
  await endStep?.()
  return { value, may_harm: scan.has_escapes || text.includes(HARMFUL_NAME) }
}

function toBody({ value, may_harm }: Parsed, method: string): unknown | ApiError {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return bodyFault('must be a JSON object')
  if (may_harm) {
    const faults = findBadText(value)
    if (faults.length > 0) return new ApiError('VALIDATION_ERROR', { errors: faults })
  }
  return method === 'POST' ? withoutNulls(value) : value
}

function bodyFault(message: string): ApiError {
  return new ApiError('VALIDATION_ERROR', { errors: [{ path: '', message }] })
}

/** Fields whose null has a meaning in a create: no link to a company by domain, no message yet. */
const NULLS = ['company_id', 'after']

/** Objects of a create whose nulls mean the same. */
const PARTS = ['message', 'contact']

/** In a create, null means absent. */
function withoutNulls(value: object): object {
  for (const name of PARTS) {
    const part: unknown = Reflect.get(value, name)
    if (typeof part === 'object' && part !== null) withoutNulls(part)
  }
  const absent = Object.keys(value).filter((name) => Reflect.get(value, name) === null && !NULLS.includes(name))
  for (const name of absent) Reflect.deleteProperty(value, name)
  return value
}

/** Elysia turns wrong values into text, which fails when a client sends a field of this name. No model has it. */
const HARMFUL_NAME = 'toString'

/** An object or array of a body, and how it is reached: paths are written only for what is wrong. */
type Place = { value: object; key: string; parent?: Place }

/** Finds strings that PostgreSQL cannot store, and removes fields of the harmful name. */
function findBadText(root: object): Fault[] {
  const faults: Fault[] = []
  const open: Place[] = [{ value: root, key: '' }]
  for (let place = open.pop(); place && faults.length < MOST_FAULTS; place = open.pop()) {
    const { value } = place
    if (Object.hasOwn(value, HARMFUL_NAME)) Reflect.deleteProperty(value, HARMFUL_NAME)
    for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
      const inner: unknown = Reflect.get(value, key)
      if (typeof inner === 'object' && inner !== null) open.push({ value: inner, key: String(key), parent: place })
      if (typeof inner !== 'string' || isCleanText(inner)) continue
      faults.push({
        path: `${pathOf(place)}/${pointer(String(key))}`,
        message: 'must not hold NUL characters or lone surrogates',
      })
      if (faults.length === MOST_FAULTS) break
    }
  }
  return faults
}

/** The JSON pointer of an object or array. */
function pathOf({ key, parent }: Place): string {
  return parent ? `${pathOf(parent)}/${pointer(key)}` : ''
}

function pointer(key: string): string {
  return key.slice(0, 100).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('\u0000', '')
}

/** Reads a whole body. Stops and returns undefined as soon as it has more than `limit` bytes. */
async function readAtMost(request: Request, limit: number): Promise<Uint8Array | undefined> {
  const length = contentLengthOf(request)
  // A stream costs more than to read a small body of known length at once.
  if (length !== undefined && length <= SMALL_BYTES && !request.headers.has('transfer-encoding')) {
    const bytes = await allInTime(request)
    return bytes.length > limit ? undefined : bytes
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of inTime(request.body as ReadableStream<Uint8Array>)) {
    size += chunk.length
    if (length === undefined) holdMore(request, chunk.length)
    if (size > limit) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
