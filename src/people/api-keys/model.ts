import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { toNetwork } from '../../base/address/networks'
import type { Fault } from '../../base/errors'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { body, type LengthLimits, lengthFault, nameInput, oneOf, optional, text } from '../../base/shapes/fields'
import { Paging, query, queryFlag } from '../../base/shapes/query'
import { GRANTS } from '../../http/request/permissions'

const name = nameInput({ description: 'The program that uses it. Stands in timelines and as the sender of messages' })
const permissions = Type.Array(oneOf(GRANTS, { code: 'INVALID_PERMISSIONS' }), {
  minItems: 1,
  code: 'INVALID_PERMISSIONS',
  fault: 'must be a list of at least one permission',
})
const allowed_networks = Type.Array(
  text({
    max: 64,
    rule: (value) => toNetwork(value) !== undefined,
    fault: 'must be a network, such as 203.0.113.0/24, or an address',
  }),
  { maxItems: 50, fault: 'must be a list of at most 50 networks', description: 'Empty: from everywhere' },
)

export const ApiKey = Type.Object({
  id: Uuid,
  name: Type.String({ description: 'The program that uses it' }),
  prefix: Type.String({ description: 'How the key begins', examples: ['dk_4fQz81LmPa'] }),
  permissions: Type.Array(oneOf(GRANTS), { description: 'What it may do' }),
  allowed_networks: Type.Array(Type.String(), { description: 'Where requests may come from; empty: from everywhere' }),
  created_by: orNull(Type.Object({ id: Uuid, name: Type.String() }), { description: 'Null: the operator made it' }),
  created_at: Instant,
  last_used_at: orNull(Instant, { description: 'Right to a minute' }),
  revoked_at: orNull(Instant, { description: 'Null: it may be used' }),
})
export type ApiKey = typeof ApiKey.static

/** The answer that shows the key itself. */
export const CreatedApiKey = Type.Composite([
  ApiKey,
  Type.Object({ key: Type.String({ description: 'The key itself: no other answer shows it' }) }),
])
export type CreatedApiKey = typeof CreatedApiKey.static

export const NewApiKey = body({ name, permissions, allowed_networks: optional(allowed_networks) })
export type NewApiKey = typeof NewApiKey.static

/**
 * Finds the first fault of a key that is not made by a request; a path such as `/name` or `/permissions/0`, and it in
 * words.
 */
export function findFault(input: Record<keyof NewApiKey, unknown>): Fault | undefined {
  const fault = Value.Errors(NewApiKey, input).First()
  return (
    fault && {
      path: fault.path,
      message: lengthFault(fault.schema as LengthLimits, fault.value) ?? fault.schema.fault ?? fault.message,
    }
  )
}

export const ApiKeyChanges = body({
  name: optional(name),
  permissions: optional(permissions),
  allowed_networks: optional(allowed_networks),
})
export type ApiKeyChanges = typeof ApiKeyChanges.static

export const ApiKeyFilter = query({
  revoked: queryFlag({ description: 'Only those that are revoked, or only those that are not' }),
  ...Paging,
})
export type ApiKeyFilter = typeof ApiKeyFilter.static
