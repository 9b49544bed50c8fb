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
import type { ErrorCode } from '../errors'
import { type FieldOptions, INSTANT_FAULT } from './fields'
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

/** A parameter without which the request is refused. */
export function required<T extends TSchema>(parameter: TOptional<T>): T {
  return Type.Optional(parameter, false) as unknown as T
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

/** Words of a list, separated by commas, at least one. They are given in the order of the list, each once. */
export function queryWords<Word extends string>(words: readonly Word[], options: FieldOptions = {}) {
  return queryValue<Word[]>(
    { type: 'string' },
    (value) => {
      const given = value.split(',').map((word) => word.trim())
      return given.every((word) => (words as readonly string[]).includes(word))
        ? words.filter((word) => given.includes(word))
        : undefined
    },
    { fault: `must be one or more of ${words.join(', ')}, separated by commas`, ...options },
  )
}

/** An id as a filter: must be a UUID. One that names nothing gives an empty list. */
export function queryId(options: FieldOptions = {}) {
  const decode = (value: string) => (isUuid(value) ? value.toLowerCase() : undefined)
  return queryValue({ type: 'string', format: 'uuid' }, decode, { fault: 'must be a UUID', ...options })
}

/** Tells an id, and the word for nothing. */
export function isIdOrNone(text: string): boolean {
  return text === 'none' || isUuid(text)
}

/** Tells the id of a member, and the words for who asks and for nobody. */
export function isMember(text: string): boolean {
  return text === 'me' || isIdOrNone(text)
}

/** A member as a filter. */
export function queryMember(options: FieldOptions = {}) {
  const decode = (value: string) => (isMember(value) ? value.toLowerCase() : undefined)
  return queryValue({ type: 'string' }, decode, { fault: 'must be a UUID, me or none', ...options })
}

/** An id as a filter, or nothing. */
export function queryIdOrNone(options: FieldOptions = {}) {
  const decode = (value: string) => (isIdOrNone(value) ? value.toLowerCase() : undefined)
  return queryValue({ type: 'string' }, decode, { fault: 'must be a UUID or none', ...options })
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
  return queryValue({ type: 'string', format: 'date-time' }, timeOf, { fault: INSTANT_FAULT, ...options })
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

/** The fault of a parameter. */
type ParameterFault = { name: string; code: ErrorCode; message: string }

/**
 * Reads parameters that come as texts by their names, but in no URL.
 * @returns their values, and the faults of those that are wrong or unknown
 */
export function readParameters(parameters: TProperties, texts: Record<string, string>) {
  const values: Record<string, unknown> = {}
  const faults: ParameterFault[] = []
  for (const [name, text] of Object.entries(texts)) {
    const schema = Object.hasOwn(parameters, name) ? (parameters[name] as Parameter) : undefined
    const value = schema && isCleanText(text) ? schema[DECODE](text) : undefined
    if (value !== undefined) values[name] = value
    else faults.push(schema ? faultOf(name, schema) : { name, code: 'VALIDATION_ERROR', message: 'is no filter' })
  }
  return { values, faults }
}

type Parameter = TSchema & FieldOptions & { [DECODE]: (text: string) => unknown }

function faultOf(name: string, { code = 'VALIDATION_ERROR', fault = 'is not valid' }: Parameter): ParameterFault {
  return { name, code, message: fault }
}

/** Query parameters; unknown ones are dropped, so that what is left decides the answer (`cursor.ts`). */
export function query<T extends TProperties>(parameters: T) {
  const names = Object.keys(parameters)
  return Type.Transform(Type.Object(parameters, { additionalProperties: true }))
    .Decode((value) => onlyNamed(value, names))
    .Encode((value) => value)
}

/**
 * As `query`, and what is given for `custom.<key>` becomes `custom`, an object of texts by their keys. The command
 * checks them.
 */
export function queryWithCustom<T extends TProperties>(parameters: T) {
  const names = [...Object.keys(parameters), CUSTOM]
  type Parameters = T & { custom: TOptional<TUnsafe<Record<string, string>>> }
  return Type.Transform(Type.Object(parameters as Parameters, { additionalProperties: true }))
    .Decode((value) => onlyNamed({ ...value, [CUSTOM]: customOf(value) }, names))
    .Encode((value) => value)
}

const CUSTOM = 'custom'

function onlyNamed<T extends object>(value: T, names: string[]): T {
  const given = value as Record<string, unknown>
  const known = names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]])
  return Object.fromEntries(known) as T
}

/** Gathers `custom.<key>`, unless the value was decoded before. A text of the name `custom` is no filter. */
function customOf(value: Record<string, unknown>): Record<string, string> | undefined {
  if (typeof value.custom === 'object') return value.custom as Record<string, string>
  const parameters = Object.entries(value).filter(([name]) => name.startsWith(`${CUSTOM}.`))
  if (parameters.length === 0) return undefined
  return Object.fromEntries(parameters.map(([name, text]) => [name.slice(CUSTOM.length + 1), String(text)]))
}
