/** The endpoints as the service documents them (`/swagger/json`), for tests that go through all of them. */
import { api } from './api'
import { inlined } from './openapi'

/** JSON Schema, as far as the document uses it. */
export type Schema = {
  type?: string | string[]
  enum?: unknown[]
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
}

type Parameter = { name?: string; in?: string; required?: boolean; schema?: Schema; $ref?: string }

export type Endpoint = {
  /** `POST /tickets/{ticket_id}/labels`: without `/api/v1`. */
  name: string
  method: string
  path: string
  /** Names of the ids in the path, outermost first. A token in a path is no id, nor is what others call a thing. */
  ids: string[]
  query: Record<string, Schema>
  /** Schema of a JSON body. */
  body?: Schema
  /** Every status that the document declares. */
  statuses: number[]
}

type Operation = {
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, unknown>
}

/** Its answer has no end: `delivery/events/stream.test.ts` reads it. */
export const STREAM = '/api/v1/events/stream'

/** All endpoints of the document that answer and are done, in its order. */
export async function readEndpoints(): Promise<Endpoint[]> {
  const answer = await api().handle(new Request('http://localhost/swagger/json'))
  const { paths } = inlined((await answer.json()) as { paths: Record<string, Record<string, Operation>> })
  const ended = Object.entries(paths).filter(([full_path]) => full_path !== STREAM)
  return ended.flatMap(([full_path, operations]) =>
    Object.entries(operations).map(([method, operation]) => toEndpoint(full_path, method.toUpperCase(), operation)),
  )
}

function toEndpoint(full_path: string, method: string, operation: Operation): Endpoint {
  const path = full_path.replace('/api/v1', '')
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
  return {
    name: `${method} ${path}`,
    method,
    path,
    ids: [...path.matchAll(/{(\w+_id)}/g)].map(([, name]) => name!).filter((name) => name !== 'external_id'),
    query: Object.fromEntries(parameters.map(({ name, schema }) => [name!, schema!])),
    body: operation.requestBody?.content['application/json']?.schema,
    statuses: Object.keys(operation.responses).map(Number),
  }
}

/** Parameters without which a path is refused. */
const NEEDED: Record<string, string> = { '/reports/tickets': 'from=2026-01-01&to=2026-01-31' }

/**
 * The path with its ids, and the parameters that it needs. A name without an id stays as it is and names nothing.
 */
export function pathWith(path: string, ids: Record<string, string>): string {
  const own = path.replace(/{(\w+)}/g, (whole, name) => encodeURIComponent(ids[name] ?? whole))
  return NEEDED[path] ? `${own}?${NEEDED[path]}` : own
}

/** Adds parameters to a path, which may have some. */
export function withParameters(path: string, query: string): string {
  return query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`
}

/** The types of JSON that a schema takes. */
export function typesOf({ type }: Schema): string[] {
  return type === undefined ? [] : Array.isArray(type) ? type : [type]
}
