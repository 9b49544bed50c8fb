/**
 * Tools: the operations of the OpenAPI document with JSON in and out, as the Model Context Protocol lists them. Nothing
 * of them is written here, so that a new route is a tool.
 */
import type { Scope } from '../../base/scope'
import { type Declaration, type Declarations, isInOrganization } from '../request/declarations'
import { isPermission, lackedRight, type Permission, permits, type Standing } from '../request/permissions'

/** JSON Schema, as far as tools look into it. */
type Schema = {
  $ref?: string
  type?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  description?: string
  'x-needs'?: string
  [keyword: string]: unknown
}

type Parameter = { $ref?: string; name: string; in: string; required?: boolean; description?: string; schema: Schema }
type Content = Record<string, { schema?: Schema }>
type Operation = {
  operationId: string
  summary: string
  description: string
  parameters: Parameter[]
  requestBody?: { content: Content; required?: boolean }
  responses: Record<string, { content?: Content }>
}

/** The parts of the document that become tools. */
export type ToolDocument = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> }
}

export type Tool = {
  name: string
  title: string
  description: string
  /** In capitals. */
  method: string
  /** With `/api/v1`, and names of parameters in braces. */
  path: string
  input: Schema & { type: 'object'; properties: Record<string, Schema> }
  /** Arguments of the query. */
  query: string[]
  /** The arguments that are no other's are fields of the body, or `body` is all of it. */
  body: 'none' | 'fields' | 'whole'
  reads: boolean
  need: Declaration & { permission: Permission | Standing }
}

/** Arguments that become headers, by the parameters of the document. */
export const HEADER_ARGUMENTS: Record<string, string> = { idempotency_key: 'Idempotency-Key', if_match: 'If-Match' }

/** Sections whose operations are about credentials. */
const CLOSED = /^\/api\/v1\/(?:auth|api-keys)(?:\/|$)/

/** Makes the tools of all operations that take and give JSON in an organization. */
export function toolsOf({ paths, components }: ToolDocument, declarations: Declarations): Tool[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const route = `${method.toUpperCase()} ${path.replace(/{(\w+)}/g, ':$1')}`
      const need = declarations.get(route)
      if (!need || CLOSED.test(path) || !isOpen(need) || !isOfJson(operation)) return []
      return [toTool({ path, method: method.toUpperCase(), operation, need }, components)]
    }),
  )
}

/** Lists what a tool takes, without the arguments that its caller may not give. */
export function inputFor(scope: Pick<Scope, 'actor'>, { input }: Tool): { type: 'object' } {
  return allowed(scope, input) as Tool['input']
}

/** Tells whether a caller may use a tool at all. */
export function mayUse(scope: Pick<Scope, 'actor'>, { need }: Tool): boolean {
  return lackedRight(scope, need) === undefined
}

function isOpen(declaration: Declaration): declaration is Tool['need'] {
  return isInOrganization(declaration.permission) && declaration.permission !== 'customer'
}

function isOfJson({ requestBody, responses }: Operation): boolean {
  // One that answers with a file on demand answers with JSON else.
  const isJson = (content: Content = {}) => 'application/json' in content || Object.keys(content).length === 0
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  return isJson(requestBody?.content) && successes.length > 0 && successes.every(([, { content }]) => isJson(content))
}

type Route = { path: string; method: string; operation: Operation; need: Tool['need'] }

function toTool({ path, method, operation, need }: Route, components: ToolDocument['components']): Tool {
  const parameters = operation.parameters.map((one) =>
    one.$ref ? components.parameters[one.$ref.slice(one.$ref.lastIndexOf('/') + 1)]! : one,
  )
  const placed = parameters.filter((one) => one.in !== 'header')
  const properties = Object.fromEntries(placed.map((one) => [one.name, argumentOf(one)]))
  const required = placed.filter((one) => one.required).map(({ name }) => name)
  for (const [name, header] of Object.entries(HEADER_ARGUMENTS)) {
    const found = parameters.find((one) => one.in === 'header' && one.name === header)
    if (found) properties[name] = argumentOf(found)
  }
  const content = operation.requestBody?.content['application/json']?.schema
  const schema = content && inlined(content, components.schemas)
  const fields = Object.entries(schema?.properties ?? {})
  const is_whole = schema !== undefined && (!schema.properties || fields.some(([name]) => name in properties))
  const more = is_whole ? { body: schema } : Object.fromEntries(fields)
  const needed = is_whole ? (operation.requestBody?.required === false ? [] : ['body']) : (schema?.required ?? [])
  return {
    name: operation.operationId,
    title: operation.summary,
    description: `${operation.summary}. ${operation.description}`,
    ...{ method, path, need },
    input: { type: 'object', properties: { ...properties, ...more }, required: [...required, ...needed] },
    query: placed.filter((one) => one.in === 'query').map(({ name }) => name),
    body: schema ? (is_whole ? 'whole' : 'fields') : 'none',
    reads: method === 'GET' || need.reads === true,
  }
}

function argumentOf({ description, schema }: Parameter): Schema {
  return { ...schema, ...(description !== undefined && { description }) }
}

/** Puts what a schema refers to in the place of the reference. The document has no circles. */
function inlined<T>(value: T, schemas: Record<string, Schema>): T {
  if (Array.isArray(value)) return value.map((one) => inlined(one, schemas)) as T
  if (typeof value !== 'object' || value === null) return value
  const { $ref, ...own } = value as Schema
  const named = $ref === undefined ? {} : schemas[$ref.slice($ref.lastIndexOf('/') + 1)]
  const merged = Object.entries({ ...named, ...own }).map(([key, inner]) => [key, inlined(inner, schemas)])
  return Object.fromEntries(merged) as T
}

/** Leaves out properties whose `x-needs` the caller lacks, at any depth, and the word itself. */
function allowed(scope: Pick<Scope, 'actor'>, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => allowed(scope, one))
  if (typeof value !== 'object' || value === null) return value
  const { 'x-needs': _, ...schema } = value as Schema
  const entries = Object.entries(schema).map(([key, inner]) => {
    if (key !== 'properties') return [key, allowed(scope, inner)]
    const given = Object.entries(inner as Record<string, Schema>).filter(([, one]) => mayGive(scope, one))
    return [key, Object.fromEntries(given.map(([name, one]) => [name, allowed(scope, one)]))]
  })
  return Object.fromEntries(entries)
}

function mayGive(scope: Pick<Scope, 'actor'>, { 'x-needs': needed }: Schema): boolean {
  return needed === undefined || permits(scope, isPermission(needed) ? needed : 'member')
}
