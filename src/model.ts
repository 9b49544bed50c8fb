/** Shapes that all sections share. Bodies are checked by TypeBox kinds of our own that know the rules of decisions.md. */
import {
  FormatRegistry,
  Kind,
  type Static,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
  TypeRegistry,
} from '@sinclair/typebox'
import { config } from './config'
import type { ErrorCode } from './errors'

/** What a field's schema may say besides JSON Schema: its own error codes and the sentence for its fault. */
export type FieldOptions = {
  /** The code when the value is there and wrong; VALIDATION_ERROR when the field has none of its own. */
  code?: ErrorCode
  /** The code when a required value is missing. */
  missing_code?: ErrorCode
  /** What is wrong, in a sentence for `details.errors`. */
  fault?: string
  description?: string
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const NOBODY = '00000000-0000-0000-0000-000000000000'

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Ids of a body or query as they are stored, each once; strings that are no UUID are left out (they are unknown ids). */
export function asIds(texts: string[]): string[] {
  return [...new Set(texts.map((text) => text.toLowerCase()))].filter(isUuid)
}

/** Length as users count it. */
export function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

type Rule = (text: string) => boolean
type TextOptions = FieldOptions & { min?: number; max: number; trim?: boolean; rule?: Rule }
type TextSchema = TSchema & { trim: boolean; min: number; max: number; rule?: number }

/** Rules and decoders of schemas, by number: a schema is copied and printed as JSON, a function in it would be lost. */
const rules: Rule[] = []
const decoders: ((text: string) => unknown)[] = []

TypeRegistry.Set<TextSchema>('Text', (schema, value) => {
  if (typeof value !== 'string') return false
  const text = schema.trim ? value.trim() : value
  if (text.length > schema.max * 2) return false
  const length = codePoints(text)
  if (length < schema.min || length > schema.max) return false
  return schema.rule === undefined || rules[schema.rule]!(text)
})

/**
 * Text with limits in code points, trimmed unless `trim: false`. `rule` judges its form; a fault of the form has the
 * field's `code`, a fault of the length is always VALIDATION_ERROR (`http/errors.ts`).
 */
export function text(options: TextOptions) {
  const { min = 0, max, trim = true, rule, ...rest } = options
  const length_fault = `must be text of ${min > 0 ? `${min} to ${max}` : `at most ${max}`} characters`
  const wire = Type.Unsafe<string>({
    [Kind]: 'Text',
    type: 'string',
    minLength: min,
    maxLength: max,
    min,
    max,
    trim,
    length_fault,
    ...(rule && { rule: rules.push(rule) - 1 }),
    ...rest,
  })
  if (!trim) return wire
  return Type.Transform(wire)
    .Decode((value) => value.trim())
    .Encode((value) => value)
}

TypeRegistry.Set<TSchema & { enum: string[] }>('Word', (schema, value) => schema.enum.includes(value as string))

/** One of a fixed list of words. Never `t.UnionEnum`: it fills an omitted field with the first word. */
export function oneOf<const Words extends readonly string[]>(words: Words, options: FieldOptions = {}) {
  return Type.Unsafe<Words[number]>({
    [Kind]: 'Word',
    type: 'string',
    enum: [...words],
    fault: `must be one of ${words.join(', ')}`,
    ...options,
  })
}

/** A yes or no of a body: JSON true or false, no strings. */
export const flag = (options: FieldOptions = {}) => Type.Boolean({ fault: 'must be true or false', ...options })

/** May also be null. */
export function nullable<T extends TSchema>(schema: T, options: FieldOptions = {}) {
  const { code, missing_code, fault, description } = { ...(schema as FieldOptions), ...options }
  return Type.Union([schema, Type.Null()], {
    ...(code && { code }),
    ...(missing_code && { missing_code }),
    ...(fault && { fault: `${fault}, or null` }),
    ...(description && { description }),
  })
}

export const optional = Type.Optional

/** An id in a body: any string; one that is no UUID names nothing and is answered like an unknown id. */
export const IdInput = (options: FieldOptions = {}) => Type.String({ fault: 'must be an id', ...options })

TypeRegistry.Set<TSchema>('Day', (_schema, value) => typeof value === 'string' && isDay(value))

/** A day of a body. A kind of our own: the documentation's libraries replace the formats of the registry by theirs. */
export function dayInput(options: FieldOptions = {}) {
  const fault = 'must be a date, such as 2026-01-31'
  return Type.Unsafe<string>({ [Kind]: 'Day', type: 'string', format: 'date', fault, ...options })
}

/** Ids in a body, at most 50. */
export const IdsInput = (options: FieldOptions = {}) =>
  Type.Array(Type.String({ fault: 'must be an id' }), {
    maxItems: 50,
    fault: 'must be a list of at most 50 ids',
    ...options,
  })

/** An id in a path. What is no UUID becomes an id that nothing has, so that it answers as an unknown one. */
export const PathId = Type.Transform(Type.String({ description: 'Id (UUID)' }))
  .Decode((value) => (isUuid(value) ? value.toLowerCase() : NOBODY))
  .Encode((value) => value)

/** Path parameters of the given names. */
export function path<const Names extends readonly string[]>(...names: Names) {
  type Ids = { [Name in Names[number]]: typeof PathId }
  return Type.Object(Object.fromEntries(names.map((name) => [name, PathId])) as Ids)
}

// What comes out.

export const Uuid = Type.String({
  format: 'uuid',
  description: 'UUIDv7, lower case',
  examples: ['019c0a3e-5b1c-7d40-9c4e-2f6a1b8d3e57'],
})
/** A time on the wire: ISO 8601, UTC, whole seconds. */
export const Instant = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$',
  description: 'UTC, whole seconds',
  examples: ['2026-01-31T09:00:00Z'],
})
/** What people call a ticket. */
export const TicketCode = Type.String({
  description: "The company's prefix, else the organization's, and a number",
  examples: ['ACME-42'],
})
/** A day on the wire. */
export const Day = Type.String({
  format: 'date',
  pattern: '^\\d{4}-\\d\\d-\\d\\d$',
  description: 'A day, YYYY-MM-DD',
  examples: ['2026-01-31'],
})
/** May also be null; `description` says what the field is, where the schema is shared. */
export const orNull = <T extends TSchema>(schema: T, options: { description?: string } = {}) =>
  Type.Union([{ ...schema, ...options }, Type.Null()])

FormatRegistry.Set('uuid', (value) => UUID.test(value))
FormatRegistry.Set('date-time', (value) => timeOf(value) !== undefined)
FormatRegistry.Set('date', (value) => isDay(value))

/** A single object's answer. */
export function one<T extends TSchema>(schema: T) {
  return unchecked(Type.Object({ data: schema }))
}

/** A list without pages. */
export function list<T extends TSchema>(schema: T) {
  return unchecked(Type.Object({ data: Type.Array(schema) }))
}

export const PageMeta = Type.Object({
  total: Type.Integer({ description: 'Of all pages' }),
  page: Type.Integer({ description: 'From 1' }),
  per_page: Type.Integer({ description: 'At most 100' }),
})
export type PageMeta = Static<typeof PageMeta>

/** A page of a list. */
export function page<T extends TSchema>(schema: T) {
  return unchecked(Type.Object({ data: Type.Array(schema), meta: PageMeta }))
}

/** A list that is paged, with `meta`, only when the request asks for a page. */
export function listOrPage<T extends TSchema>(schema: T) {
  return unchecked(Type.Object({ data: Type.Array(schema), meta: Type.Optional(PageMeta) }))
}

export const NoContent = Type.Undefined({ description: 'No content' })

/** Responses are checked in tests; in production the check would cost more than the answer (limits.md 2.4). */
export function unchecked<T extends TSchema>(schema: T): T {
  return config.CHECK_RESPONSES ? schema : { ...schema, noValidate: true }
}

// Queries: every value arrives as text. Elysia decodes a query twice, so what is no text is taken as decoded already.

TypeRegistry.Set<TSchema & { decoder: number }>('Query', (schema, value) => {
  if (typeof value !== 'string') return value !== undefined
  return isCleanText(value) && decoders[schema.decoder]!(value) !== undefined
})

/**
 * A query parameter.
 * @param schema what the OpenAPI document says of it
 * @param decode the value of the text, undefined when it is wrong
 */
export function queryValue<T>(
  schema: Record<string, unknown>,
  decode: (text: string) => T | undefined,
  options: FieldOptions = {},
) {
  const decoder = decoders.push(decode) - 1
  const wire = Type.Unsafe<string>({ [Kind]: 'Query', ...schema, decoder, ...options })
  const decoded = Type.Transform(wire)
    .Decode((value) => (typeof value === 'string' ? decode(value) : value))
    .Encode(String)
  // Elysia types a transformed field by what it is on the wire; handlers see what it was decoded to.
  return Type.Optional(decoded) as unknown as TOptional<TUnsafe<T>>
}

/** A whole number of a query, as large as a JSON number holds exactly. */
export function queryInteger(min: number, options: FieldOptions = {}) {
  return queryValue(
    { type: 'integer', minimum: min },
    (value) => {
      const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN
      return Number.isSafeInteger(number) && number >= min ? number : undefined
    },
    { fault: `must be a whole number of at least ${min}`, ...options },
  )
}

/** A yes or no of a query: `true` or `false`. */
export function queryFlag(options: FieldOptions = {}) {
  const decode = (value: string) => (value === 'true' ? true : value === 'false' ? false : undefined)
  return queryValue({ type: 'boolean' }, decode, { fault: 'must be true or false', ...options })
}

/** One word of a list in a query. */
export function queryWord<const Words extends readonly string[]>(words: Words, options: FieldOptions = {}) {
  return queryValue(
    { type: 'string', enum: [...words] },
    (value) => words.find((word) => word === value) as Words[number] | undefined,
    { fault: `must be one of ${words.join(', ')}`, ...options },
  )
}

/** An id as a filter: must be a UUID; one that names nothing gives an empty list. */
export function queryId(options: FieldOptions = {}) {
  const decode = (value: string) => (isUuid(value) ? value.toLowerCase() : undefined)
  return queryValue({ type: 'string', format: 'uuid' }, decode, { fault: 'must be a UUID', ...options })
}

/** Comma-separated ids of a query, at most 50. */
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

/** A time of a query: RFC 3339 with offset. Decoded to milliseconds since 1970. */
export function queryInstant(options: FieldOptions = {}) {
  const fault = 'must be a time with offset, such as 2026-01-31T09:00:00Z'
  return queryValue({ type: 'string', format: 'date-time' }, timeOf, { fault, ...options })
}

/** A day of a query. */
export function queryDay(options: FieldOptions = {}) {
  const decode = (value: string) => (isDay(value) ? value : undefined)
  return queryValue({ type: 'string', format: 'date' }, decode, {
    fault: 'must be a date, such as 2026-01-31',
    ...options,
  })
}

/** Text of a query, trimmed, at most 255 characters. */
export function queryText(options: FieldOptions = {}) {
  const decode = (value: string) => (codePoints(value.trim()) <= 255 ? value.trim() : undefined)
  return queryValue({ type: 'string', maxLength: 255 }, decode, {
    fault: 'must be text of at most 255 characters',
    ...options,
  })
}

const MAX_PER_PAGE = 100

/** `page` and `per_page`, as every list takes them. */
export const Paging = {
  page: queryInteger(1, { description: 'Default 1' }),
  per_page: queryInteger(1, { description: 'Default 20; above 100 it is served as 100' }),
}
export type Paging = { page?: number; per_page?: number }

/** The page that a list shows: from `offset`, at most `per_page` rows. */
export function pageOf(query: Paging): { page: number; per_page: number; offset: number } {
  const page = query.page ?? 1
  const per_page = Math.min(query.per_page ?? 20, MAX_PER_PAGE)
  return { page, per_page, offset: Math.min((page - 1) * per_page, Number.MAX_SAFE_INTEGER) }
}

/** Query parameters; unknown ones are ignored. */
export function query<T extends TProperties>(parameters: T) {
  return Type.Object(parameters, { additionalProperties: true })
}

/** The body of a create or an update: unknown fields are dropped, in the interface's order (decisions.md section 2). */
export function body<T extends TProperties>(fields: T, options: { description?: string } = {}) {
  const names = Object.keys(fields)
  return Type.Transform(Type.Object(fields, { additionalProperties: true, ...options }))
    .Decode((value) => {
      const given = value as Record<string, unknown>
      const known = names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]])
      return Object.fromEntries(known) as typeof value
    })
    .Encode((value) => value)
}

/** Text without NUL and lone surrogates, which PostgreSQL and UTF-8 cannot hold. */
export function isCleanText(value: string): boolean {
  return !value.includes('\u0000') && value.isWellFormed()
}

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** Milliseconds since 1970 of a time with offset. A leap second counts as the one after it, as PostgreSQL has it. */
function timeOf(value: string): number | undefined {
  if (!RFC_3339.test(value) || !isDay(value.slice(0, 10))) return undefined
  if (value.slice(17, 19) !== '60') return Date.parse(value)
  const time = Date.parse(`${value.slice(0, 17)}59${value.slice(19)}`) + 1000
  // They end a month of UTC, in whatever offset they are written.
  return /-01T00:00:00/.test(new Date(time).toISOString()) ? time : undefined
}

function isDay(value: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(value) || value < '0001-01-01') return false
  const time = Date.parse(`${value}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value)
}
