/** The OpenAPI document, made from the routes, what they declare, and their models. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { filterPaths, registerSchemaPath } from '@elysiajs/swagger/utils'
import type { TSchema } from '@sinclair/typebox'
import type { AnyElysia } from 'elysia'
import { version } from '../../../package.json'
import { config } from '../../base/config'
import { type Declared, isInOrganization } from '../request/declarations'
import { isPermission } from '../request/permissions'
import { ERROR_SCHEMAS, type ErrorReplies, errorsOf } from './documented-errors'
import { webhooksOf } from './documented-events'
import { ANSWER_HEADERS, answerHeaders, ENDING_HEADERS, HEADERS, headersOf, heedsKey } from './documented-headers'
import { type Content, mapValues, type Parameter, type Schema, toContent, toParameter } from './documented-schemas'
import { NamedSchemas } from './named-schemas'

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
type Reply = { description?: string; content?: Content }
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

/** Models of the sections, which this wing does not know. */
export type Documented = {
  /** Models by their names. */
  models: Record<string, unknown>
  /** Models of the `data` of events, by event. */
  events: Record<string, TSchema>
}

/** Makes the document of all routes of `app` that are not hidden. */
export function openApiDocument(app: AnyElysia, { models, events }: Documented) {
  const paths = pathsOf(app)
  const errors: ErrorReplies = {}
  const names = new NamedSchemas(models)
  const webhooks = webhooksOf(events, names)
  return {
    openapi: '3.1.2',
    info: {
      ...{ title: 'Deskwire', version, description: readFileSync(GUIDE, 'utf8') },
      contact: { name: 'Who runs this service', url: config.BASE_URL },
    },
    servers: [{ url: new URL(config.BASE_URL).pathname, description: 'This service' }],
    security: TOKEN,
    tags: tagsOf(Object.values(paths).flatMap((operations) => Object.values(operations))),
    paths: mapValues(paths, (operations, path) =>
      mapValues(operations, (operation, method) =>
        names.refer(toOperation(operation, method, path.replace('/api/v1', ''), errors)),
      ),
    ),
    webhooks,
    components: {
      securitySchemes: SCHEMES,
      parameters: HEADERS,
      headers: ANSWER_HEADERS,
      responses: errors,
      schemas: { ...ERROR_SCHEMAS, ...names.schemas() },
    },
  }
}

/**
 * Makes the operations of the routes that are not hidden. The plugin around this generator is not used: its page comes
 * from elsewhere. The type is named, because bodies that a function parses, as ours are, have no type.
 */
function pathsOf(app: AnyElysia): Record<string, Record<string, Operation>> {
  const schema = {}
  for (const { path, method, hooks } of app.routes) {
    if (hooks.detail?.hide) continue
    registerSchemaPath({ schema, path, method, hook: { ...hooks, parse: 'application/json' }, models: {} })
  }
  return filterPaths(schema, { excludeStaticFile: false, exclude: [] })
}

function toOperation(operation: Operation, method: string, path: string, errors: ErrorReplies) {
  const { about, permission, codes, idempotency, link, has_optional_body, ...others } = operation
  const {
    or_permission,
    and_permission,
    reads,
    codes_422,
    removes_path,
    if_match,
    is_for_providers,
    deprecation,
    file,
    ...documented
  } = others
  const { summary = '', parameters = [], requestBody, responses = {} } = documented
  const replies = mapValues(responses, toReply)
  if (file) replies['200'] = { ...replies['200'], content: { ...replies['200']?.content, [file]: {} } }
  const is_single = isSingle(replies['200'])
  const is_tagged = method === 'get' && is_single && isInOrganization(permission)
  const moreHeaders = (status: string): (keyof typeof ANSWER_HEADERS)[] => {
    if (is_tagged && status === '200') return ['ETag']
    return heedsKey(operation, method) && status.startsWith('2') ? ['Idempotent-Replayed'] : []
  }
  const headers = (...more: (keyof typeof ANSWER_HEADERS)[]) => ({
    ...answerHeaders(...more),
    ...(deprecation && ENDING_HEADERS),
  })
  return {
    ...documented,
    operationId: summary.replace(/ (\w)/g, (_, letter) => letter.toUpperCase()).replace(/^\w/, (c) => c.toLowerCase()),
    ...(deprecation && { deprecated: true }),
    ...securityOf(operation),
    ...descriptionOf(operation),
    parameters: [...headersOf(operation, method, path, is_single), ...parameters.map(toParameter)],
    ...(requestBody && { requestBody: toRequestBody(requestBody, operation) }),
    responses: {
      ...mapValues(replies, (reply, status) => ({ ...reply, headers: headers(...moreHeaders(status)) })),
      ...(is_tagged && { 304: { description: 'Unchanged', headers: headers('ETag') } }),
      ...errorsOf(operation, method, path, errors),
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
function securityOf({ permission, and_permission = [], link }: Operation): { security?: Security } {
  if (permission === 'anyone') return { security: [] }
  if (permission === 'customer') return { security: [{ customer: [] }] }
  if (!isPermission(permission)) return {}
  return { security: [...TOKEN, { apiKey: [permission, ...[and_permission].flat()] }, ...(link ? [{}] : [])] }
}

/** Adds what an API key needs for the operation. */
function descriptionOf({ description, permission, deprecation, ...more }: Operation): { description: string } {
  const also = [more.and_permission ?? []]
    .flat()
    .map((one) => ` and \`${one}\``)
    .join('')
  const or = more.or_permission && more.or_permission !== 'member' ? ` or \`${more.or_permission}\`` : ''
  const need = isPermission(permission) ? `API keys need \`${permission}\`${also}${or}.` : 'Takes no API key.'
  const end = deprecation && `Deprecated since ${deprecation.since}; it may be gone from ${deprecation.sunset} on.`
  return { description: [description, need, end].filter(Boolean).join(' ') }
}

/** Lists the sections in the order of their first operations. */
function tagsOf(operations: Operation[]): { name: string; description: string }[] {
  const sections = new Map<string, string>()
  for (const { tags = [], about } of operations) {
    for (const tag of tags) sections.set(tag, about ?? sections.get(tag) ?? '')
  }
  return [...sections].map(([name, description]) => ({ name, description }))
}

/** Tells whether a reply is `{ data }` with one object, or one text. */
function isSingle(reply: Reply | undefined): boolean {
  if (reply?.content?.['text/markdown']) return true
  const schema = reply?.content?.['application/json']?.schema as { properties?: { data?: Schema } } | undefined
  // A timer may be null: its type is a list.
  return [schema?.properties?.data?.type].flat().includes('object')
}

/** Keeps of a reply its description and its content: the generator puts the keywords of its schema beside them. */
function toReply({ description, content }: Reply, status: string): Reply {
  const has_content = Object.values(content ?? {}).some((media) => media !== undefined)
  return {
    description: description ?? SUCCESSES[status] ?? `Response for status ${status}`,
    ...(has_content && { content: toContent(content!) }),
  }
}
