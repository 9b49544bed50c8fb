/** Custom fields: what an organization keeps of its tickets, contacts and companies beside our own fields. */
import { Kind, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'
import { codePoints } from '../../base/address/characters'
import { nullable, optional } from '../../base/shapes/fields'

export type CustomValue = string | number | boolean | string[]
export type Custom = Record<string, CustomValue>

/** The name of a field. */
export const CUSTOM_KEY = /^[a-z][a-z0-9_]{0,62}$/
export const MOST_CHARACTERS = 1000
/** Fields of one thing. */
export const MOST_FIELDS = 50

export const MOST_ITEMS = 50
export const MOST_ITEM_CHARACTERS = 255
/** Names in one body: of 50 fields each may go, and each of 50 others come. */
const MOST_GIVEN = 100
const FAULT = `must be text of at most ${MOST_CHARACTERS} characters, a number, true, false, or a list of at most ${MOST_ITEMS} texts of at most ${MOST_ITEM_CHARACTERS}`

const NAME_FAULT = 'must have a name of a to z, 0 to 9 and _, at most 63 characters long, that begins with a letter'

const VALUES = [
  { type: 'string', maxLength: MOST_CHARACTERS },
  { type: 'number' },
  { type: 'boolean' },
  { type: 'array', items: { type: 'string', maxLength: MOST_ITEM_CHARACTERS }, maxItems: MOST_ITEMS },
]

TypeRegistry.Set<TSchema>('CustomValue', (_schema, value) => isCustomValue(value))

function isCustomValue(value: unknown): value is CustomValue {
  if (typeof value === 'string') return codePoints(value) <= MOST_CHARACTERS
  if (typeof value === 'number') return Number.isFinite(value)
  if (!Array.isArray(value)) return typeof value === 'boolean'
  return (
    value.length <= MOST_ITEMS &&
    value.every((item) => typeof item === 'string' && codePoints(item) <= MOST_ITEM_CHARACTERS)
  )
}

const name = Type.String({ pattern: CUSTOM_KEY.source })
const value = Type.Unsafe<CustomValue>({ [Kind]: 'CustomValue', anyOf: VALUES, code: 'INVALID_CUSTOM', fault: FAULT })

/** @param schema of a value */
function given<T extends TSchema>(schema: T, description: string) {
  return Type.Record(name, schema, {
    // A field whose name is wrong, whatever its value: TypeBox compiles no other schema right here.
    additionalProperties: Type.Never({ code: 'INVALID_CUSTOM', fault: NAME_FAULT }),
    maxProperties: MOST_GIVEN,
    code: 'INVALID_CUSTOM',
    fault: `must be an object with at most ${MOST_GIVEN} fields`,
    description,
  })
}

/** The field `custom` of a body that creates. */
export const CustomInput = optional(given(nullable(value), 'At most 50 fields, 16 KiB as JSON; null: absent'))

/** The field `custom` of a body that changes. */
export const CustomChanges = optional(
  nullable(given(nullable(value), 'Sets the given fields; null removes one. At most 50 in all, 16 KiB as JSON'), {
    description: 'Null: removes all',
  }),
)
/** The values given for `custom`: null for a field removes it, null for all of them removes all. */
export type CustomGiven = Record<string, CustomValue | null> | null

/** The field `custom` of an answer. */
export const Custom = Type.Record(Type.String(), value, { description: "The organization's own fields" })

/** The value of a field that a body filters by. */
export const CustomFilterValue = Type.Union([Type.String(), Type.Number(), Type.Boolean()], {
  fault: 'must be text, a number, true or false',
})

/** Values by the names of fields, as texts. */
export type CustomFilter = Record<string, string>
