/**
 * Calls a tool: one request of the API inside the process, with the credentials and the organization of the request
 * that asks for it. So rights, checks, audit log and errors are the API's.
 */
import { ApiError, fieldError } from '../../base/errors'
import { log, safeError } from '../../base/log'
import { sendFor, stateOf } from '../request/request'
import { HEADER_ARGUMENTS, type Tool } from './tools'

/** Handles a request as if it had come over the network. */
export type Handle = (request: Request) => Response | Promise<Response>

type Arguments = Record<string, unknown>

/** Headers of the outer request that the inner one has too. */
const PASSED = ['x-organization-id', 'user-agent', 'traceparent']

/** An answer that is larger is no use to a model, and would be held in memory three times. */
const MOST_BYTES = 4 * 1024 * 1024

/** The result of a tool: the JSON of the API's answer. */
type ToolResult = {
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: true
  _meta?: { etag: string }
}

/** Calls a tool. What the API refuses is a result with `isError`, whose content is the error object. */
export async function callTool(tool: Tool, given: Arguments, outer: Request, handle: Handle): Promise<ToolResult> {
  try {
    const response = await handle(requestOf(tool, given, outer))
    const text = (await boundedText(response)) || '{}'
    if (response.headers.get('content-type')?.startsWith('text/csv')) return { content: [{ type: 'text', text }] }
    const etag = response.headers.get('etag')
    return { ...resultOf(text, response.ok), ...(etag && { _meta: { etag } }) }
  } catch (error) {
    const known = error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR', { request_id: stateOf(outer).id })
    if (known !== error) log.error({ request_id: stateOf(outer).id, error: safeError(error) }, 'a tool failed')
    const { code, message, details } = known
    return resultOf(JSON.stringify({ error: { code, message, details } }), false)
  }
}

/** Sends a GET of the API for another request. */
export function readFor(outer: Request, path: string, handle: Handle): Response | Promise<Response> {
  return handle(innerRequest(outer, path, { method: 'GET', headers: headersFor(outer) }))
}

function resultOf(text: string, is_ok: boolean): ToolResult {
  const result = { content: [{ type: 'text' as const, text }], structuredContent: JSON.parse(text) }
  return is_ok ? result : { ...result, isError: true }
}

/** @throws VALIDATION_ERROR without an argument of the path, or with one that is no text */
function requestOf({ method, path, query, body }: Tool, given: Arguments, outer: Request): Request {
  const { ...rest } = given
  const take = (name: string) => {
    const value = rest[name]
    delete rest[name]
    return value
  }
  const headers = headersFor(outer)
  for (const [name, header] of Object.entries(HEADER_ARGUMENTS)) {
    const value = take(name)
    // One that no header can carry is refused as an empty one is.
    if (value !== undefined) headers.set(header, /^[\x20-\x7e]*$/.test(String(value)) ? String(value) : '')
  }
  const place = path.replace(/{(\w+)}/g, (_, name) => pathPart(name, take(name)))
  const whole = body === 'whole' ? take('body') : undefined
  const content = body === 'fields' ? rest : whole
  // Without a body, what the document does not list is a parameter too, such as `custom.<key>`.
  const names = body === 'none' ? Object.keys(rest) : query
  const asked = new URLSearchParams()
  for (const name of names) {
    const value = take(name)
    if (value !== undefined && value !== null) asked.set(name, parameterText(value))
  }
  const search = asked.size > 0 ? `?${asked}` : ''
  if (content !== undefined) headers.set('content-type', 'application/json')
  const json = content === undefined ? undefined : JSON.stringify(content)
  return innerRequest(outer, place + search, { method, headers, ...(json !== undefined && { body: json }) })
}

/** A part of a path. Dots alone would lead to another one, and nothing has them as its id. */
function pathPart(name: string, value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw fieldError('VALIDATION_ERROR', `/${name}`, 'must be text, and is required')
  }
  return /^\.*$/.test(String(value)) ? '-' : encodeURIComponent(String(value).toWellFormed())
}

function parameterText(value: unknown): string {
  return typeof value === 'object' && !Array.isArray(value) ? JSON.stringify(value) : String(value)
}

function headersFor(outer: Request): Headers {
  const headers = new Headers()
  for (const name of PASSED) {
    const value = outer.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  const scheme = stateOf(outer).api_key ? 'ApiKey' : 'Bearer'
  headers.set('authorization', outer.headers.get('authorization')!.replace(/^\S+/, scheme))
  return headers
}

function innerRequest(outer: Request, path: string, init: RequestInit): Request {
  const inner = new Request(`http://localhost${path}`, init)
  sendFor(outer, inner)
  return inner
}

/** @throws PAYLOAD_TOO_LARGE; Error when the answer is broken off */
async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) {
      const reason = 'The answer is too large for a tool: ask for a page, or for fewer at once'
      throw new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes: MOST_BYTES, reason })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
