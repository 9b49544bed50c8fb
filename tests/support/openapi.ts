/** Compares every answer of a test with `/swagger/json`: an answer that the document does not declare is a failure. */
import Ajv, { type ValidateFunction } from 'ajv/dist/2020'
import addFormats from 'ajv-formats'

type Schema = Record<string, unknown>
type Reply = { $ref?: string; content?: Record<string, { schema?: Schema }> }
type Operations = Record<string, { responses: Record<string, Reply> }>
export type Document = { paths: Record<string, Operations>; components: { responses: Record<string, Reply> } }

export type Checked = { status: number; headers: Headers; text: string }

/**
 * A check of answers against the document. Validators are compiled when the first answer needs them.
 * @returns throws when the operation does not declare the answer's status, type or shape
 */
export function answerChecker(document: Document) {
  // That the schemas are valid is checked once, in tests/http/documentation.test.ts: to compile the schema of schemas
  // takes 60 ms.
  const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false, meta: false })
  addFormats(ajv)
  // By the text of the schema: routes share some, and to compile one takes milliseconds.
  const validators = new Map<string, ValidateFunction>()
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
    const key = JSON.stringify(media.schema)
    const validate = validators.get(key) ?? ajv.compile(closed(media.schema))
    validators.set(key, validate)
    if (!validate(JSON.parse(answer.text))) fail(ajv.errorsText(validate.errors))
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
