/**
 * Turns what TypeBox finds wrong in a body, a query or parameters into one 422. `details.errors` lists all faults. The
 * code is that of the first wrong field, in the order in which the model declares its fields.
 */
import type { TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { ValueErrorType } from '@sinclair/typebox/errors'
import { ValidationError } from 'elysia'
import { config } from '../../base/config'
import { ApiError, ERRORS, type ErrorCode } from '../../base/errors'
import { type CodedFault, type LengthLimits, lengthFault, wholeFaults } from '../../base/shapes/fields'

/** The most faults that one answer lists. */
export const MOST_FAULTS = 100
/** The fields of an answer that are named: one fault of ours is often in each row of a list. */
const MOST_BROKEN = 5
/** Items of a list that are judged although it has too many: 9,900 networks take 0.2 s of a processor. */
const MOST_ITEMS = 1000

type FieldSchema = Omit<LengthLimits, 'anyOf'> & {
  code?: ErrorCode
  missing_code?: ErrorCode
  fault?: string
  anyOf?: FieldSchema[]
  properties?: Record<string, unknown>
  patternProperties?: Record<string, unknown>
}

type RawFault = {
  type: ValueErrorType
  path: string
  value: unknown
  message: string
  schema: unknown
  /** For a union: what each of its branches finds. */
  errors: Iterable<RawFault>[]
}

type Validator = { schema?: FieldSchema; Errors(value: unknown): Iterable<RawFault> }

/** A field of an answer that its model does not allow: the type of what is there, and what was expected. */
type BrokenField = { path: string; type: string; message: string; value?: unknown }

type FieldFault = CodedFault & { position: number }

/** Returns the 422; 400 when a route needs a body and the request has none. */
export function toValidationError(error: ValidationError): ApiError {
  if (error.type === 'body' && error.value === undefined) return new ApiError('BAD_REQUEST')
  const validator = error.validator as Validator
  const prefix = error.type === 'body' ? '' : `/${error.type}`
  return invalid(validator.Errors(error.value), validator.schema, prefix)
}

/**
 * Tells where an answer breaks its own model; undefined for every other error. The value may tell of a person, so it is
 * there only under test.
 */
export function brokenFields(error: unknown): BrokenField[] | undefined {
  if (!(error instanceof ValidationError) || error.type !== 'response') return undefined
  const fields: BrokenField[] = []
  for (const { path, value, message } of inFields((error.validator as Validator).Errors(error.value))) {
    fields.push({ path, type: typeOf(value), message, ...(config.CHECK_RESPONSES && { value }) })
    if (fields.length === MOST_BROKEN) break
  }
  return fields
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value !== 'object') return typeof value
  return value.constructor?.name.toLowerCase() ?? 'object'
}

/**
 * Judges a body before Elysia does, whose error writes the whole value into a message, several times: 0.5 s for 8 MB.
 * @returns the 422, or undefined for a body that the model accepts
 */
export function judgeBody(model: TSchema, value: unknown): ApiError | undefined {
  const checker = checkers.get(model) ?? TypeCompiler.Compile(model)
  checkers.set(model, checker)
  const whole = wholeFaults(model, value)
  if (checker.Check(value) && whole.length === 0) return undefined
  return invalid(checker.Errors(value), model as FieldSchema, '', whole)
}

/** By model, each compiled when its first body comes. */
const checkers = new WeakMap<TSchema, TypeCheck<TSchema>>()

function invalid(found: Iterable<RawFault>, schema: FieldSchema = {}, prefix = '', whole: CodedFault[] = []): ApiError {
  const order = Object.keys(schema.properties ?? {})
  const faults = new Map<string, FieldFault>()
  for (const fault of inFields(found)) {
    if (faults.size >= MOST_FAULTS) break
    if (!faults.has(fault.path)) faults.set(fault.path, toFault(fault, order))
    if (fault.type === ValueErrorType.ArrayMaxItems && (fault.value as unknown[]).length > MOST_ITEMS) break
  }
  for (const fault of whole) {
    if (!faults.has(fault.path)) faults.set(fault.path, { ...fault, position: positionOf(fault.path, order) })
  }
  const sorted = [...faults.values()].sort((a, b) => a.position - b.position)
  const errors = sorted.map(({ path, message }) => ({ path: prefix + path, message }))
  return new ApiError(sorted[0]?.code ?? 'VALIDATION_ERROR', { errors }, 422)
}

/** Yields the faults of single fields: an object that may also be null is judged by its fields. */
function* inFields(faults: Iterable<RawFault>): Iterable<RawFault> {
  for (const fault of faults) {
    const is_object = typeof fault.value === 'object' && fault.value !== null
    const branches = (fault.schema as FieldSchema).anyOf ?? []
    const branch = branches.findIndex(({ properties, patternProperties }) => properties ?? patternProperties)
    if (fault.type === ValueErrorType.Union && is_object && branch >= 0) yield* inFields(fault.errors[branch] ?? [])
    else yield fault
  }
}

function positionOf(path: string, order: string[]): number {
  return order.indexOf(path.split('/')[1] ?? '')
}

function toFault({ type, path, value, schema: raw }: RawFault, order: string[]): FieldFault {
  const schema = raw as FieldSchema
  const position = positionOf(path, order)
  if (type === ValueErrorType.ObjectRequiredProperty) {
    return { path, position, code: schema.missing_code ?? 'VALIDATION_ERROR', message: 'is required' }
  }
  // A text of the wrong length is a VALIDATION_ERROR; the field's own code is for its format.
  const length_fault = lengthFault(schema, value)
  if (length_fault) return { path, position, code: 'VALIDATION_ERROR', message: length_fault }
  const is_count = type === ValueErrorType.ArrayMaxItems || type === ValueErrorType.ArrayMinItems
  const code = is_count ? 'VALIDATION_ERROR' : (schema.code ?? 'VALIDATION_ERROR')
  const message = schema.fault ?? (schema.code && ERRORS[schema.code][1]) ?? schema.length_fault ?? 'is not valid'
  return { path, position, code, message }
}
