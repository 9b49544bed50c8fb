/** The name that a customer's other system has for something of ours. Compared exactly, so it is not trimmed. */
import { Type } from '@sinclair/typebox'
import { codePoints, isCleanText } from '../address/characters'
import { optional, text } from './fields'
import { queryValue } from './query'

const MAX = 255

/** `external_id` in a body. */
export const externalIdInput = text({
  min: 1,
  max: MAX,
  trim: false,
  description: 'Its id in another system, compared exactly; only one has it',
})

/** The filter `external_id` of a list. */
export const externalIdFilter = queryValue(
  { type: 'string', minLength: 1, maxLength: MAX },
  (value) => (isExternalId(value) ? value : undefined),
  { fault: `must be text of 1 to ${MAX} characters`, description: 'The one with exactly this id of another system' },
)

/** The path parameter of `/by-external-id/:external_id`, and the same in a body beside it. */
export const ExternalIdPath = Type.Object({
  external_id: text({ min: 1, max: MAX, trim: false, rule: isCleanText, description: 'Id in another system' }),
})

export const externalIdBeside = optional(
  text({ min: 1, max: MAX, trim: false, description: 'May stand here, too: then as in the path' }),
)

function isExternalId(value: string): boolean {
  const length = codePoints(value)
  return length > 0 && length <= MAX
}
