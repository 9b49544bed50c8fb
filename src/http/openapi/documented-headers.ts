/** Headers that requests may carry besides the token, and the operations that heed them. */
import { type Declared, isInOrganization } from '../request/declarations'

export const HEADERS = {
  OrganizationId: {
    name: 'X-Organization-Id',
    in: 'header',
    description: "Organization to act in; without it the caller's first one",
    schema: { type: 'string', format: 'uuid' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Within 24 hours the same key with the same body is answered with the first answer',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'The `ETag` that was read; when the resource has changed since, nothing happens',
    schema: { type: 'string' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of what is known already; when it still holds, the answer is 304 without a body',
    schema: { type: 'string' },
  },
}

const text = { type: 'string' }
const whole = { type: 'integer' }

/** Headers of answers. A page of another origin may read these, where it may read the answer. */
export const ANSWER_HEADERS = {
  'X-Request-Id': { description: 'Names the request in the log of the service', schema: text },
  'X-RateLimit-Limit': { description: 'Requests that the window allows; absent without a limit', schema: whole },
  'X-RateLimit-Remaining': { description: 'Requests that are left in the window', schema: whole },
  'X-RateLimit-Reset': { description: 'When the window ends, in seconds since 1970', schema: whole },
  'Retry-After': { description: 'Seconds after which the request may be sent again', schema: whole },
  ETag: { description: 'For If-Match and If-None-Match', schema: text },
  'Idempotent-Replayed': { description: '`true`: the first answer to this Idempotency-Key', schema: text },
}
/** Headers of deprecated operations beside those. */
export const ENDING_HEADERS = {
  Deprecation: { description: 'Since when the operation is deprecated, as `@` and seconds since 1970', schema: text },
  Sunset: { description: 'When the operation may be gone, as an HTTP date', schema: text },
  Link: { description: 'With `rel="deprecation"`: where to read about it', schema: text },
}
const ALWAYS = ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const

/** Refers to headers of an answer: those of all answers, and others. */
export function answerHeaders(...more: (keyof typeof ANSWER_HEADERS)[]) {
  return Object.fromEntries([...ALWAYS, ...more].map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/**
 * Refers to the headers that an operation reads.
 * @param path without `/api/v1`
 * @param is_single whether it answers a single object
 */
export function headersOf(declared: Declared, method: string, path: string, is_single: boolean) {
  if (!isInOrganization(declared.permission)) return []
  const names: (keyof typeof HEADERS)[] = ['OrganizationId']
  if (heedsKey(declared, method)) names.push('IdempotencyKey')
  if (heedsIfMatch(declared, method, path)) names.push('IfMatch')
  if (method === 'get' && is_single) names.push('IfNoneMatch')
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }))
}

/**
 * Tells whether an operation changes or deletes what its path names, or says that it heeds the header. To take
 * something off it by a word is an action.
 */
export function heedsIfMatch({ permission, if_match }: Declared, method: string, path: string): boolean {
  const is_change = method === 'patch' || (method === 'delete' && path.endsWith('}'))
  return isInOrganization(permission) && (is_change || if_match !== undefined)
}

/** Tells whether an operation gives a repeated Idempotency-Key its first answer. */
export function heedsKey({ permission, idempotency }: Declared, method: string): boolean {
  return isInOrganization(permission) && method === 'post' && idempotency !== 'never'
}
