/**
 * Parameters of queries. Every value arrives as text. Elysia runs the `Decode` of each parameter twice, so a value that
 * is not a text any more has been decoded and stays as it is. The URL is unescaped only once.
 */
import {
  Kind,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
  TypeRegistry,
} from '@sinclair/typebox'
import { codePoints, isCleanText } from '../address/characters'
import type { FieldOptions } from './fields'
import { asIds, isUuid } from './ids'
import { isDay, timeOf } from './time'

/** The key of a parameter's decoder. TypeBox copies what stands under a symbol, and JSON leaves it out. */
const DECODE = Symbol('decode')

TypeRegistry.Set<TSchema & { [DECODE]: (text: string) => unknown }>('Query', (schema, value) => {
  if (typeof value !== 'string') return value !== undefined
  return isCleanText(value) && schema[DECODE](value) !== undefined
})

/**
 * A query parameter.
 * @param schema what the OpenAPI document says of it
 * @param decode gives the value of the text, undefined when the text is wrong
 */
export function queryValue<T>(
  schema: Record<string, unknown>,
  decode: (text: string) => T | undefined,
  options: FieldOptions = {},
) {
  const wire = Type.Unsafe<string>({ [Kind]: 'Query', ...schema, [DECODE]: decode, ...options })
  const decoded = Type.Transform(wire)
    .Decode((value) => (typeof value === 'string' ? decode(value) : value))
    .Encode(String)
  // Elysia types a transformed field by what it is on the wire; handlers see what it was decoded to.
  return Type.Optional(decoded) as unknown as TOptional<TUnsafe<T>>
}

/** A whole number, as large as a JSON number holds exactly. */
function queryInteger(min: number, options: FieldOptions = {}) {
  return queryValue(
    { type: 'integer', minimum: min },
    (value) => {
      const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN
      return Number.isSafeInteger(number) && number >= min ? number : undefined
    },
    { fault: `must be a whole number of at least ${min}`, ...options },
  )
}

/** A yes or no: `true` or `false`. */
export function queryFlag(options: FieldOptions = {}) {
  const decode = (value: string) => (value === 'true' ? true : value === 'false' ? false : undefined)
  return queryValue({ type: 'boolean' }, decode, { fault: 'must be true or false', ...options })
}

/** One word of a list. */
export function queryWord<const Words extends readonly string[]>(words: Words, options: FieldOptions = {}) {
  return queryValue(
    { type: 'string', enum: [...words] },
    (value) => words.find((word) => word === value) as Words[number] | undefined,
    { fault: `must be one of ${words.join(', ')}`, ...options },
  )
}

/** An id as a filter: must be a UUID. One that names nothing gives an empty list. */
export function queryId(options: FieldOptions = {}) {
  const decode = (value: string) => (isUuid(value) ? value.toLowerCase() : undefined)
  return queryValue({ type: 'string', format: 'uuid' }, decode, { fault: 'must be a UUID', ...options })
}

/** Ids separated by commas, at most 50. */
export function queryIds(options: FieldOptions = {}) {
  return queryValue(
    { type: 'string' },
    (value) => {
      const ids = value.split(',').map((part) => part.trim())
      return ids.length <= 50 && ids.every(isUuid) ? asIds(ids) : undefined
    },
    { fault: 'must be at most 50 UUIDs separated by commas', ...options },
  )
}

/** A time with offset (RFC 3339), decoded to milliseconds since 1970. */
export function queryInstant(options: FieldOptions = {}) {
  const fault = 'must be a time with offset, such as 2026-01-31T09:00:00Z'
  return queryValue({ type: 'string', format: 'date-time' }, timeOf, { fault, ...options })
}

/** A day that exists. */
export function queryDay(options: FieldOptions = {}) {
  const decode = (value: string) => (isDay(value) ? value : undefined)
  return queryValue({ type: 'string', format: 'date' }, decode, {
    fault: 'must be a date, such as 2026-01-31',
    ...options,
  })
}

/** A text, trimmed, of at most 255 characters. */
export function queryText(options: FieldOptions = {}) {
  const decode = (value: string) => (codePoints(value.trim()) <= 255 ? value.trim() : undefined)
  return queryValue({ type: 'string', maxLength: 255 }, decode, {
    fault: 'must be text of at most 255 characters',
    ...options,
  })
}

/** The parameters of every list with pages (`page.ts`). */
export const Paging = {
  page: queryInteger(1, { description: 'Default 1' }),
  per_page: queryInteger(1, { description: 'Default 20; above 100 it is served as 100' }),
  cursor: queryValue({ type: 'string' }, (text) => text, {
    description: 'A `next_cursor` of this list: shows what follows. Filters and sort as before; without `page`',
  }),
}
export type Paging = { page?: number; per_page?: number; cursor?: string }

/** Query parameters; unknown ones are dropped, so that what is left decides the answer (`cursor.ts`). */
export function query<T extends TProperties>(parameters: T) {
  const names = Object.keys(parameters)
  return Type.Transform(Type.Object(parameters, { additionalProperties: true }))
    .Decode((value) => {
      const given = value as Record<string, unknown>
      const known = names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]])
      return Object.fromEntries(known) as typeof value
    })
    .Encode((value) => value)
}
