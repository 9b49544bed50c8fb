/**
 * Tags single objects with an ETag (RFC 9110, section 8.8.3) and answers 304 to a GET whose If-None-Match names it.
 * The tag is the hash of the answer's text, so it needs no column and holds for every way in which an object changes.
 */
import Elysia, { ElysiaCustomStatusResponse } from 'elysia'
import { LargeAnswer } from '../request/answer'
import { isNamed, tagOf } from '../request/tags'
import type { Handlers } from './route-handlers'

/** Returns the plugin that tags the answers of all routes. */
export function entityTags(handlers: Handlers) {
  return new Elysia({ name: 'entity-tags' }).mapResponse(
    { as: 'global' },
    ({ request, route, params, responseValue, set }) => {
      if (responseValue instanceof LargeAnswer) {
        const etag = responseValue.version && tagOf(responseValue.version)
        if (etag !== undefined) set.headers.etag = etag
        return etag !== undefined && isKnown(request, etag) ? notModified(set) : responseValue.toResponse(request)
      }
      const value = responseValue instanceof ElysiaCustomStatusResponse ? responseValue.response : responseValue
      const id = idOf(value)
      const is_tagged =
        id === undefined
          ? isOnlyOne(handlers, readingOf(request), route, value)
          : isTagged(handlers, readingOf(request), route, Object.values(params ?? {}).at(-1) === id)
      if (!is_tagged) {
        // Returning nothing would send an empty answer for the error of an unknown route.
        return responseValue as Response
      }
      if (responseValue instanceof ElysiaCustomStatusResponse) set.status = responseValue.code
      const text = JSON.stringify(value)
      const etag = tagOfAnswer(value as { data: object }, text)
      set.headers.etag = etag
      if (isKnown(request, etag)) return notModified(set)
      set.headers['content-type'] = 'application/json'
      // Elysia sends a string as it is, but its type for this hook asks for a Response.
      return text as unknown as Response
    },
  )
}

/** The tag of an answer. A secret that only the answer to a create shows does not count: no later answer has it. */
function tagOfAnswer(value: { data: object }, text: string): string {
  if (!('key' in value.data)) return tagOf(value, text)
  const { key, ...data } = value.data
  return tagOf({ data })
}

/** True when what the route answers can be read again by a GET: a tag would be of no use otherwise. */
function isTagged({ reads }: Handlers, method: string, route: string, is_of_path: boolean): boolean {
  if (method === 'GET') return true
  if (method === 'PATCH') return reads().has(route)
  if (method === 'PUT') {
    const list = route.replace('/by-external-id/:external_id', '')
    return list !== route && [...reads()].some((path) => path.startsWith(`${list}/:`))
  }
  if (method !== 'POST') return false
  if (is_of_path) return reads().has(route.slice(0, route.lastIndexOf('/')))
  return [...reads()].some((path) => path.startsWith(`${route}/:`))
}

/** True for what an organization has one of, which needs no id: it is read and replaced at one path. */
function isOnlyOne(handlers: Handlers, method: string, route: string, value: unknown): boolean {
  const { data } = (value ?? {}) as { data?: unknown }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return false
  return ['GET', 'PUT'].includes(method) && handlers.reads().has(route) && handlers.find('PUT', route) !== undefined
}

/** Returns the id in `{ data: { id } }`; undefined for lists and everything else. */
function idOf(value: unknown): string | undefined {
  const id = (value as { data?: { id?: unknown } | null } | null | undefined)?.data?.id
  return typeof id === 'string' ? id : undefined
}

function isKnown(request: Request, etag: string): boolean {
  return readingOf(request) === 'GET' && isNamed(request, etag)
}

/** A HEAD has the headers of the GET. */
function readingOf({ method }: Request): string {
  return method === 'HEAD' ? 'GET' : method
}

function notModified(set: { status?: number | string }): Response {
  set.status = 304
  return new Response(null, { status: 304 })
}
