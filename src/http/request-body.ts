/**
 * Reads JSON bodies and checks their size, type, encoding, syntax and text. A fault is remembered instead of thrown,
 * because 403 and 404 are answered before the fault of a body.
 */
import { ApiError, type Fault } from '../errors'
import { isCleanText } from '../shapes/characters'
import { type Declarations, declarationOf } from './declarations'
import { stateOf } from './request'

const MAX_JSON_BYTES = 8 * 1024 * 1024
const MAX_DEPTH = 100
/** Stands for a body that cannot be used: no schema accepts a symbol, so validation fails and errors are answered. */
const UNUSABLE = Symbol('unusable body')

/**
 * Returns the hook that reads the body of every route that does not say `parse: 'none'` (uploads and mail read their
 * own). Without a valid token it reads nothing, except for routes that are open to anyone: a stranger cannot make the
 * server hold a body in memory.
 */
export function bodyReader(declarations: Declarations) {
  return async ({ request, route }: { request: Request; route: string }): Promise<unknown> => {
    const state = stateOf(request)
    const { permission } = declarationOf(declarations, request.method, route)
    if (!state.caller && permission !== 'anyone') return UNUSABLE
    const result = await readJson(request)
    if (!(result instanceof ApiError)) return result
    state.body_error = result
    return UNUSABLE
  }
}

async function readJson(request: Request): Promise<unknown | ApiError> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (!request.body) return new ApiError('BAD_REQUEST', { reason: 'The request needs a JSON body' })
  if (type !== 'application/json' && !type?.endsWith('+json')) {
    return new ApiError('BAD_REQUEST', { reason: 'The Content-Type must be application/json' })
  }
  const bytes = await readAtMost(request, MAX_JSON_BYTES)
  if (!bytes) return new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes: MAX_JSON_BYTES })
  if (bytes.length === 0) return new ApiError('BAD_REQUEST', { reason: 'The request needs a JSON body' })
  return parseJson(bytes, request.method)
}

function parseJson(bytes: Uint8Array, method: string): unknown | ApiError {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'The body is no valid JSON' : 'The body is no valid UTF-8'
    return new ApiError('BAD_REQUEST', { reason })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return new ApiError('VALIDATION_ERROR', { errors: [{ path: '', message: 'must be a JSON object' }] })
  }
  const faults = findBadText(value)
  if (faults.length > 0) return new ApiError('VALIDATION_ERROR', { errors: faults })
  return method === 'POST' ? withoutNulls(value) : value
}

/** In a create, null means absent. Only `company_id: null` has a meaning there: do not link a company by domain. */
function withoutNulls(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([name, field]) => field !== null || name === 'company_id'))
}

/** Finds strings that PostgreSQL cannot store, and nesting deeper than any model needs. Returns at most 50 faults. */
function findBadText(root: object): Fault[] {
  const faults: Fault[] = []
  const open: { value: unknown; path: string; depth: number }[] = [{ value: root, path: '', depth: 0 }]
  for (let next = open.pop(); next && faults.length < 50; next = open.pop()) {
    const { value, path, depth } = next
    if (typeof value === 'string' && !isCleanText(value)) {
      faults.push({ path, message: 'must not hold NUL characters or lone surrogates' })
    } else if (typeof value === 'object' && value !== null) {
      if (depth >= MAX_DEPTH) return [{ path: '', message: `must not be nested deeper than ${MAX_DEPTH} levels` }]
      // Elysia turns wrong values into text, which fails when a client sends a field of this name. No model has it.
      if (Object.hasOwn(value, 'toString')) Reflect.deleteProperty(value, 'toString')
      for (const [key, inner] of Object.entries(value)) {
        if (typeof inner === 'string' || typeof inner === 'object') {
          open.push({ value: inner, path: `${path}/${pointer(key)}`, depth: depth + 1 })
        }
      }
    }
  }
  return faults.reverse()
}

function pointer(key: string): string {
  return key.toWellFormed().slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('\u0000', '')
}

/** Reads a whole body. Stops and returns undefined as soon as it has more than `limit` bytes. */
async function readAtMost(request: Request, limit: number): Promise<Uint8Array | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) return undefined
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body as ReadableStream<Uint8Array>) {
    size += chunk.length
    if (size > limit) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
