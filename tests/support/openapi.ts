/** Compares every answer of a test with `/swagger/json`: an answer that the document does not declare is a failure. */
import Ajv, { type ValidateFunction } from 'ajv/dist/2020'
import addFormats from 'ajv-formats'

type Schema = Record<string, unknown>
type Reply = { $ref?: string; content?: Record<string, { schema?: Schema }> }
type Operations = Record<string, { responses: Record<string, Reply> }>
export type Document = {
  paths: Record<string, Operations>
  webhooks: Record<string, { post: { requestBody: { content: Record<string, { schema: Schema }> } } }>
  components: { responses: Record<string, Reply>; schemas?: Record<string, Schema> }
}

/** Puts each named schema, and what `allOf` says of one object, where it is referred to. */
export function inlined<T>(document: T): T {
  const { schemas = {} } = (document as unknown as Document).components
  const PREFIX = '#/components/schemas/'
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline)
    if (typeof value !== 'object' || value === null) return value
    const { $ref, allOf, ...own } = value as { $ref?: unknown; allOf?: unknown[] }
    if (typeof $ref === 'string' && $ref.startsWith(PREFIX))
      return inline({ ...schemas[$ref.slice(PREFIX.length)], ...own })
    const entries = Object.entries(value).filter(([key]) => key !== 'allOf')
    const rest = Object.fromEntries(entries.map(([key, inner]) => [key, inline(inner)]))
    return allOf ? [rest, ...allOf.map(inline)].reduce(merged) : rest
  }
  return inline(document) as T
}

/** Both at once: of objects all that either says, of lists what any of them has, else the later one. */
function merged(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) return [...new Set([...one, ...other])]
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return other
  const both: Record<string, unknown> = { ...one }
  for (const [key, value] of Object.entries(other)) {
    // A schema that narrows another one is open, and leaves that one as it is.
    if (key !== 'additionalProperties') both[key] = key in both ? merged(both[key], value) : value
  }
  return both
}

export type Checked = { status: number; headers: Headers; text: string }

/**
 * A check of answers against the document. Validators are compiled when the first answer needs them.
 * @returns throws when the operation does not declare the answer's status, type or shape
 */
export function answerChecker(named: Document) {
  const document = inlined(named)
  // That the schemas are valid is checked once, in tests/http/documentation.test.ts: to compile the schema of schemas
  // takes 60 ms.
  const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false, meta: false })
  addFormats(ajv)
  const known = new Map<Schema, ValidateFunction>()
  // By the text of the schema: routes share some, and to compile one takes milliseconds.
  const validators = new Map<string, ValidateFunction>()
  const compile = (schema: Schema) => {
    const text = JSON.stringify(schema)
    const validate = validators.get(text) ?? ajv.compile(closed(schema))
    validators.set(text, validate)
    return validate
  }
  const templates = Object.keys(document.paths)
    // A path with fewer parameters is more exact: the `summary` of `/time-entries/summary` is not an id.
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((template) => ({ template, pattern: new RegExp(`^${template.replace(/{\w+}/g, '[^/]+')}$`) }))

  return (method: string, url: string, answer: Checked) => {
    const { pathname } = new URL(url, 'http://localhost')
    const template = templates.find(({ pattern }) => pattern.test(pathname))?.template
    const operation = template && document.paths[template]![method === 'HEAD' ? 'get' : method.toLowerCase()]
    const fail = (reason: string): never => {
      const what = `${method} ${template ?? pathname} answered ${answer.status}`
      throw new Error(`${what}, ${reason}: ${answer.text.slice(0, 2000)}`)
    }
    if (!operation) return isUnknownRoute(answer) || fail('an unknown route')
    const declared = operation.responses[answer.status] ?? fail('which is not documented')
    const reply = declared.$ref ? document.components.responses[declared.$ref.split('/').at(-1)!]! : declared
    const type = answer.headers.get('content-type')?.split(';')[0] ?? ''
    const { content } = reply
    if (!content) return answer.text === '' || fail('documented without a body')
    if (method === 'HEAD') return
    const media = content[type] ?? content['*/*'] ?? fail(`as ${type}, which is not documented`)
    if (!media.schema) return
    const validate = known.get(media.schema) ?? compile(media.schema)
    known.set(media.schema, validate)
    if (!validate(JSON.parse(answer.text))) fail(ajv.errorsText(validate.errors))
  }
}

/** A check of the body of an event against the document, as webhooks get it. @returns throws like the other */
export function eventChecker(named: Document) {
  const { webhooks } = inlined({ webhooks: named.webhooks, components: named.components })
  const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false, meta: false })
  addFormats(ajv)
  const validators = new Map<string, ValidateFunction>()
  return (body: { event: string }) => {
    const event: string = body.event
    const { schema } = webhooks[event]!.post.requestBody.content['application/json']!
    const validate = validators.get(event) ?? ajv.compile(closed(schema))
    validators.set(event, validate)
    if (validate(body) === true) return
    const faults = ajv.errorsText(validate.errors)
    throw new Error(`the event ${event}: ${faults}: ${JSON.stringify(body)}`)
  }
}

/** Paths without a route answer so, unless the caller exceeds the rate limit. */
function isUnknownRoute({ status, text }: Checked): boolean {
  if (text === '') return status === 404
  const code = JSON.parse(text).error?.code
  return (status === 404 && code === 'NOT_FOUND') || (status === 429 && code === 'RATE_LIMITED')
}

/** The schema without room for fields that it does not name: nothing undeclared may leak. */
function closed(schema: Schema): Schema {
  const copy = Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, closedValue(value)]))
  const is_object = copy.type === 'object' && copy.properties !== undefined && copy.additionalProperties === undefined
  return is_object ? { ...copy, additionalProperties: false } : copy
}

function closedValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closedValue)
  return typeof value === 'object' && value !== null ? closed(value as Schema) : value
}
