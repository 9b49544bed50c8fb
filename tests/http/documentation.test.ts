import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import Ajv from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import { version } from '../../package.json'
import { config } from '../../src/base/config'
import { EVENTS } from '../../src/base/db/schema'
import { ERRORS } from '../../src/base/errors'
import { contractRows } from '../contract/interface'
import { api, createOrganization, startApi, stopApi } from '../support/api'
import { answerChecker, inlined } from '../support/openapi'

type Schema = {
  type?: string
  description?: string
  format?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
}
type Parameter = { name?: string; in?: string; schema?: Schema; $ref?: string }
type Operation = {
  summary: string
  operationId: string
  tags: string[]
  security?: unknown[]
  description: string
  parameters: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<
    string,
    { description?: string; content?: Record<string, { schema: Schema }>; headers?: object; $ref?: string }
  >
}
type Document = {
  info: { title: string; version: string; description: string; contact: unknown }
  tags: { name: string; description: string }[]
  security: unknown
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, { post: Operation }>
  components: {
    securitySchemes: Record<string, unknown>
    responses: Record<string, { content: Record<string, { schema: Schema }>; headers?: object }>
    schemas: Record<string, Schema>
  }
}

const ROOT = path.join(import.meta.dir, '../..')

/** Operations that answer 404 although no id stands in their path. */
const FINDS_OWN = [
  'delete /api/v1/timer/active',
  'post /api/v1/auth/second-factor/confirm',
  'post /api/v1/auth/second-factor/recovery-codes',
  'delete /api/v1/auth/second-factor',
  'post /api/v1/inbound/{token}',
  'get /api/v1/identity-provider',
  'delete /api/v1/identity-provider',
]

let text: string
/** As it is served, and with each named schema where it is referred to. */
let named: Document
let document: Document

beforeAll(async () => {
  await startApi()
  text = await (await get('/swagger/json')).text()
  named = JSON.parse(text)
  document = inlined(named)
})
afterAll(stopApi)

/** The endpoints that the contract lists, path parameters without their names. */
const ENDPOINTS = contractRows()
  .map(({ row }) => /^(GET|POST|PATCH|DELETE) (\/\S+)$/.exec(row))
  .filter((row) => row !== null)
  .map(([, method, path]) => `${method!.toLowerCase()} /api/v1${path!.replace(/:\w+/g, '{}')}`)

type Permissions = { permission: string; and_permission?: string | string[]; or_permission?: string }

describe('the document', () => {
  test('is OpenAPI without an error', () => {
    const file = path.join(mkdtempSync(path.join(tmpdir(), 'openapi-')), 'openapi.json')
    writeFileSync(file, text)
    const linter = path.join(import.meta.dir, '../../node_modules/@redocly/cli/bin/cli.js')
    const lint = spawnSync(process.execPath, [linter, 'lint', file, '--format=json', '--skip-rule=info-license'], {
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' },
    })
    const { totals, problems } = JSON.parse(lint.stdout.slice(lint.stdout.indexOf('{')))
    // No id is the word `by-external-id`.
    const others = problems.filter(
      ({ ruleId, message }: { ruleId: string; message: string }) =>
        // Some routes only send a browser on.
        ruleId !== 'operation-2xx-response' && (ruleId !== 'no-ambiguous-paths' || !message.includes('by-external-id')),
    )
    expect(others).toEqual([])
    expect(totals).toMatchObject({ errors: 0 })
  })

  test('names the product and its version', () => {
    expect(document.info).toMatchObject({ title: 'Deskwire', version })
  })

  test('begins with the guide to the API', () => {
    const guide = readFileSync(path.join(import.meta.dir, '../../src/guide/api.md'), 'utf8')
    expect(guide).toContain('## Sign in')
    expect(document.info.description).toBe(guide)
  })

  test('has every endpoint with its full path', () => {
    const documented = operations().map(({ method, path }) => `${method} ${path.replace(/{\w+}/g, '{}')}`)
    expect(ENDPOINTS.length).toBeGreaterThan(45)
    expect(ENDPOINTS.filter((endpoint) => !documented.includes(endpoint))).toEqual([])
    // Extensions are in no list: what the app serves is documented.
    const { routes } = api() as unknown as { routes: { method: string; path: string }[] }
    const served = routes
      .filter(({ path }) => path.startsWith('/api/v1/'))
      .map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:\w+/g, '{}')}`)
    expect(documented.sort()).toEqual(served.sort())
  })

  test('describes each tag that operations carry', () => {
    const used = new Set(operations().flatMap(({ tags }) => tags))
    const described = document.tags.filter(({ description }) => /^.+\.$/.test(description)).map(({ name }) => name)
    expect([...used].sort()).toEqual(described.sort())
  })

  test('gives every operation a summary and an id of its own', () => {
    const ids = operations().map(({ operationId }) => operationId)
    expect(ids).toContain('linkMatchingContacts')
    expect(ids).toContain('listTimeEntries')
    expect(ids).toContain('createMailbox')
    expect(ids).toContain('getCompany')
    expect(ids.every((id) => /^[a-z][A-Za-z]+$/.test(id))).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
    expect(operations().every(({ summary }) => /^[A-Z][a-z ]+$/.test(summary))).toBe(true)
  })

  test('asks for a token everywhere but to sign in and to refresh', () => {
    expect(document.security).toEqual([{ bearer: [] }])
    const open = operations().filter(({ security }) => security && (security.length === 0 || security.some(isEmpty)))
    expect(open.map(({ path, security }) => [path, security])).toEqual([
      ['/api/v1/auth/login', []],
      ['/api/v1/auth/login/second-factor', []],
      ['/api/v1/auth/refresh', []],
      ['/api/v1/auth/password/forgot', []],
      ['/api/v1/auth/password/reset', []],
      ['/api/v1/auth/oidc/{organization_id}/start', []],
      ['/api/v1/auth/oidc/callback', []],
      ['/api/v1/auth/oidc/token', []],
      ['/api/v1/auth/oidc/{organization_id}/logout', []],
      ['/api/v1/attachments/{attachment_id}/content', [{ bearer: [] }, { apiKey: ['messages:read'] }, {}]],
      ['/api/v1/auth/invitations/{token}', []],
      ['/api/v1/auth/invitations/{token}/accept', []],
      ['/api/v1/auth/invitations/{token}/decline', []],
      ['/api/v1/inbound/{token}', []],
    ])
  })

  test('says of every operation which permission an API key needs, or that it takes none', () => {
    const { routes } = api() as unknown as {
      routes: { method: string; path: string; hooks: { detail: Permissions } }[]
    }
    const declared = new Map(
      routes.map(({ method, path, hooks }) => [`${method} ${path.replace(/:(\w+)/g, '{$1}')}`, hooks.detail]),
    )
    for (const { method, path, security, description } of operations()) {
      const { permission, and_permission, or_permission } = declared.get(`${method.toUpperCase()} ${path}`)!
      const with_key = security?.find((scheme) => 'apiKey' in (scheme as object))
      const about = [method, path]
      if (permission.includes(':')) {
        expect([...about, with_key]).toEqual([...about, { apiKey: [permission, and_permission ?? []].flat() }])
        const also = [and_permission ?? []]
          .flat()
          .map((one) => ` and \`${one}\``)
          .join('')
        const or = or_permission && or_permission !== 'member' ? ` or \`${or_permission}\`` : ''
        expect(description).toEndWith(`API keys need \`${permission}\`${also}${or}.`)
      } else {
        expect([...about, with_key]).toEqual([...about, undefined])
        expect(description).toEndWith('Takes no API key.')
      }
    }
    expect(document.components.securitySchemes.apiKey).toMatchObject({
      type: 'apiKey',
      in: 'header',
      name: 'Authorization',
    })
  })

  test('has the organization header on all but /auth and inlets', () => {
    const without = operations().filter(
      ({ parameters }) => !parameters.some(({ $ref }) => $ref === '#/components/parameters/OrganizationId'),
    )
    expect(new Set(without.map(({ path }) => path.split('/')[3]))).toEqual(new Set(['auth', 'inbound']))
  })

  test('has the errors of every operation, in the envelope', () => {
    for (const { method, path, requestBody, responses } of operations()) {
      // Routes about the caller's own thing, which no path names.
      const is_own = FINDS_OWN.includes(`${method} ${path}`)
      const errors = Object.keys(responses).filter((status) => responses[status]!.$ref)
      expect(errors).toEqual(expect.arrayContaining(['400', '429', '500', '503']))
      // API keys are judged everywhere.
      expect(errors).toEqual(expect.arrayContaining(['401', '403']))
      expect([method, path, errors.includes('404')]).toEqual([method, path, namesOurs(path) || is_own])
      expect(errors.includes('413')).toBe(requestBody !== undefined)
    }
    for (const { content } of Object.values(document.components.responses)) {
      const { error } = content['application/json']!.schema.properties!
      expect(Object.keys(error!.properties!)).toEqual(['code', 'message', 'details'])
    }
    const replies = Object.values(document.components.responses).map((reply) => JSON.stringify(reply))
    for (const code of Object.keys(ERRORS)) {
      expect(replies.some((reply) => reply.includes(`"${code}"`))).toBe(code !== 'NOT_FOUND')
    }
  })

  test('says of every field of an answer what it is, where its name or type does not', () => {
    const TELLING = new Set(['data', 'meta', 'name', 'email', 'subject', 'sender', 'ticket', 'user', 'company'])
    const silent = operations().flatMap(({ operationId, responses }) =>
      Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .flatMap(([, { content }]) => Object.values(content ?? {}))
        .flatMap(({ schema = {} }) => fieldsOf(schema))
        .filter(({ name, field }) => !TELLING.has(name) && !field.description && !field.format)
        .map(({ name }) => `${operationId}: ${name}`),
    )
    expect(silent).toEqual([])
    const { data } =
      document.paths['/api/v1/inbound-messages']!.post!.responses['201']!.content!['application/json']!.schema
        .properties!
    expect(data!.properties!.outcome!.description).toStartWith('`pending`: not filed yet')
    expect(data!.properties!.id!.description).toStartWith('Null: a dry run')
  })

  test('has what every operation answers when it succeeds', () => {
    for (const { operationId, path, responses } of operations()) {
      // A browser is sent on, or a provider gets an answer without a body.
      if (/\/oidc\/.*(start|callback|logout)$/.test(path)) continue
      const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'))
      const known = successes.map(([status, { content }]) => status === '204' || Object.keys(content ?? {}).length > 0)
      expect([operationId, known]).toEqual([operationId, expect.arrayContaining([true])])
      expect([operationId, known]).not.toEqual([operationId, expect.arrayContaining([false])])
    }
  })

  test('has the headers that operations heed', () => {
    for (const { method, path, parameters, responses } of operations()) {
      const heeds = (name: string) => parameters.some(({ $ref }) => $ref === `#/components/parameters/${name}`)
      const about = (result: boolean) => [method, path, result]
      const takes_key =
        method === 'post' &&
        !/^\/api\/v1\/(auth\/|inbound\/|mailboxes\/{mailbox_id}\/inlet$|api-keys$|contacts\/{contact_id}\/tokens$)/.test(
          path,
        )
      expect(about(heeds('IdempotencyKey'))).toEqual(about(takes_key))
      // A message is refused by its field `after`.
      const heeds_match = '412' in responses && (method !== 'post' || path.endsWith('/send'))
      expect(about(heeds('IfMatch'))).toEqual(about(heeds_match))
      expect(about(heeds('IfNoneMatch'))).toEqual(about('304' in responses && !path.endsWith('/content')))
    }
    expect(document.paths['/api/v1/labels/{label_id}']!.patch!.responses).toHaveProperty('412')
    for (const one of ['labels/{label_id}', 'timer/active']) {
      expect(document.paths[`/api/v1/${one}`]!.get!.responses).toHaveProperty('304')
    }
  })

  test('has the fields of bodies, and of queries with their types', () => {
    const create = document.paths['/api/v1/labels']!.post!
    expect(Object.keys(create.requestBody!.content)).toEqual(['application/json'])
    expect(create.requestBody!.content['application/json']!.schema).toEqual({
      type: 'object',
      required: ['name', 'color'],
      additionalProperties: true,
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 64, description: 'Unique without regard to case' },
        color: { type: 'string', pattern: '^#[0-9A-Fa-f]{6}$', description: 'Hex colour code #RRGGBB' },
        description: { type: 'string', minLength: 0, maxLength: 500 },
      },
    } as Schema)
    const { parameters } = document.paths['/api/v1/tickets']!.get!
    const page = parameters.find(({ name }) => name === 'page')
    expect(page).toEqual({
      name: 'page',
      in: 'query',
      required: false,
      description: 'Default 1',
      schema: { type: 'integer', minimum: 1 },
    } as Parameter)
    expect(document.paths['/api/v1/attachments']!.post!.requestBody!.content).toHaveProperty('multipart/form-data')
  })

  test('lets a word of a list be null where it may be', () => {
    const ledger = document.paths['/api/v1/inbound-messages']!.get!.responses['200']!
    expect(JSON.stringify(ledger)).toContain(
      '{"type":["string","null"],"enum":["in_reply_to","references","message_id","reply_tag","subject_code","new",null]',
    )
  })

  test('names what clients have types for, and puts no named schema elsewhere', () => {
    const { schemas } = named.components
    for (const name of ['Ticket', 'Message', 'Contact', 'Company', 'Error', 'NewContact', 'TicketUpdatedEvent']) {
      expect(schemas).toHaveProperty(name)
    }
    const list = named.paths['/api/v1/tickets']!.get!.responses['200']!.content!['application/json']!.schema
    expect(list.properties!.data!.items).toEqual({ $ref: '#/components/schemas/Ticket' } as Schema)
    const { company } = schemas.Contact!.properties!
    expect(company).toEqual(document.components.schemas.Contact!.properties!.company!)
    // A choice between a named schema and null.
    const timer = named.paths['/api/v1/timer/active']!.get!.responses['200']!.content!['application/json']!.schema
    expect(timer.properties!.data!.anyOf).toEqual([
      { $ref: '#/components/schemas/Timer' },
      { type: 'null' },
    ] as Schema[])
    const used = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name!)
    expect([...new Set(used)].sort()).toEqual(Object.keys(schemas).sort())
  })

  test('reads the models of every section', () => {
    const exported = readFileSync(path.join(ROOT, 'src/models.ts'), 'utf8')
    const all = [...new Bun.Glob('**/model.ts').scanSync(path.join(ROOT, 'src'))]
    expect(all.length).toBeGreaterThan(30)
    expect(all.filter((file) => !exported.includes(`'./${file.replace(/\.ts$/, '')}'`))).toEqual([])
  })

  test('has the request of each event', () => {
    expect(Object.keys(named.webhooks)).toEqual([...EVENTS])
    for (const [event, { post }] of Object.entries(document.webhooks)) {
      const { properties } = post.requestBody!.content['application/json']!.schema
      expect(properties!.event).toMatchObject({ enum: [event] })
      expect(Object.keys(properties!)).toEqual(['event', 'timestamp', 'organization_id', 'data'])
    }
  })

  test('has the headers of answers', () => {
    const counted = ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
    for (const { responses, method, path } of operations()) {
      for (const [status, reply] of Object.entries(responses)) {
        const { headers } = reply.$ref ? document.components.responses[reply.$ref.split('/').at(-1)!]! : reply
        const more = ['429', '503'].includes(status) ? ['Retry-After'] : []
        expect([method, path, status, Object.keys(headers ?? {})]).toEqual([
          ...[method, path, status],
          expect.arrayContaining([...counted, ...more]),
        ])
      }
    }
    const { headers } = document.paths['/api/v1/labels/{label_id}']!.get!.responses['200']!
    expect(headers).toHaveProperty('ETag')
  })

  test('has headers that answers carry', async () => {
    const { agent } = await createOrganization()
    const made = await agent.post('/labels', { name: 'VIP', color: '#112233' }, { 'idempotency-key': 'a' })
    const again = await agent.post('/labels', { name: 'VIP', color: '#112233' }, { 'idempotency-key': 'a' })
    const one = await agent.get(`/labels/${made.body.data.id}`)
    expect(one.headers.get('etag')).toStartWith('"')
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    for (const { headers } of [made, again, one]) expect(headers.get('x-request-id')).toBeString()
  })

  test('has examples that its schemas allow', () => {
    const ajv = new Ajv({ strict: false, validateSchema: false })
    addFormats(ajv)
    let count = 0
    const check = (value: unknown, schema: Schema, at: string) => {
      count++
      expect([at, value, ajv.validate(schema, value)]).toEqual([at, value, true])
    }
    const visit = (value: unknown, at: string) => {
      if (typeof value !== 'object' || value === null) return
      const { examples, example, schema } = value as { examples?: unknown; example?: unknown; schema?: Schema }
      if (Array.isArray(examples)) for (const one of examples) check(one, value as Schema, at)
      else if (examples && schema) {
        for (const { value } of Object.values(examples as Record<string, { value: unknown }>)) check(value, schema, at)
      }
      if (example !== undefined && schema) check(example, schema, at)
      for (const [key, inner] of Object.entries(value)) if (!/^examples?$/.test(key)) visit(inner, `${at}/${key}`)
    }
    visit(document, '')
    expect(count).toBeGreaterThan(1000)
  })

  test('says whom to ask', () => {
    expect(document.info.contact).toEqual({ name: 'Who runs this service', url: config.BASE_URL })
  })

  test('has no body in an answer without content', () => {
    expect(document.paths['/api/v1/labels/{label_id}']!.delete!.responses['204']).toEqual({
      description: 'No content',
      headers: expect.any(Object),
    })
  })

  test('keeps the own keywords of the schemas to itself', () => {
    expect(text).not.toMatch(/"(fault|length_fault|missing_code|noValidate)":|"(rule|decoder|min|max|trim)":[\dtf]/)
  })
})

describe('the check of all answers that tests get', () => {
  const HEADERS = new Headers({ 'content-type': 'application/json' })
  const check = (status: number, body: unknown, url = '/api/v1/auth/me') =>
    answerChecker(document as unknown as Parameters<typeof answerChecker>[0])('GET', url, {
      status,
      headers: HEADERS,
      text: JSON.stringify(body),
    })
  const organization = { id: '019c0a3e-5b1c-7d40-9c4e-2f6a1b8d3e58', name: 'Acme', role: 'admin' }
  const me = {
    id: '019c0a3e-5b1c-7d40-9c4e-2f6a1b8d3e57',
    email: 'a@b.example',
    name: 'A',
    organizations: [organization],
  }
  const error = { code: 'INVALID_TOKEN', message: 'No', details: {} }

  test('lets pass what the document declares', () => {
    check(200, me)
    check(401, { error })
    check(404, { error: { ...error, code: 'NOT_FOUND' } }, '/api/v1/nonsense')
  })

  test.each<[string, number, unknown]>([
    ['a field that is not declared', 200, { ...me, password_hash: 'x' }],
    ['a field that is not declared, further in', 200, { ...me, organizations: [{ ...organization, currency: 'EUR' }] }],
    ['a missing field', 200, { ...me, name: undefined }],
    ['a wrong format', 200, { ...me, id: '1' }],
    ['a status that is not declared', 201, me],
    ['a code that is not declared', 401, { error: { ...error, code: 'INVALID_CREDENTIALS' } }],
    ['an error with more fields', 401, { error: { ...error, stack: 'x' } }],
  ])('finds %s', (_, status, body) => {
    expect(() => check(status, body)).toThrow(`GET /api/v1/auth/me answered ${status}`)
  })

  test('finds a route that is not declared', () => {
    expect(() => check(200, me, '/api/v1/nonsense')).toThrow('GET /api/v1/nonsense answered 200, an unknown route')
  })
})

describe('the page', () => {
  test('loads only what the service itself serves', async () => {
    const page = await get('/swagger')
    expect(page.headers.get('content-type')).toStartWith('text/html')
    const files = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!)
    expect(files).toEqual([
      'swagger/favicon-32x32.png',
      'swagger/swagger-ui.css',
      'swagger/swagger-ui-bundle.js',
      'swagger/start.js',
    ])
    for (const file of files) expect((await get(`/${file}`)).status).toBe(200)
    expect(await (await get('/swagger/swagger-ui-bundle.js')).text()).toContain('SwaggerUIBundle')
  })

  test('holds no script, and its policy would not run one', async () => {
    const page = await get('/swagger')
    expect(page.headers.get('content-security-policy')).toStartWith("default-src 'self';")
    expect(page.headers.get('content-security-policy')).not.toContain('unsafe')
    expect(await page.text()).not.toMatch(/<script(?![^>]* src=)|<script[^>]*>[^<]| on\w+=|<style/)
  })

  test('shows the document of this service', async () => {
    const script = await get('/swagger/start.js')
    expect(script.headers.get('content-type')).toStartWith('text/javascript')
    const shown: unknown[] = []
    new Function('SwaggerUIBundle', await script.text())((options: unknown) => shown.push(options))
    expect(shown).toEqual([expect.objectContaining({ url: 'swagger/json', dom_id: '#ui', validatorUrl: null })])
  })

  test.each([
    ['/swagger', 'text/html; charset=utf-8'],
    ['/swagger/json', 'application/json'],
    ['/swagger/swagger-ui.css', 'text/css; charset=utf-8'],
    ['/swagger/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['/swagger/favicon-32x32.png', 'image/png'],
  ])('%s is served as %s to everybody, without a count', async (path, type) => {
    const answer = await get(path)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type])
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('x-request-id')).toBeString()
    expect(answer.headers.get('x-ratelimit-limit')).toBeNull()
  })
})

function get(path: string): Promise<Response> {
  return api().handle(new Request(`http://localhost${path}`))
}

/** All fields of a schema, and of what is in it. */
function fieldsOf(schema: Schema): { name: string; field: Schema }[] {
  const own = Object.entries(schema.properties ?? {}).map(([name, field]) => ({ name, field }))
  const inner = [...own.map(({ field }) => field), ...(schema.items ? [schema.items] : []), ...(schema.anyOf ?? [])]
  return [...own, ...inner.flatMap(fieldsOf)]
}

/** Tells whether a path has an id of ours; an external id is one of somebody else. */
function namesOurs(path: string): boolean {
  return [...path.matchAll(/{(\w+_id)}/g)].some(([, name]) => name !== 'external_id')
}

function isEmpty(scheme: unknown): boolean {
  return Object.keys(scheme as object).length === 0
}

function operations() {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  )
}
