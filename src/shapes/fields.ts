/** Shapes that all sections share; those of queries are in `query.ts`. Bodies are checked by TypeBox kinds of our own that know the rules of decisions.md. */
import {
  FormatRegistry,
  Kind,
  type Static,
  type TProperties,
  type TSchema,
  Type,
  TypeRegistry,
} from '@sinclair/typebox'
import { config } from '../config'
import type { ErrorCode } from '../errors'
import { isDay, timeOf } from './time'

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

/** Rules of schemas, by number: a schema is copied and printed as JSON, a function in it would be lost. */
const rules: Rule[] = []

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
