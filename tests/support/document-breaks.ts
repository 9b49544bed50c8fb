/**
 * Names all that a client of one OpenAPI document cannot rely on with another one. Fields, words of a list, codes and
 * operations may be added, as the guide says.
 */
import { inlined } from './openapi'

type Schema = {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  format?: string
  pattern?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema | boolean
  anyOf?: Schema[]
}
type Limits = Record<(typeof LEAST | typeof MOST)[number], number | undefined>
type Content = Record<string, { schema?: Schema }>
type Parameter = { $ref?: string; name: string; in: string; required?: boolean; schema: Schema }
type Reply = { $ref?: string; content?: Content }
type Operation = {
  security?: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, Reply>
}
export type Document = {
  paths: Record<string, Record<string, Operation>>
  components: {
    responses: Record<string, Reply>
    parameters: Record<string, Parameter>
    schemas?: Record<string, Schema>
  }
}

const LEAST = ['minimum', 'minLength', 'minItems'] as const
const MOST = ['maximum', 'maxLength', 'maxItems'] as const

/** Compares what a client sends, or what it gets. */
type Way = 'sent' | 'got'
type Faults = string[]

/** Names each break as `METHOD path: place: what`. */
export function breaksBetween(before: Document, after: Document): string[] {
  const [old, present] = [inlined(before), inlined(after)]
  return Object.entries(old.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const now = present.paths[path]?.[method]
      const faults = now ? operationFaults(resolved(operation, old), resolved(now, present)) : ['the operation is gone']
      return faults.map((fault) => `${method.toUpperCase()} ${path}: ${fault}`)
    }),
  )
}

function resolved(operation: Operation, { components }: Document): Required<Operation> {
  const nameOf = ($ref: string) => $ref.slice($ref.lastIndexOf('/') + 1)
  const { parameters = [], responses, security = [{ bearer: [] }] } = operation
  return {
    security,
    parameters: parameters.map((one) => (one.$ref ? components.parameters[nameOf(one.$ref)]! : one)),
    requestBody: operation.requestBody ?? { required: false, content: {} },
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, one]) => [
        status,
        one.$ref ? components.responses[nameOf(one.$ref)]! : one,
      ]),
    ),
  }
}

function operationFaults(old: Required<Operation>, now: Required<Operation>): Faults {
  return [
    ...securityFaults(old, now),
    ...parameterFaults(old.parameters, now.parameters),
    ...(now.requestBody.required !== false && old.requestBody.required === false ? ['body: must be there'] : []),
    ...contentFaults(old.requestBody.content, now.requestBody.content, 'sent', 'body'),
    ...Object.entries(old.responses).flatMap(([status, reply]) => {
      const other = now.responses[status]
      const is_error = status >= '400'
      if (!other) return is_error ? codesOf(reply).map((code) => gone(status, code)) : [`${status}: is gone`]
      if (!is_error) return contentFaults(reply.content ?? {}, other.content ?? {}, 'got', status)
      const codes = codesOf(other)
      return codesOf(reply).flatMap((code) => (codes.includes(code) ? [] : [gone(status, code)]))
    }),
  ]
}

function gone(status: string, code: unknown): string {
  return `${status}: ${code} is gone`
}

/** Each way in stays, and needs no further permission. */
function securityFaults(old: Required<Operation>, now: Required<Operation>): Faults {
  return old.security.flatMap((way) => {
    const [scheme] = Object.keys(way)
    const other = now.security.find((one) => Object.keys(one)[0] === scheme)
    if (!other) return [`security: ${scheme ?? 'nobody'} is refused`]
    const more = scheme ? other[scheme]!.filter((permission) => !way[scheme]!.includes(permission)) : []
    return more.map((permission) => `security: needs ${permission}`)
  })
}

function parameterFaults(old: Parameter[], now: Parameter[]): Faults {
  const at = (one: Parameter) => `${one.in} ${one.name}`
  const faults = old.flatMap((one) => {
    const other = now.find((other) => at(other) === at(one))
    return other ? schemaFaults(one.schema, other.schema, 'sent', at(one)) : [`${at(one)}: is gone`]
  })
  const must = now.filter((one) => one.required && !old.find((other) => at(other) === at(one))?.required)
  return [...faults, ...must.map((one) => `${at(one)}: must be there`)]
}

function contentFaults(old: Content, now: Content, way: Way, at: string): Faults {
  return Object.entries(old).flatMap(([type, { schema }]) => {
    const other = now[type]
    if (!other) return [`${at}: ${type} is gone`]
    return schema && other.schema ? schemaFaults(schema, other.schema, way, at) : []
  })
}

/** Codes that a reply names, in whatever form. */
function codesOf({ content }: Reply): unknown[] {
  const { error } = content?.['application/json']?.schema?.properties ?? {}
  return error?.properties?.code?.enum ?? []
}

/** Each form of a value that is sent must be taken; each form that is got must be known. */
function schemaFaults(old: Schema, now: Schema, way: Way, at: string): Faults {
  const [from, to] = [formsOf(old), formsOf(now)]
  const [asked, known] = way === 'sent' ? [from, to] : [to, from]
  return asked.flatMap((form) => {
    const alike = known.filter(({ type }) => type === form.type || type === 'any' || `${form.type} ${type}` === INTO)
    const tries = alike.map((one) => (way === 'sent' ? formFaults(form, one, way, at) : formFaults(one, form, way, at)))
    if (tries.length === 0) return [`${at}: ${way === 'sent' ? 'takes no' : 'may be'} ${form.type}`]
    return tries.reduce((best, one) => (one.length < best.length ? one : best))
  })
}

const INTO = 'integer number'

type Form = Omit<Schema, 'type' | 'anyOf'> & { type: string } & Partial<Limits>

/** A schema as forms of one type each. */
function formsOf({ anyOf, ...schema }: Schema): Form[] {
  if (anyOf) return anyOf.flatMap((one) => formsOf({ ...schema, ...one }))
  const words = schema.enum ?? ('const' in schema ? [schema.const] : undefined)
  const types = schema.type ? [schema.type].flat() : words ? [...new Set(words.map(typeOf))] : ['any']
  return types.map((type) => {
    const own = words?.filter((word) => typeOf(word) === type)
    return type === 'null' ? { type } : { ...schema, type, enum: own }
  })
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : typeof value
}

function formFaults(old: Form, now: Form, way: Way, at: string): Faults {
  if (now.type === 'any' || old.type === 'any') return []
  const faults = way === 'sent' ? narrowed(old, now) : widened(old, now)
  return [
    ...faults.map((fault) => `${at}: ${fault}`),
    ...fieldFaults(old, now, way, at),
    ...(old.items && now.items ? schemaFaults(old.items, now.items, way, `${at}/-`) : []),
    ...(typeof old.additionalProperties === 'object' && typeof now.additionalProperties === 'object'
      ? schemaFaults(old.additionalProperties, now.additionalProperties, way, `${at}/*`)
      : []),
  ]
}

function narrowed(old: Form, now: Form): Faults {
  const refused = old.enum?.filter((word) => now.enum && !now.enum.includes(word)) ?? []
  const raised = LEAST.filter((name) => (now[name] ?? 0) > (old[name] ?? 0))
  const lowered = MOST.filter((name) => (now[name] ?? Infinity) < (old[name] ?? Infinity))
  return [
    ...refused.map((word) => `takes no ${JSON.stringify(word)}`),
    ...(now.enum && !old.enum ? ['takes only words of a list'] : []),
    ...(now.format && now.format !== old.format ? [`must be ${now.format}`] : []),
    ...(now.pattern && now.pattern !== old.pattern ? [`must match ${now.pattern}`] : []),
    ...[...raised, ...lowered].map((name) => `${name} is ${now[name]}`),
  ]
}

function widened(old: Form, now: Form): Faults {
  return [
    ...(old.enum && !now.enum ? ['may be other than the words of its list'] : []),
    ...(old.format && now.format !== old.format ? [`is no ${old.format}`] : []),
  ]
}

function fieldFaults(old: Form, now: Form, way: Way, at: string): Faults {
  const { properties = {}, required = [] } = old
  const { properties: present = {}, required: must = [] } = now
  const faults = Object.entries(properties).flatMap(([name, schema]) => {
    const other = present[name]
    const place = `${at}/${name}`
    if (!other) return [`${place}: is gone`]
    const is_doubtful = way === 'got' && required.includes(name) && !must.includes(name)
    return [...(is_doubtful ? [`${place}: may be missing`] : []), ...schemaFaults(schema, other, way, place)]
  })
  const asked = way === 'sent' ? must.filter((name) => !required.includes(name)) : []
  return [...faults, ...asked.map((name) => `${at}/${name}: must be there`)]
}
