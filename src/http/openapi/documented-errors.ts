/** Errors of each operation: most follow from its path, its permission, and the codes that its models name. */
import { ERRORS, type ErrorCode } from '../../base/errors'
import { type Declared, isInOrganization } from '../request/declarations'
import { isResourceId, notFoundCode } from '../request/resources'
import { answerHeaders, heedsIfMatch, heedsKey } from './documented-headers'

type Media = { schema?: Record<string, unknown> }
/** An operation as the generator makes it: what its route declares, and models that name their codes. */
type Operation = Declared & {
  parameters?: { name: string; in: string; schema: Record<string, unknown> }[]
  requestBody?: { content: Record<string, Media> }
}

/** Error replies by their codes, such as `FORBIDDEN.UNAUTHORIZED`. */
export type ErrorReplies = Record<string, ReturnType<typeof errorReply>>

/**
 * Documents the errors of an operation by status. Each is a reference: operations with the same codes share a reply.
 * @param path without `/api/v1`
 * @param replies the shared replies; those that are missing are added
 */
export function errorsOf(operation: Operation, method: string, path: string, replies: ErrorReplies) {
  return Object.fromEntries(
    [...errorCodesOf(operation, method, path)].map(([status, codes]) => {
      const name = [...codes].join('.')
      replies[name] ??= errorReply([...codes])
      return [status, { $ref: `#/components/responses/${name}` }]
    }),
  )
}

function errorCodesOf(operation: Operation, method: string, path: string) {
  const { permission, codes: own = [], codes_422 = [], parameters = [], requestBody } = operation
  const bodies = Object.values(requestBody?.content ?? {}).map(({ schema }) => schema ?? {})
  const queries = parameters.filter((parameter) => parameter.in === 'query')
  const codes = new Map<number, Set<ErrorCode>>()
  const add = (code: ErrorCode, status: number = ERRORS[code][0]) =>
    codes.set(status, (codes.get(status) ?? new Set()).add(code))

  add('BAD_REQUEST')
  // An API key is judged everywhere, also where a token is not asked for.
  for (const code of ['INVALID_TOKEN', 'FORBIDDEN'] as const) add(code)
  if (permission !== 'anyone') add('TOKEN_EXPIRED')
  for (const [, name] of path.matchAll(/{(\w+)}/g)) if (isResourceId(name!)) add(notFoundCode(name))
  if (mayFindMerged(method, path)) add('TICKET_MERGED')
  if (heedsIfMatch(operation, method, path)) add('PRECONDITION_FAILED')
  if (bodies.length > 0) {
    add('PAYLOAD_TOO_LARGE')
    add('REQUEST_TIMEOUT')
  }
  if (isInOrganization(permission))
    for (const code of ['SECOND_FACTOR_MISSING', 'PROVIDER_REQUIRED'] as const) add(code)
  // A query that gives a name twice is refused even where nothing else is judged.
  add('VALIDATION_ERROR', 422)
  for (const code of codesIn([bodies, queries], ['code', 'missing_code'])) add(code, 422)
  for (const code of codesIn([bodies, queries], ['not_found'])) add(code, 422)
  if (heedsKey(operation, method)) add('IDEMPOTENCY_KEY_REUSED')
  for (const code of own) add(code)
  for (const code of codes_422) add(code, 422)
  for (const code of ['RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'] as const) add(code)
  return codes
}

/** Tells whether an operation writes to a ticket: one that was merged into another refuses that. */
function mayFindMerged(method: string, path: string): boolean {
  return method !== 'get' && path.startsWith('/tickets/{ticket_id}') && !/\/(viewing|unmerge)$/.test(path)
}

function errorReply(codes: ErrorCode[]) {
  const description = codes.map((code) => `\`${code}\`: ${ERRORS[code][1]}`).join('. ')
  const examples = Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }]))
  const is_passing = [429, 503].includes(ERRORS[codes[0]!][0])
  const headers = answerHeaders(...(is_passing ? (['Retry-After'] as const) : []))
  return { description, headers, content: { 'application/json': { schema: errorSchema(codes), examples } } }
}

/** The schemas that all error replies share. Each reply narrows `code` to what its operation may answer. */
export const ERROR_SCHEMAS = {
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message', 'details'],
        properties: {
          code: { type: 'string', description: 'What programs go by' },
          message: { type: 'string', description: 'For people' },
          details: { $ref: '#/components/schemas/ErrorDetails' },
        },
      },
    },
  },
  ErrorDetails: {
    type: 'object',
    description: 'More about an error, by its code',
    additionalProperties: {},
    properties: {
      errors: {
        type: 'array',
        items: { $ref: '#/components/schemas/FieldFault' },
        description: 'For a 422: each fault',
      },
    },
  },
  FieldFault: {
    type: 'object',
    required: ['path', 'message'],
    additionalProperties: {},
    properties: {
      path: { type: 'string', description: 'JSON pointer to the field', examples: ['/email'] },
      message: { type: 'string', description: 'For people', examples: ['must be an email address'] },
    },
  },
}

function errorSchema(codes: ErrorCode[]) {
  const open = { type: 'object', additionalProperties: true }
  const error = { ...open, properties: { code: { type: 'string', enum: codes } } }
  return { allOf: [{ $ref: '#/components/schemas/Error' }, { ...open, properties: { error } }] }
}

function exampleOf(code: ErrorCode) {
  return { error: { code, message: ERRORS[code][1], details: {} } }
}

/** Lists the codes that a schema, and what is in it, names under keywords of ours (`FieldOptions`). */
function codesIn(schema: unknown, keywords: readonly string[]): ErrorCode[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([keyword, value]) =>
    keywords.includes(keyword) && isCode(value) ? [value] : codesIn(value, keywords),
  )
}

function isCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && value in ERRORS
}
