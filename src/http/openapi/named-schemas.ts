/**
 * Names of models in the document. Generators of clients name types by them: where a model stands, a reference to it is
 * put. Models are found by their form, because they are composed, copied and made nullable on their way here.
 */
import { Kind, type TSchema } from '@sinclair/typebox'
import { mapValues, type Schema, toSchema } from './documented-schemas'

/** Keywords whose values are no schemas. */
const VALUES = new Set(['examples', 'example', 'enum', 'const', 'default', 'required'])

/** Makes references in a document, and collects the schemas that they name. */
export class NamedSchemas {
  readonly #known = new Map<string, { name: string; description: unknown }>()
  readonly #used: Record<string, Schema> = {}

  /** @param models what modules of models export; what is no model of an object is left out */
  constructor(models: Record<string, unknown>) {
    for (const [name, model] of Object.entries(models)) {
      if (!isObjectModel(model)) continue
      const schema = toSchema(model)
      const form = formOf(schema)
      if (!this.#known.has(form)) this.#known.set(form, { name, description: schema.description })
    }
  }

  /** Puts references in the place of what has a name, at any depth. */
  refer<T>(value: T): T {
    if (Array.isArray(value)) return value.map((one) => this.refer(one)) as T
    if (typeof value !== 'object' || value === null) return value
    const schema = mapValues(value as Schema, (inner, key) => (VALUES.has(key) ? inner : this.refer(inner)))
    const known = 'properties' in value ? this.#known.get(formOf(value as Schema)) : undefined
    if (!known) return schema as T
    const { name, description } = known
    this.#used[name] ??= { ...schema, type: 'object', description }
    const ref = { $ref: `#/components/schemas/${name}` }
    const own = schema.description !== description && { description: schema.description }
    return { ...(schema.type === 'object' ? ref : { anyOf: [ref, { type: 'null' }] }), ...own } as T
  }

  /** Adds a schema that refers to others. @returns a reference to it */
  add(name: string, schema: Schema): { $ref: string } {
    this.#used[name] = this.refer(schema)
    return { $ref: `#/components/schemas/${name}` }
  }

  /** Lists what was referred to, by name. */
  schemas(): Record<string, Schema> {
    return Object.fromEntries(Object.entries(this.#used).sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

function isObjectModel(model: unknown): model is TSchema {
  if (typeof model !== 'object' || model === null || !(Kind in model)) return false
  const { type, properties = {} } = model as TSchema
  return type === 'object' && Object.keys(properties).length > 0
}

/** Writes a schema of an object so that the same fields give the same text, whatever it is told to be. */
function formOf({ description, ...schema }: Schema): string {
  return JSON.stringify({ ...schema, type: 'object' }, (_, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}
