/**
 * Types of the API in TypeScript, made from its document: `Schemas` by name, `Webhooks` by event, and `paths` as
 * openapi-fetch wants them. openapi-typescript makes the same, but prints with the compiler, which takes 23 MB; the
 * tests compile clients with both.
 */
import { mapValues, type Parameter, type Schema } from './documented-schemas'

type Reply = { $ref?: string; content?: Content }
type Content = Record<string, { schema?: Schema }>
type Operation = {
  summary: string
  description: string
  deprecated?: boolean
  parameters: (Parameter | { $ref: string })[]
  requestBody?: { content: Content; required?: boolean }
  responses: Record<string, Reply>
}
/** The parts of the document that become types. */
export type TypedDocument = {
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, { post: { requestBody: { content: Content } } }>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Reply>
    parameters: Record<string, Parameter>
  }
}

type Field = { name: string; type: string; is_required?: boolean; comment?: unknown; is_deprecated?: unknown }

/** Writes the types of a document. */
export function clientTypes({ paths, webhooks, components }: TypedDocument): string {
  const { schemas, responses, parameters } = components
  const types: [name: string, comment: string, members: Record<string, string>][] = [
    ['Schemas', "Objects by the names of the API's document.", mapValues(schemas, typeOf)],
    ['Webhooks', 'Bodies of webhooks by event.', mapValues(webhooks, ({ post }) => jsonType(post.requestBody.content))],
    ['Replies', 'Errors that operations share.', mapValues(responses, replyType)],
  ]
  const operations = Object.entries(paths).map(([path, methods]) => ({
    name: path,
    type: objectOf(
      Object.entries(methods).map(([method, operation]) => ({
        name: method,
        type: operationType(operation, parameters),
        comment: `${operation.summary}. ${operation.description}`,
        is_deprecated: operation.deprecated,
      })),
    ),
  }))
  return [
    ...types.map(([name, comment, members]) => {
      const fields = Object.entries(members).map(([member, type]) => ({ name: member, type }))
      return `/** ${comment} */\nexport type ${name} = ${objectOf(fields)}\n`
    }),
    `/** Operations by path and method. */\nexport type paths = ${objectOf(operations)}\n`,
  ].join('\n')
}

function operationType(
  { parameters, requestBody, responses }: Operation,
  shared: TypedDocument['components']['parameters'],
) {
  const all = parameters.map((one) => ('$ref' in one ? shared[lastOf(one.$ref)]! : one))
  const places = [...new Set(all.map((one) => one.in))].map((place) => {
    const fields = all.filter((one) => one.in === place).map(parameterField)
    return { name: place, type: objectOf(fields), is_required: fields.some(({ is_required }) => is_required) }
  })
  const replies = Object.entries(responses).map(([status, reply]) => ({ name: status, type: replyType(reply) }))
  return objectOf([
    { name: 'parameters', type: objectOf(places) },
    ...(requestBody
      ? [{ name: 'requestBody', type: contentType(requestBody.content), is_required: requestBody.required !== false }]
      : []),
    { name: 'responses', type: objectOf(replies) },
  ])
}

function parameterField({ name, required = false, description, schema }: Parameter): Field {
  return { name, type: typeOf(schema), is_required: required, comment: description }
}

function replyType({ $ref, content }: Reply): string {
  if ($ref) return `Replies[${quoted(lastOf($ref))}]`
  return content ? contentType(content) : objectOf([{ name: 'content', type: 'never', is_required: false }])
}

function contentType(content: Content): string {
  const media = Object.entries(content).map(([name, { schema }]) => ({
    name,
    type: schema ? typeOf(schema) : 'unknown',
  }))
  return objectOf([{ name: 'content', type: objectOf(media) }])
}

function jsonType(content: Content): string {
  return typeOf(content['application/json']!.schema!)
}

function typeOf(schema: Schema): string {
  const { $ref, type, anyOf, allOf } = schema as { $ref?: string; type?: unknown; anyOf?: Schema[]; allOf?: Schema[] }
  if ($ref) return `Schemas[${quoted(lastOf($ref))}]`
  if (anyOf) return either(anyOf.map(typeOf))
  if (allOf) return allOf.map((one) => grouped(typeOf(one))).join(' & ')
  if ('const' in schema) return literal(schema.const)
  if (Array.isArray(schema.enum)) return either(schema.enum.map(literal))
  if (Array.isArray(type)) return either(type.map((one) => typeOf({ ...schema, type: one })))
  if (type === 'array') return `${grouped(typeOf((schema.items as Schema | undefined) ?? {}))}[]`
  if (type === 'object') return objectType(schema)
  if (type === 'integer') return 'number'
  if (type === 'string') return schema.format === 'binary' ? 'Blob' : 'string'
  return typeof type === 'string' ? type : 'unknown'
}

/**
 * Bodies may have fields that nobody reads: the document says `true` of them. Here a misspelt field is an error. A
 * schema of other fields, also an empty one, is for those who read them.
 */
function objectType({ properties = {}, required = [], additionalProperties: others }: Schema): string {
  const fields = Object.entries(properties as Record<string, Schema>).map(([name, schema]) => ({
    name,
    type: typeOf(schema),
    is_required: (required as string[]).includes(name),
    comment: schema.description,
  }))
  const rest = typeof others === 'object' ? typeOf(others as Schema) : undefined
  if (fields.length === 0) return `{ [name: string]: ${rest ?? 'unknown'} }`
  return rest ? `${objectOf(fields)} & { [name: string]: ${rest} }` : objectOf(fields)
}

function objectOf(fields: Field[]): string {
  const lines = fields.map(({ name, type, is_required = true, comment, is_deprecated }) => {
    const words = [comment, is_deprecated && '@deprecated'].filter(Boolean).join(' ')
    const told = words ? `/** ${words.replaceAll('*/', '*\\/')} */\n` : ''
    const key = /^(?:[a-z_]\w*|\d+)$/i.test(name) ? name : quoted(name)
    return `${told}${key}${is_required ? '' : '?'}: ${type}`.replace(/^/gm, '  ')
  })
  return `{\n${lines.join('\n')}\n}`
}

function either(types: string[]): string {
  return [...new Set(types)].map(grouped).join(' | ')
}

/** In brackets where it is more than a name, a word or an object. */
function grouped(type: string): string {
  return /^[^|&]*$|^{[^{}]*}$/.test(type) ? type : `(${type})`
}

function literal(value: unknown): string {
  return typeof value === 'string' ? quoted(value) : JSON.stringify(value)
}

function lastOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`
}
