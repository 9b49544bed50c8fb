/** The OpenAPI document, made from the routes, what they declare, and their models. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { toOpenAPISchema } from '@elysiajs/openapi'
import type { AnyElysia } from 'elysia'
import { version } from '../../../package.json'
import { config } from '../../base/config'
import { type Declared, isInOrganization } from '../request/declarations'
import { isPermission } from '../request/permissions'
import { type ErrorReplies, errorsOf } from './documented-errors'
import { HEADERS, headersOf } from './documented-headers'
import { type Content, mapValues, type Parameter, type Schema, toContent, toParameter } from './documented-schemas'

/** The introduction: the same page as in the repository. */
const GUIDE = fileURLToPath(import.meta.resolve('../../guide/api.md'))

const SUCCESSES: Record<string, string> = { 200: 'Success', 201: 'Created', 204: 'Done, no content' }
const TOKEN: Security = [{ bearer: [] }]

const SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The access token of a person' },
  // A scheme of type http would be the exact one, but Swagger UI has a field for `basic` and `bearer` only.
  apiKey: { type: 'apiKey', in: 'header', name: 'Authorization', description: '`ApiKey ` and the key of a program' },
  customer: { type: 'http', scheme: 'bearer', description: 'The token of a contact' },
}

type Security = Record<string, string[]>[]
type Reply = { description: string; content?: Content }
type RequestBody = { content: Content; required?: boolean }
/** An operation as the generator makes it: what Elysia knows of a route, and its `detail`. */
type Operation = Declared & {
  tags?: string[]
  summary?: string
  description?: string
  parameters?: Parameter[]
  requestBody?: RequestBody
  responses?: Record<string, Reply>
}

/** Makes the document of all routes of `app` that are not hidden. */
export function openApiDocument(app: AnyElysia) {
  const paths = toOpenAPISchema(readingJson(app)).paths as Record<string, Record<string, Operation>>
  const responses: ErrorReplies = {}
  return {
    openapi: '3.1.2',
    info: { title: 'Deskwire', version, description: readFileSync(GUIDE, 'utf8') },
    servers: [{ url: new URL(config.BASE_URL).pathname, description: 'This service' }],
    security: TOKEN,
    tags: tagsOf(Object.values(paths).flatMap((operations) => Object.values(operations))),
    paths: mapValues(paths, (operations, path) =>
      mapValues(operations, (operation, method) =>
        toOperation(operation, method, path.replace('/api/v1', ''), responses),
      ),
    ),
    components: { securitySchemes: SCHEMES, parameters: HEADERS, responses },
  }
}

/** Shows the app with JSON parsed by name: the generator leaves out bodies that a function parses, as ours are. */
function readingJson(app: AnyElysia): AnyElysia {
  const routes = app.routes.map((route) => ({ ...route, hooks: { ...route.hooks, parse: [{ fn: 'json' }] } }))
  return Object.create(app, { getGlobalRoutes: { value: () => routes } })
}

function toOperation(operation: Operation, method: string, path: string, replies: ErrorReplies) {
  const { about, permission, codes, idempotency, link, has_optional_body, ...others } = operation
  const { or_permission, and_permission, reads, codes_422, removes_path, if_match, is_for_providers, ...documented } =
    others
  const { summary = '', parameters = [], requestBody, responses = { 200: { description: 'Success' } } } = documented
  const is_single = isSingle(responses['200'])
  const is_tagged = method === 'get' && is_single && isInOrganization(permission)
  return {
    ...documented,
    operationId: summary.replace(/ (\w)/g, (_, letter) => letter.toUpperCase()).replace(/^\w/, (c) => c.toLowerCase()),
    ...securityOf(operation),
    ...descriptionOf(operation),
    parameters: [...headersOf(operation, method, path, is_single), ...parameters.map(toParameter)],
    ...(requestBody && { requestBody: toRequestBody(requestBody, operation) }),
    responses: {
      ...mapValues(responses, toReply),
      ...(is_tagged && { 304: { description: 'Unchanged' } }),
      ...errorsOf(operation, method, path, replies),
    },
  }
}

function toRequestBody(body: RequestBody, { has_optional_body }: Operation): RequestBody {
  return { ...body, ...(has_optional_body && { required: false }), content: toContent(body.content) }
}

/**
 * Tells what an operation needs instead of the token that the document names for all. The permission stands beside the
 * scheme: since OpenAPI 3.1 every scheme may list the roles that an operation needs.
 */
function securityOf({ permission, and_permission, link }: Operation): { security?: Security } {
  if (permission === 'anyone') return { security: [] }
  if (permission === 'customer') return { security: [{ customer: [] }] }
  if (!isPermission(permission)) return {}
  return {
    security: [
      ...TOKEN,
      { apiKey: and_permission ? [permission, and_permission] : [permission] },
      ...(link ? [{}] : []),
    ],
  }
}

/** Adds what an API key needs for the operation. */
function descriptionOf({ description, permission, ...more }: Operation): { description: string } {
  const also = more.and_permission ? ` and \`${more.and_permission}\`` : ''
  const or = more.or_permission && more.or_permission !== 'member' ? ` or \`${more.or_permission}\`` : ''
  const need = isPermission(permission) ? `API keys need \`${permission}\`${also}${or}.` : 'Takes no API key.'
  return { description: description ? `${description} ${need}` : need }
}

/** Lists the sections in the order of their first operations. */
function tagsOf(operations: Operation[]): { name: string; description: string }[] {
  const sections = new Map(operations.flatMap(({ tags = [], about = '' }) => tags.map((tag) => [tag, about] as const)))
  return [...sections].map(([name, description]) => ({ name, description }))
}

/** Tells whether a reply is `{ data }` with one object. */
function isSingle(reply: Reply | undefined): boolean {
  const schema = reply?.content?.['application/json']?.schema as { properties?: { data?: Schema } } | undefined
  // A timer may be null: its type is a list.
  return [schema?.properties?.data?.type].flat().includes('object')
}

function toReply({ content, ...reply }: Reply, status: string) {
  const is_empty = typeof content?.type === 'string'
  const description = SUCCESSES[status] && reply.description.startsWith('Response for') ? SUCCESSES[status] : undefined
  return { ...reply, ...(description && { description }), ...(content && !is_empty && { content: toContent(content) }) }
}
