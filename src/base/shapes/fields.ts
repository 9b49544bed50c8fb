/**
 * Fields of bodies and paths. Texts, words and days are TypeBox kinds of this file, because lengths count in code
 * points after trimming and a field's fault has its own code and sentence: JSON Schema can say none of this.
 */
import { Kind, type TProperties, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'
import { codePoints, isOneLine } from '../address/characters'
import { ZERO_ID } from '../db/columns'
import type { ErrorCode, Fault } from '../errors'
import { isUuid } from './ids'
import { isDay, timeOf } from './time'

/** Options of a field beyond JSON Schema: its own error codes and the sentence for its fault. */
export type FieldOptions = {
  /** The code when the value is there and wrong; without it VALIDATION_ERROR. */
  code?: ErrorCode
  /** The code when a required value is missing; without it VALIDATION_ERROR. */
  missing_code?: ErrorCode
  /** The code when an id names nothing: for the documentation, since the command finds it. */
  not_found?: ErrorCode
  /** The fault, in a sentence for `details.errors`. */
  fault?: string
  description?: string
  /** The permission that the field needs besides that of its route, or `member`: the command asks for it. */
  'x-needs'?: string
}

type Rule = (text: string) => boolean

/** A fault with the code of its field. */
export type CodedFault = Fault & { code: ErrorCode }

/** Judges fields of a body that only have a meaning together. @returns the faults */
type WholeRule = (given: Record<string, unknown>) => CodedFault[]

/** Gives what counts for the length of a text. */
type Measured = (text: string) => string

type TextOptions = FieldOptions & { min?: number; max: number; trim?: boolean; rule?: Rule; measured?: Measured }

/** The key of a schema's rule. TypeBox copies what stands under a symbol, and JSON leaves it out. */
const RULE = Symbol('rule')
const WHOLE = Symbol('whole')
const MEASURED = Symbol('measured')

type TextSchema = TSchema & { trim: boolean; min: number; max: number; [RULE]?: Rule; [MEASURED]?: Measured }

TypeRegistry.Set<TextSchema>('Text', (schema, value) => {
  if (typeof value !== 'string') return false
  if (!hasLength(schema, value)) return false
  return schema[RULE]?.(schema.trim ? value.trim() : value) ?? true
})

/**
 * A text with limits in code points, trimmed unless `trim: false`. `measured` leaves out what does not count. `rule`
 * judges its form; a fault of the form has the field's `code`, a fault of the length is always VALIDATION_ERROR
 * (`http/pipeline/error-answers.ts`).
 */
export function text(options: TextOptions) {
  const { min = 0, max, trim = true, rule, measured, ...rest } = options
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
    ...(rule && { [RULE]: rule }),
    ...(measured && { [MEASURED]: measured }),
    ...rest,
  })
  if (!trim) return wire
  return Type.Transform(wire)
    .Decode((value) => value.trim())
    .Encode((value) => value)
}

/** The length that `text` allows, as the schema keeps it; a text or null has it in a branch. */
export type LengthLimits = {
  length_fault?: string
  min?: number
  max?: number
  trim?: boolean
  anyOf?: LengthLimits[]
  [MEASURED]?: Measured
}

function hasLength({ min = 0, max = 0, trim, [MEASURED]: measured }: LengthLimits, value: string): boolean {
  const trimmed = trim ? value.trim() : value
  const text = measured ? measured(trimmed) : trimmed
  if (text.length > max * 2) return false
  const length = codePoints(text)
  return length >= min && length <= max
}

/** Says what is wrong with the length of a text; undefined when it is right, or when the schema limits none. */
export function lengthFault(schema: LengthLimits, value: unknown): string | undefined {
  const field = schema.anyOf?.find((branch) => branch.length_fault) ?? schema
  if (!field.length_fault || typeof value !== 'string') return undefined
  return hasLength(field, value) ? undefined : field.length_fault
}

/** The name of a person or an organization, which stands in one line of letters and mail: no control characters. */
export function nameInput(options: Pick<FieldOptions, 'description'> = {}) {
  return text({ min: 1, max: 255, rule: isOneLine, fault: 'must be text without control characters', ...options })
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

TypeRegistry.Set<TSchema & { words: string[] }>('Words', (schema, value) => {
  const given = [value].flat()
  return given.length > 0 && given.every((word) => schema.words.includes(word as string))
})

/** One or more of a fixed list of words: a word, or a list of them. */
export function someOf<const Words extends readonly string[]>(words: Words, options: FieldOptions = {}) {
  const word = { type: 'string', enum: [...words] }
  return Type.Unsafe<Words[number] | Words[number][]>({
    [Kind]: 'Words',
    words,
    anyOf: [word, { type: 'array', items: word, minItems: 1 }],
    fault: `must be one of ${words.join(', ')}, or a list of them`,
    ...options,
  })
}

/** A yes or no: JSON true or false, never their names as strings. */
export const flag = (options: FieldOptions = {}) => Type.Boolean({ fault: 'must be true or false', ...options })

/** A whole number of minutes, at most a year. */
export function minutesInput(options: FieldOptions = {}, minimum: 0 | 1 = 1) {
  const maximum = 525_600
  const fault = `must be a whole number of minutes from ${minimum} to ${maximum}`
  return Type.Integer({ minimum, maximum, fault, ...options })
}

TypeRegistry.Set<TSchema>('Day', (_schema, value) => typeof value === 'string' && isDay(value))

/** A day. Not a format of TypeBox's registry: the libraries that make the documentation put theirs in its place. */
export function dayInput(options: FieldOptions = {}) {
  const fault = 'must be a date, such as 2026-01-31'
  return Type.Unsafe<string>({ [Kind]: 'Day', type: 'string', format: 'date', fault, ...options })
}

export const INSTANT_FAULT = 'must be a time with offset, such as 2026-01-31T09:00:00Z'

/** A time with offset (RFC 3339), which `timeOf` reads. */
export function instantInput(options: FieldOptions = {}) {
  const rule = (value: string) => timeOf(value.trim()) !== undefined
  return text({ max: 64, rule, fault: INSTANT_FAULT, ...options })
}

/** A field that may also be null, with the codes and the fault of its schema. */
export function nullable<T extends TSchema>(schema: T, options: FieldOptions = {}) {
  const { code, missing_code, fault, description, 'x-needs': needs } = { ...(schema as FieldOptions), ...options }
  return Type.Union([schema, Type.Null()], {
    ...(code && { code }),
    ...(missing_code && { missing_code }),
    ...(fault && { fault: `${fault}, or null` }),
    ...(description && { description }),
    ...(needs && { 'x-needs': needs }),
  })
}

export const optional = Type.Optional

/** An id: any string. One that is no UUID names nothing and gets the answer of an unknown id. */
export const IdInput = (options: FieldOptions = {}) => Type.String({ fault: 'must be an id', ...options })

/** A list of ids, at most 50. */
export const IdsInput = (options: FieldOptions & { maxItems?: number } = {}) =>
  Type.Array(Type.String({ fault: 'must be an id' }), {
    maxItems: 50,
    fault: 'must be a list of at most 50 ids',
    ...options,
  })

/**
 * The body of a create or an update: unknown fields are dropped, the others come in the order of `fields`.
 * @param options `whole` judges what no field can judge alone
 */
export function body<T extends TProperties>(
  fields: T,
  options: Pick<FieldOptions, 'description' | 'x-needs'> & { whole?: WholeRule } = {},
) {
  const names = Object.keys(fields)
  const { whole, ...others } = options
  const model = { additionalProperties: true, ...others, ...(whole && { [WHOLE]: whole }) }
  return Type.Transform(Type.Object(fields, model))
    .Decode((value) => {
      const given = value as Record<string, unknown>
      const known = names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]])
      return Object.fromEntries(known) as typeof value
    })
    .Encode((value) => value)
}

/** The faults of a body as a whole, whose model may have a rule for it. */
export function wholeFaults(model: TSchema, given: unknown): CodedFault[] {
  const rule = (model as TSchema & { [WHOLE]?: WholeRule })[WHOLE]
  return rule && typeof given === 'object' && given !== null ? rule(given as Record<string, unknown>) : []
}

/**
 * An id in a path. A string that is no UUID becomes an id that no row has, so that it gets the answer of an unknown id.
 */
const PathId = Type.Transform(Type.String({ description: 'Id (UUID)' }))
  .Decode((value) => (isUuid(value) ? value.toLowerCase() : ZERO_ID))
  .Encode((value) => value)

/** Path parameters of the given names. */
export function path<const Names extends readonly string[]>(...names: Names) {
  type Ids = { [Name in Names[number]]: typeof PathId }
  return Type.Object(Object.fromEntries(names.map((name) => [name, PathId])) as Ids)
}
