/** Which errors each operation may answer: most follow from its path, its parameters and the codes of its models. */
import { ERRORS, type ErrorCode } from '../../errors'
import { heedsIfMatch } from './documented-headers'

/** By method and path: what commands find and no model names. */
const OWN_CODES: Record<string, ErrorCode[]> = {
  'post /auth/login': ['INVALID_CREDENTIALS'],
  'post /tickets/{ticket_id}/messages': ['EMAIL_SEND_FAILED'],
  'post /contacts': ['EMAIL_ALREADY_EXISTS'],
  'patch /contacts/{contact_id}': ['EMAIL_ALREADY_EXISTS'],
  'post /labels': ['LABEL_NAME_EXISTS'],
  'patch /labels/{label_id}': ['LABEL_NAME_EXISTS'],
  'patch /time-entries/{time_entry_id}': ['UNAUTHORIZED'],
  'delete /time-entries/{time_entry_id}': ['UNAUTHORIZED'],
  'post /webhooks/{webhook_id}/test': ['WEBHOOK_DISABLED'],
  'post /webhooks/{webhook_id}/deliveries/{delivery_id}/retry': ['WEBHOOK_DISABLED'],
  'post /users': ['EMAIL_ALREADY_EXISTS'],
  'patch /users/{user_id}': ['EMAIL_ALREADY_EXISTS'],
  'post /mailboxes': ['EMAIL_ALREADY_EXISTS'],
  'patch /mailboxes/{mailbox_id}': ['EMAIL_ALREADY_EXISTS'],
}

/** What an id that names nothing is answered with: 404 in a path, 422 in a body. */
const UNKNOWN: Record<string, ErrorCode> = {
  ticket_id: 'TICKET_NOT_FOUND',
  message_id: 'MESSAGE_NOT_FOUND',
  attachment_id: 'ATTACHMENT_NOT_FOUND',
  attachment_ids: 'ATTACHMENT_NOT_FOUND',
  participant_id: 'PARTICIPANT_NOT_FOUND',
  contact_id: 'CONTACT_NOT_FOUND',
  company_id: 'COMPANY_NOT_FOUND',
  label_id: 'LABEL_NOT_FOUND',
  label_ids: 'LABEL_NOT_FOUND',
  time_entry_id: 'TIME_ENTRY_NOT_FOUND',
  webhook_id: 'WEBHOOK_NOT_FOUND',
  delivery_id: 'DELIVERY_NOT_FOUND',
  user_id: 'USER_NOT_FOUND',
  assignee_id: 'USER_NOT_FOUND',
  mailbox_id: 'MAILBOX_NOT_FOUND',
  inbound_message_id: 'INBOUND_MESSAGE_NOT_FOUND',
}

type Media = { schema?: Record<string, unknown> }
type Asked = {
  parameters?: { name: string; in: string; schema: Record<string, unknown> }[]
  requestBody?: { content: Record<string, Media> }
}

/** Error replies, which operations share, by their codes. */
export type ErrorReplies = Record<string, ReturnType<typeof errorReply>>

/**
 * The error replies of an operation by status, each a reference to the one in `replies` that has the codes it may carry.
 * @param operation as the generator made it, with the codes of the models still in it
 * @param path without `/api/v1`
 * @param replies gets what is missing in it
 */
export function errorsOf(operation: Asked, method: string, path: string, replies: ErrorReplies) {
  return Object.fromEntries(
    [...errorCodesOf(operation, method, path)].map(([status, codes]) => {
      const name = [...codes].join('.')
      replies[name] ??= errorReply([...codes])
      return [status, { $ref: `#/components/responses/${name}` }]
    }),
  )
}

function errorCodesOf({ parameters = [], requestBody }: Asked, method: string, path: string) {
  const bodies = Object.values(requestBody?.content ?? {}).map(({ schema }) => schema ?? {})
  const fields = bodies.flatMap(({ properties }) => Object.keys(properties ?? {}))
  const queries = parameters.filter((parameter) => parameter.in === 'query')
  const in_organization = !path.startsWith('/auth/')
  const codes = new Map<number, Set<ErrorCode>>()
  const add = (code: ErrorCode, status: number = ERRORS[code][0]) =>
    codes.set(status, (codes.get(status) ?? new Set()).add(code))

  add('BAD_REQUEST')
  if (path !== '/auth/login') for (const code of ['INVALID_TOKEN', 'TOKEN_EXPIRED'] as const) add(code)
  if (in_organization) add('FORBIDDEN')
  for (const [, name] of path.matchAll(/{(\w+)}/g)) add(UNKNOWN[name!]!)
  if (heedsIfMatch(method, path)) add('PRECONDITION_FAILED')
  if (bodies.length > 0) add('PAYLOAD_TOO_LARGE')
  // The organization's header is judged even where there is nothing else to judge.
  if (in_organization || bodies.length > 0) add('VALIDATION_ERROR', 422)
  for (const code of [...bodies, ...queries].flatMap(codesIn)) add(code, 422)
  for (const name of [...fields, ...(method === 'post' ? queries.map(({ name }) => name) : [])]) {
    if (UNKNOWN[name]) add(UNKNOWN[name], 422)
  }
  if (in_organization && method === 'post') add('IDEMPOTENCY_KEY_REUSED')
  for (const code of OWN_CODES[`${method} ${path}`] ?? []) add(code)
  for (const code of ['RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'] as const) add(code)
  return codes
}

function errorReply(codes: ErrorCode[]) {
  const description = codes.map((code) => `\`${code}\`: ${ERRORS[code][1]}`).join('. ')
  const examples = Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }]))
  return { description, content: { 'application/json': { schema: errorSchema(codes), examples } } }
}

function errorSchema(codes: ErrorCode[]) {
  const details = 'For a 422 `errors`: a JSON pointer and a message for each fault'
  const properties = {
    code: { type: 'string', enum: codes, description: 'What programs go by' },
    message: { type: 'string', description: 'For people' },
    details: { type: 'object', description: details },
  }
  const error = { type: 'object', required: Object.keys(properties), properties }
  return { type: 'object', required: ['error'], properties: { error } }
}

function exampleOf(code: ErrorCode) {
  return { error: { code, message: ERRORS[code][1], details: {} } }
}

/** The codes that a schema and what is in it have for their faults. */
function codesIn(schema: unknown): ErrorCode[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([keyword, value]) =>
    (keyword === 'code' || keyword === 'missing_code') && isCode(value) ? [value] : codesIn(value),
  )
}

function isCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && value in ERRORS
}
