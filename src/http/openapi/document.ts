/** The OpenAPI document, made from the routes and their models: what they say is not said a second time. */
import { toOpenAPISchema } from '@elysiajs/openapi'
import type { AnyElysia } from 'elysia'
import { version } from '../../../package.json'
import type { ErrorCode } from '../../errors'
import { type Access, type Idempotency, isInOrganization } from '../declarations'
import { type ErrorReplies, errorsOf } from './documented-errors'
import { HEADERS, headersOf } from './documented-headers'

const DESCRIPTION = `Support ticketing for several organizations: tickets, messages, contacts, companies, time, webhooks.

Sign in with \`POST /api/v1/auth/login\` and send the access token as \`Authorization: Bearer\`. A single object comes as
\`{ data }\`, a list as \`{ data, meta: { total, page, per_page } }\`, an error as \`{ error: { code, message, details } }\`.
Every answer has \`X-Request-Id\`, and the \`X-RateLimit-*\` headers when requests are limited.`

const SUCCESSES: Record<string, string> = { 200: 'Success', 201: 'Created', 204: 'Done, no content' }
const TOKEN: Security = [{ bearer: [] }]

/** Keywords of JSON Schema; ours (rules, fault texts, error codes) are no business of readers. */
const KEYWORDS = new Set([
  ...['$ref', 'title', 'description', 'examples', 'default', 'type', 'enum', 'const', 'format', 'pattern', 'required'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['properties', 'patternProperties', 'additionalProperties', 'items', 'anyOf', 'oneOf', 'allOf', 'uniqueItems'],
])

type Schema = Record<string, unknown>
type Security = Record<string, string[]>[]
type Content = Record<string, { schema?: Schema }>
type Parameter = { name: string; in: string; required?: boolean; description?: string; schema: Schema }
type Reply = { description: string; content?: Content }
type Operation = {
  tags?: string[]
  summary?: string
  about?: string
  permission?: Access
  codes?: readonly ErrorCode[]
  idempotency?: Idempotency
  link?: unknown
  parameters?: Parameter[]
  requestBody?: { content: Content }
  responses?: Record<string, Reply>
  security?: Security
}

/** The document of all routes of `app` that are not hidden. */
export function openApiDocument(app: AnyElysia) {
  const paths = toOpenAPISchema(readingJson(app)).paths as Record<string, Record<string, Operation>>
  const responses: ErrorReplies = {}
  return {
    openapi: '3.1.2',
    info: { title: 'Deskwire', version, description: DESCRIPTION },
    servers: [{ url: '/', description: 'This service' }],
    security: TOKEN,
    tags: tagsOf(Object.values(paths).flatMap((operations) => Object.values(operations))),
    paths: mapValues(paths, (operations, path) =>
      mapValues(operations, (operation, method) =>
        toOperation(operation, method, path.replace('/api/v1', ''), responses),
      ),
    ),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      parameters: HEADERS,
      responses,
    },
  }
}

/** A view of the app in which JSON is parsed by name: the generator says nothing of bodies that a function parses. */
function readingJson(app: AnyElysia): AnyElysia {
  const routes = app.routes.map((route) => ({ ...route, hooks: { ...route.hooks, parse: [{ fn: 'json' }] } }))
  return Object.create(app, { getGlobalRoutes: { value: () => routes } })
}

function toOperation(operation: Operation, method: string, path: string, replies: ErrorReplies) {
  const { about, permission, codes, idempotency, link, ...documented } = operation
  const { summary = '', parameters = [], requestBody, responses = { 200: { description: 'Success' } } } = documented
  const is_single = isSingle(responses['200'])
  const is_tagged = method === 'get' && is_single && isInOrganization(permission)
  return {
    ...documented,
    operationId: summary.replace(/ (\w)/g, (_, letter) => letter.toUpperCase()).replace(/^\w/, (c) => c.toLowerCase()),
    ...securityOf(operation),
    parameters: [...headersOf(permission, method, path, is_single), ...parameters.map(toParameter)],
    ...(requestBody && { requestBody: { ...requestBody, content: toContent(requestBody.content) } }),
    responses: {
      ...mapValues(responses, toReply),
      ...(is_tagged && { 304: { description: 'Unchanged' } }),
      ...errorsOf(operation, method, path, replies),
    },
  }
}

/** What an operation says of tokens, where it is not what the whole document says. */
function securityOf({ permission, link }: Operation): { security?: Security } {
  if (permission === 'anyone') return { security: [] }
  return link ? { security: [...TOKEN, {}] } : {}
}

/** The sections, in the order of their first operations. */
function tagsOf(operations: Operation[]): { name: string; description: string }[] {
  const sections = new Map(operations.flatMap(({ tags = [], about = '' }) => tags.map((tag) => [tag, about] as const)))
  return [...sections].map(([name, description]) => ({ name, description }))
}

function toParameter({ schema, ...parameter }: Parameter) {
  const { description, ...rest } = toSchema(schema)
  return { ...parameter, ...(description !== undefined && { description }), schema: rest }
}

function isSingle(reply: Reply | undefined): boolean {
  const schema = reply?.content?.['application/json']?.schema as { properties?: { data?: Schema } } | undefined
  return schema?.properties?.data?.type === 'object'
}

function toReply({ content, ...reply }: Reply, status: string) {
  const is_empty = typeof content?.type === 'string'
  const description = SUCCESSES[status] && reply.description.startsWith('Response for') ? SUCCESSES[status] : undefined
  return { ...reply, ...(description && { description }), ...(content && !is_empty && { content: toContent(content) }) }
}

function toContent(content: Content): Content {
  return mapValues(content, (media) => (media.schema ? { ...media, schema: toSchema(media.schema) } : media))
}

function toSchema(schema: Schema): Schema {
  const known = Object.entries(schema).filter(([keyword]) => KEYWORDS.has(keyword))
  return Object.fromEntries(
    known.map(([keyword, value]) => {
      if (keyword === 'properties' || keyword === 'patternProperties') {
        return [keyword, mapValues(value as Record<string, Schema>, toSchema)]
      }
      const is_schema = keyword === 'items' || (keyword === 'additionalProperties' && typeof value === 'object')
      if (is_schema) return [keyword, toSchema(value as Schema)]
      if (keyword === 'enum' && Array.isArray(schema.type) && schema.type.includes('null')) {
        return [keyword, [...(value as unknown[]), null]]
      }
      return [keyword, keyword.endsWith('Of') ? (value as Schema[]).map(toSchema) : value]
    }),
  )
}

function mapValues<T, U>(record: Record<string, T>, change: (value: T, key: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))
}
