/** The OpenAPI document, made from the routes and their models: what they say is not said a second time. */
import { toOpenAPISchema } from '@elysiajs/openapi'
import type { AnyElysia } from 'elysia'
import { version } from '../../../package.json'
import { type ErrorReplies, errorsOf } from './documented-errors'
import { HEADERS, headersOf } from './documented-headers'

const DESCRIPTION = `Support ticketing for several organizations: tickets, messages, contacts, companies, time, webhooks.

Sign in with \`POST /api/v1/auth/login\` and send the access token as \`Authorization: Bearer\`. A single object comes as
\`{ data }\`, a list as \`{ data, meta: { total, page, per_page } }\`, an error as \`{ error: { code, message, details } }\`.
Every answer has \`X-Request-Id\`, and the \`X-RateLimit-*\` headers when requests are limited.`

const TAGS = {
  Authentication: 'Sign in, stay signed in, sign out; the own account.',
  Tickets: 'Support requests with status, priority, assignee and labels.',
  Messages: 'Replies and internal notes of a ticket, sent by email where asked.',
  Attachments: 'Files: uploaded on their own, then named by a message.',
  Participants: 'Who besides the contact takes part in a conversation.',
  Contacts: 'Customers.',
  Companies: 'Groups of contacts with a billing rate and email domains.',
  Labels: 'Coloured tags of tickets.',
  'Time entries': 'Work logged on tickets: list, summary, export.',
  Webhooks: 'Subscriptions to events, and their deliveries.',
  Organization: 'Settings of the organization.',
  Users: 'Members of the organization and their roles.',
  Mailboxes: 'Addresses that receive and send email.',
  'Inbound messages': 'The ledger of all email that was accepted.',
}

/** Operations whose summary does not follow from method and path. */
const SUMMARIES: Record<string, string> = {
  'post /auth/login': 'Sign in',
  'post /auth/refresh': 'Refresh access token',
  'get /auth/me': 'Get own account',
  'patch /auth/me': 'Update own account',
  'post /auth/logout': 'Sign out',
  'post /tickets/{ticket_id}/labels': 'Add ticket labels',
  'delete /tickets/{ticket_id}/labels': 'Remove ticket labels',
  'post /tickets/{ticket_id}/assign': 'Assign ticket',
  'post /tickets/{ticket_id}/unassign': 'Unassign ticket',
  'get /tickets/{ticket_id}/activity': 'List ticket activity',
  'post /attachments': 'Upload attachment',
  'get /attachments/{attachment_id}/content': 'Download attachment',
  'post /companies/{company_id}/link-contacts': 'Link matching contacts',
  'get /time-entries/summary': 'Summarize time entries',
  'get /time-entries/export': 'Export time entries',
  'post /webhooks/{webhook_id}/test': 'Test webhook',
  'post /webhooks/{webhook_id}/deliveries/{delivery_id}/retry': 'Retry delivery',
  'get /organization': 'Get organization',
  'patch /organization': 'Update organization',
  'post /mailboxes/{mailbox_id}/test': 'Test mailbox',
  'post /inbound-messages': 'File inbound message',
  'get /inbound-messages/{inbound_message_id}/raw': 'Download inbound message',
}

const VERBS: Record<string, string> = { get: 'Get', post: 'Create', patch: 'Update', delete: 'Delete' }
const SUCCESSES: Record<string, string> = { 200: 'Success', 201: 'Created', 204: 'Done, no content' }
const TOKEN: Security = [{ bearer: [] }]
const SECURITY: Record<string, Security> = {
  '/auth/login': [],
  '/auth/refresh': [],
  // By token or by the signature in the link.
  '/attachments/{attachment_id}/content': [...TOKEN, {}],
}

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
  operationId?: string
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
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
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
  const summary = operation.summary ?? SUMMARIES[`${method} ${path}`] ?? summaryOf(method, path)
  const { parameters = [], requestBody, responses = { 200: { description: 'Success' } } } = operation
  const is_single = isSingle(responses['200'])
  return {
    ...operation,
    summary,
    operationId: summary.replace(/ (\w)/g, (_, letter) => letter.toUpperCase()).replace(/^\w/, (c) => c.toLowerCase()),
    ...(SECURITY[path] && { security: SECURITY[path] }),
    parameters: [...headersOf(method, path, is_single), ...parameters.map(toParameter)],
    ...(requestBody && { requestBody: { ...requestBody, content: toContent(requestBody.content) } }),
    responses: {
      ...mapValues(responses, toReply),
      ...(method === 'get' && is_single && !path.startsWith('/auth/') && { 304: { description: 'Unchanged' } }),
      ...errorsOf(operation, method, path, replies),
    },
  }
}

/** `get /tickets` lists tickets, `patch /tickets/{ticket_id}` updates a ticket. */
function summaryOf(method: string, path: string): string {
  const last = path.split('/').at(-1)!.replaceAll(/[-_]/g, ' ')
  if (last.startsWith('{')) return `${VERBS[method]} ${last.slice(1).replace(/ id}$/, '')}`
  if (method === 'get') return `List ${last}`
  return `${VERBS[method]} ${last
    .replace(/ies$/, 'y')
    .replace(/(x|ss)es$/, '$1')
    .replace(/s$/, '')}`
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
