/** Headers that requests may carry besides the token, and which operations heed them (decisions.md sections 1 and 2). */
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

/**
 * References to the headers that an operation heeds.
 * @param path without `/api/v1`
 * @param is_single whether it answers a single object
 */
export function headersOf(method: string, path: string, is_single: boolean): { $ref: string }[] {
  if (path.startsWith('/auth/')) return []
  const names: (keyof typeof HEADERS)[] = ['OrganizationId']
  if (method === 'post') names.push('IdempotencyKey')
  if (heedsIfMatch(method, path)) names.push('IfMatch')
  if (method === 'get' && is_single) names.push('IfNoneMatch')
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }))
}

/** What changes or deletes what its path names; to take something off it by a word is an action. */
export function heedsIfMatch(method: string, path: string): boolean {
  if (path.startsWith('/auth/')) return false
  return method === 'patch' || (method === 'delete' && path.endsWith('}'))
}
