/** Schemas of the OpenAPI document: those of the models, without what only this service understands. */

/**
 * Keywords of JSON Schema. The models have more of their own (rules, texts of faults, error codes): clients need none.
 */
const KEYWORDS = new Set([
  ...['$ref', 'title', 'description', 'examples', 'default', 'type', 'enum', 'const', 'format', 'pattern', 'required'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['properties', 'patternProperties', 'additionalProperties', 'items', 'anyOf', 'oneOf', 'allOf', 'uniqueItems'],
  // An extension, for those who show only what a caller may do.
  'x-needs',
])

export type Schema = Record<string, unknown>
export type Content = Record<string, { schema?: Schema }>
export type Parameter = { name: string; in: string; required?: boolean; description?: string; schema: Schema }

/** Documents a parameter: its description stands beside its schema, not in it. */
export function toParameter({ schema, ...parameter }: Parameter) {
  const { description, ...rest } = toSchema(schema)
  return { ...parameter, ...(description !== undefined && { description }), schema: rest }
}

/** Documents a body by its media types. */
export function toContent(content: Content): Content {
  return mapValues(content, (media) => (media.schema ? { ...media, schema: toSchema(media.schema) } : media))
}

/** Documents a model: with the keywords of JSON Schema alone. */
export function toSchema(model: Schema): Schema {
  const schema = withNullAsType(model)
  const known = Object.entries(schema).filter(
    ([keyword, value]) =>
      value !== undefined && KEYWORDS.has(keyword) && !(keyword === 'additionalProperties' && schema.patternProperties),
  )
  return Object.fromEntries(
    known.map(([keyword, value]) => {
      if (keyword === 'properties') return [keyword, mapValues(value as Record<string, Schema>, toSchema)]
      // Generators of clients do not know names with a pattern.
      if (keyword === 'patternProperties') return ['additionalProperties', toSchema(Object.values(value as object)[0])]
      const is_schema = keyword === 'items' || (keyword === 'additionalProperties' && typeof value === 'object')
      if (is_schema) return [keyword, toSchema(value as Schema)]
      if (keyword === 'enum' && Array.isArray(schema.type) && schema.type.includes('null')) {
        return [keyword, [...(value as unknown[]), null]]
      }
      return [keyword, keyword.endsWith('Of') ? (value as Schema[]).map(toSchema) : value]
    }),
  )
}

/** Writes a choice between one type and null as a list of types. */
function withNullAsType(schema: Schema): Schema {
  const { anyOf = [], ...rest } = schema as { anyOf?: Schema[] }
  const [choice, ...more] = anyOf.filter(({ type }) => type !== 'null')
  if (anyOf.length !== 2 || more.length > 0 || typeof choice?.type !== 'string') return schema
  return { ...rest, ...choice, type: [choice.type, 'null'] }
}

/** Changes every value of a record. */
export function mapValues<T, U>(record: Record<string, T>, change: (value: T, key: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))
}
