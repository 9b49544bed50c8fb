import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import Elysia, { type AnyElysia } from 'elysia'
import { createApp } from '../../src/app'
import { setMachines } from '../../src/base/db/cluster/away'
import { build } from '../../src/base/process/build'
import { pipeline } from '../../src/http/pipeline/pipeline'
import { type Declarations, readDeclarations } from '../../src/http/request/declarations'
import { handlersOf } from '../../src/http/rerun/route-handlers'
import { type Answer, api, createOrganization, startApi, stopApi, stranger } from '../support/api'
import { createLabel, insertTicket } from '../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

const NOBODY = '018f0000-0000-7000-8000-000000000000'
const MAX_JSON_BYTES = 8 * 1024 * 1024
const MAX_AUTH_BYTES = 16 * 1024

describe('checks come in this order:', () => {
  test('an unknown route before the token', async () => {
    const { agent } = await createOrganization()
    for (const client of [stranger(), agent]) {
      expectError(await client.get('/nonsense'), 404, 'NOT_FOUND')
      expectError(await client.send('PUT', '/labels', {}), 404, 'NOT_FOUND')
      expectError(await client.post(`/labels/${NOBODY}`, '{', { authorization: 'Bearer garbage' }), 404, 'NOT_FOUND')
    }
  })

  test('the token before the organization header, the path, the query and the body', async () => {
    const bad = { 'x-organization-id': 'nonsense' }
    expectError(await stranger().get(`/labels/${NOBODY}?page=0`, bad), 401, 'INVALID_TOKEN')
    expectError(await stranger().post('/labels', '{', bad), 401, 'INVALID_TOKEN')
    expectError(await stranger().post('/labels', {}), 401, 'INVALID_TOKEN')
    expectError(await stranger().post('/labels', undefined, { 'content-type': 'text/plain' }), 401, 'INVALID_TOKEN')
  })

  test('the body of a stranger is not even read', async () => {
    let pulled = 0
    const body = new ReadableStream({
      pull(controller) {
        pulled++
        controller.enqueue(new Uint8Array(64 * 1024))
      },
    })
    const request = new Request('http://localhost/api/v1/labels', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    expect((await api().handle(request)).status).toBe(401)
    expect(pulled).toBeLessThan(10)
  })

  test('the organization header before the role', async () => {
    const { agent } = await createOrganization()
    const other = await createOrganization()
    const change = (header: string) => agent.patch('/organization', {}, { 'x-organization-id': header })
    expectError(await change('nonsense'), 422, 'VALIDATION_ERROR')
    expectError(await change(other.id), 403, 'FORBIDDEN')
  })

  test('the role before the path and the body', async () => {
    const { agent } = await createOrganization()
    expectError(await agent.patch(`/mailboxes/${NOBODY}`, '{'), 403, 'FORBIDDEN')
    expectError(await agent.post('/mailboxes', { address: 'nonsense' }), 403, 'FORBIDDEN')
  })

  test('the path before the body and the query', async () => {
    const { admin } = await createOrganization()
    const label = await createLabel(admin)
    const answers = async (id: string) => [
      await admin.patch(`/labels/${id}`, '{'),
      await admin.patch(`/labels/${id}`, undefined),
      await admin.patch(`/labels/${id}`, { name: 5 }),
    ]
    for (const answer of await answers(NOBODY)) expectError(answer, 404, 'LABEL_NOT_FOUND')
    for (const answer of await answers('nonsense')) expectError(answer, 404, 'LABEL_NOT_FOUND')
    const codes = (await answers(label.id)).map(({ status }) => status)
    expect(codes).toEqual([400, 400, 422])
    expectError(await admin.get(`/tickets/${NOBODY}/messages?page=0`), 404, 'TICKET_NOT_FOUND')
  })

  test('formats before ids are looked up', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.post('/tickets', { subject: 'Help', contact_id: NOBODY, priority: 'asap' })
    expectError(answer, 422, 'INVALID_PRIORITY')
    expect(paths(answer)).toEqual(['/priority'])
  })
})

describe('a JSON body', () => {
  test('of 8 MiB is decoded and parsed in two turns of the loop, between which other requests run', async () => {
    let turns = 0
    let next = setImmediate(function turn() {
      turns += 1
      next = setImmediate(turn)
    })
    const steps: { step: string; turn: number }[] = []
    const note = (step: string, size: number) => size > 1e6 && steps.push({ step, turn: turns })
    const [decode, parse] = [TextDecoder.prototype.decode, JSON.parse]
    using _decode = spyOn(TextDecoder.prototype, 'decode').mockImplementation(function (this: TextDecoder, ...given) {
      note('decode', (given[0] as Uint8Array | undefined)?.length ?? 0)
      return decode.apply(this, given)
    })
    using _parse = spyOn(JSON, 'parse').mockImplementation((text, ...given) => {
      note('parse', text.length)
      return parse(text, ...given)
    })
    const answer = await (await createOrganization()).admin.post('/tickets', { subject: '\n'.repeat(4_000_000) })
    clearImmediate(next)
    expect(answer.status).toBe(422)
    expect(steps.map(({ step }) => step)).toEqual(['decode', 'parse'])
    expect(steps[1]!.turn).toBeGreaterThan(steps[0]!.turn)
  })

  test('with a list that is far too long is refused before its items are read', async () => {
    const { admin } = await createOrganization()
    const key = { name: 'Key', permissions: ['tickets:read'], allowed_networks: Array(2000).fill('nowhere') }
    const { status, body } = await admin.post('/api-keys', key)
    const message = 'must be a list of at most 50 networks'
    expect([status, body.error.details.errors]).toEqual([422, [{ path: '/allowed_networks', message }]])
  })

  test('of 8 MiB is read, a larger one is refused', async () => {
    const { agent } = await createOrganization()
    const ofSize = (bytes: number) => `{"name":"Large","color":"#EF4444","padding":"${'x'.repeat(bytes - 47)}"}`
    expect(ofSize(MAX_JSON_BYTES)).toHaveLength(MAX_JSON_BYTES)
    expect((await agent.post('/labels', ofSize(MAX_JSON_BYTES))).status).toBe(201)
    const answer = await agent.post('/labels', ofSize(MAX_JSON_BYTES + 1))
    expectError(answer, 413, 'PAYLOAD_TOO_LARGE')
    expect(answer.body.error.details).toEqual({ limit_bytes: MAX_JSON_BYTES })
  })

  test('of a path below /auth is read up to 16 KiB', async () => {
    const { agent } = await createOrganization()
    const ofSize = (bytes: number) => `{"email":"a","password":"b","padding":"${'x'.repeat(bytes - 41)}"}`
    expect(ofSize(MAX_AUTH_BYTES)).toHaveLength(MAX_AUTH_BYTES)
    expectError(await stranger().post('/auth/login', ofSize(MAX_AUTH_BYTES)), 401, 'INVALID_CREDENTIALS')
    const large = ofSize(MAX_AUTH_BYTES + 1)
    for (const answer of [
      await stranger().post('/auth/login', large),
      await stranger().post('/auth/refresh', large),
      await agent.post('/auth/logout', large),
      await agent.patch('/auth/me', large),
    ]) {
      expectError(answer, 413, 'PAYLOAD_TOO_LARGE')
      expect(answer.body.error.details).toEqual({ limit_bytes: MAX_AUTH_BYTES })
    }
  })

  test('holds at most 10,000 values, whatever they are', async () => {
    const { agent } = await createOrganization()
    // The object, name, color, the array: four values besides those in the array.
    const withValues = (count: number, value: string) =>
      `{"name":"${value.replaceAll('"', '')}","color":"#EF4444","x":[${Array(count - 4).fill(value)}]}`
    for (const value of ['1', 'null', '"text"', '[]', '{}']) {
      expect([value, (await agent.post('/labels', withValues(10_000, value))).status]).toEqual([value, 201])
      const answer = await agent.post('/labels', withValues(10_001, value))
      expectError(answer, 422, 'VALIDATION_ERROR')
      expect(answer.body.error.details.errors).toEqual([{ path: '', message: 'must not hold more than 10000 values' }])
    }
    const text = `{"name":"Commas","color":"#EF4444","x":"${',[{\\"'.repeat(100_000)}"}`
    expect((await agent.post('/labels', text)).status).toBe(201)
  })

  test('that is wrong is not written out again, however long it is', async () => {
    const { agent } = await createOrganization()
    const body = `{"name":"${'x'.repeat(4_000_000)}","color":7,"other":"${'x'.repeat(4_000_000)}"}`
    using stringify = spyOn(JSON, 'stringify')
    const answer = await agent.post('/labels', body)
    const written = stringify.mock.results.map(({ value }) => String(value).length)
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual(['/name', '/color'])
    expect(Math.max(0, ...written)).toBeLessThan(10_000)
  })

  test('that is announced too large is refused on a real connection, with the envelope', async () => {
    const { agent } = await createOrganization()
    using server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => api().handle(request) })
    const response = await fetch(`http://127.0.0.1:${server.port}/api/v1/labels`, {
      method: 'POST',
      headers: { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json' },
      body: new Uint8Array(MAX_JSON_BYTES + 1).fill(32),
    })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } })
  })

  test('is not read beyond the limit, whatever its Content-Length says', async () => {
    const { agent } = await createOrganization()
    for (const length of ['9999999999, 5', '5, 9999999999', '5, 5', '', '-1', '5']) {
      const answer = await agent.post('/labels', ' '.repeat(MAX_JSON_BYTES + 1), { 'content-length': length })
      expect([length, answer.status]).toEqual([length, 413])
    }
  })

  test('of unclear length is not kept in memory', async () => {
    let pulled = 0
    const body = new ReadableStream({
      pull(controller) {
        if (pulled++ === 1000) controller.close()
        else controller.enqueue(new Uint8Array(64 * 1024).fill(32))
      },
    })
    const headers = { 'content-type': 'application/json', 'content-length': '9999999999, 5' }
    const url = 'http://localhost/api/v1/auth/login'
    expect((await api().handle(new Request(url, { method: 'POST', headers, body }))).status).toBe(413)
    expect(pulled).toBeLessThan(10)
  })

  test.each<[string, string | Uint8Array | undefined, Record<string, string>]>([
    ['nothing', undefined, {}],
    ['nothing, though a type is given', undefined, { 'content-type': 'application/json' }],
    ['empty text', '', {}],
    ['space', '  ', {}],
    ['no JSON', '{"name":', {}],
    ['two values', '{} {}', {}],
    ['bytes that are no UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), {}],
    ['a UTF-8 sequence that is cut', new Uint8Array([0x22, 0xc3]), {}],
    ['another type', '{}', { 'content-type': 'text/plain' }],
    ['a form', 'name=x&color=%23EF4444', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['no type', '{}', { 'content-type': '' }],
  ])('cannot be %s', async (_, body, headers) => {
    const { agent } = await createOrganization()
    expectError(await agent.post('/labels', body, headers), 400, 'BAD_REQUEST')
    expect((await agent.get('/labels')).body.data).toEqual([])
  })

  test.each([['[]'], ['"text"'], ['7'], ['null'], ['true']])('must be an object: %s', async (body) => {
    const { agent } = await createOrganization()
    const answer = await agent.post('/labels', body)
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors).toEqual([{ path: '', message: 'must be a JSON object' }])
  })

  test.each([['application/json; charset=utf-8'], ['APPLICATION/JSON'], ['application/merge-patch+json']])(
    'may come as %s',
    async (type) => {
      const { agent } = await createOrganization()
      const body = JSON.stringify({ name: 'Bug', color: '#EF4444' })
      expect((await agent.post('/labels', body, { 'content-type': type })).status).toBe(201)
    },
  )

  test('holds no NUL and no lone surrogate, anywhere', async () => {
    const { agent } = await createOrganization()
    const body =
      '{"name":"a\\u0000b","color":"#EF4444","description":"\\ud800","other":[{"a/b~":"\\udc00"},"fine \\ud83d\\ude00"]}'
    const answer = await agent.post('/labels', body)
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(paths(answer).sort()).toEqual(['/description', '/name', '/other/0/a~1b~0'])
  })

  test('may be nested 100 levels deep, unknown as the field is', async () => {
    const { agent } = await createOrganization()
    const nested = (levels: number) =>
      `{"name":"Deep ${levels}","color":"#EF4444","x":${'['.repeat(levels)}${']'.repeat(levels)}}`
    expect((await agent.post('/labels', nested(99))).status).toBe(201)
    for (const levels of [100, 4_000_000]) {
      const answer = await agent.post('/labels', nested(levels))
      expectError(answer, 422, 'VALIDATION_ERROR')
      expect(paths(answer)).toEqual([''])
    }
    expectError(await agent.post('/labels', '['.repeat(MAX_JSON_BYTES)), 422, 'VALIDATION_ERROR')
  })

  test('may hold fields that nobody knows', async () => {
    const { agent } = await createOrganization()
    const body =
      '{"__proto__":{"name":"X"},"constructor":1,"id":7,"organization_id":"x","name":"Bug","color":"#EF4444"}'
    const answer = await agent.post('/labels', body)
    expect([answer.status, answer.body.data.name]).toEqual([201, 'Bug'])
    expect(answer.body.data).not.toHaveProperty('constructor', 1)
  })

  test('of a create may hold nulls for what is absent', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.post('/labels', { name: 'Bug', color: '#EF4444', description: null })
    expect([answer.status, answer.body.data.description]).toEqual([201, null])
    expect(paths(await agent.post('/labels', { name: null, color: null }))).toEqual(['/name', '/color'])
  })
})

describe('the faults of a request', () => {
  test('are all told at once, in the order of the fields', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.post('/labels', { description: 7, color: 'red', name: '' })
    expect(answer.status).toBe(422)
    expect(answer.body.error).toEqual({
      code: 'VALIDATION_ERROR',
      message: 'The request is not valid',
      details: {
        errors: [
          { path: '/name', message: 'must be text of 1 to 64 characters' },
          { path: '/color', message: 'The color must be a hex code such as #EF4444' },
          { path: '/description', message: 'must be text of at most 500 characters' },
        ],
      },
    })
  })

  test('have the code of the first field that is wrong', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.post('/labels', { name: 'Bug', description: 7, color: 'red' })
    expectError(answer, 422, 'INVALID_COLOR')
    expect(paths(answer)).toEqual(['/color', '/description'])
    const missing = await agent.post('/tickets', { subject: 'Help', priority: 'asap' })
    expectError(missing, 422, 'VALIDATION_ERROR')
    expect(paths(missing)).toEqual(['/contact_id', '/priority'])
    const before_missing = await agent.post('/contacts', { name: 5 })
    expect(paths(before_missing)).toEqual(['/name', '/email'])
  })

  test('in a query are named as such, with the code of the filter', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.get('/tickets?status=lost&page=0&assignee_id=you&created_after=yesterday')
    expectError(answer, 422, 'INVALID_STATUS')
    expect(paths(answer)).toEqual(['/query/status', '/query/assignee_id', '/query/created_after', '/query/page'])
    expectError(await agent.get('/tickets?priority=asap'), 422, 'INVALID_PRIORITY')
  })

  test('inside an object have its path', async () => {
    const { admin } = await createOrganization()
    const answer = await admin.post('/mailboxes', {
      address: 'support@acme.example',
      smtp: { host: 'mail.acme.example', port: '25', security: 'maybe' },
    })
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(paths(answer)).toEqual(['/smtp/port', '/smtp/security'])
  })

  test('inside a list have the place in it', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.post('/tickets', { subject: 'Help', contact_id: NOBODY, label_ids: [NOBODY, 7] })
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(paths(answer)).toEqual(['/label_ids/1'])
  })
})

describe('a query', () => {
  test('may hold parameters that nobody knows', async () => {
    const { agent } = await createOrganization()
    expect((await agent.get('/tickets?nonsense=1&page=1&_=%F0%9F%98%80')).status).toBe(200)
  })

  test('is UTF-8', async () => {
    const { agent } = await createOrganization()
    for (const value of ['%FF', '%C3', '%ED%A0%80', 'a%E2%82']) {
      expectError(await agent.get(`/tickets?search=${value}`), 400, 'BAD_REQUEST')
    }
    for (const value of ['%C3%A9', '100%', '%zz', '%']) {
      expect([value, (await agent.get(`/tickets?search=${value}`)).status]).toEqual([value, 200])
    }
  })

  test('holds no NUL', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.get('/tickets?search=a%00b')
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(paths(answer)).toEqual(['/query/search'])
  })

  test.each([
    'page=0',
    'page=-1',
    'page=1.5',
    'page=',
    'page=x',
    'page=0x10',
    'page=1e1',
    'page=%201',
    'per_page=0',
    'per_page=-5',
    'per_page=ten',
    'per_page=1.0',
    'page=9007199254740992',
    'page=99999999999999999999',
  ])('refuses %s', async (parameters) => {
    const { agent } = await createOrganization()
    for (const list of ['/users', '/labels', '/tickets']) {
      const answer = await agent.get(`${list}?${parameters}`)
      expectError(answer, 422, 'VALIDATION_ERROR')
      expect(paths(answer)).toEqual([`/query/${parameters.split('=')[0]}`])
    }
  })

  test('pages through a list: 20 unless told, 100 at most', async () => {
    const { agent, addMember } = await createOrganization()
    await addMember('agent', 'Zoe')
    const page = async (parameters: string) => (await agent.get(`/users${parameters}`)).body
    expect((await page('')).meta).toEqual({ total: 3, page: 1, per_page: 20, next_cursor: null })
    expect((await page('?per_page=100')).meta.per_page).toBe(100)
    expect((await page('?per_page=101')).meta.per_page).toBe(100)
    expect((await page('?per_page=100000')).meta.per_page).toBe(100)
    const second = await page('?page=2&per_page=2')
    expect(second.meta).toEqual({ total: 3, page: 2, per_page: 2, next_cursor: null })
    expect(second.data.map(({ name }: { name: string }) => name)).toEqual(['Zoe'])
    expect(await page('?page=1000000')).toMatchObject({ data: [], meta: { total: 3, page: 1_000_000 } })
  })

  test('may ask for a page as far out as a number goes, and for as many rows', async () => {
    const { admin, scope } = await createOrganization()
    const { id } = await insertTicket(scope)
    const { body } = await admin.post('/webhooks', { url: 'https://receiver.example/hook', events: ['ticket.created'] })
    const lists = [
      ...['/tickets', '/contacts', '/companies', '/labels', '/webhooks', '/users', '/mailboxes', '/time-entries'],
      ...['messages', 'participants', 'activity'].map((part) => `/tickets/${id}/${part}`),
      ...['/inbound-messages', `/webhooks/${body.data.id}/deliveries`],
    ]
    for (const list of lists) {
      for (const page of [2 ** 31, Number.MAX_SAFE_INTEGER]) {
        const far = await admin.get(`${list}?page=${page}&per_page=100`)
        expect([list, far.status, far.body.data, far.body.meta.page]).toEqual([list, 200, [], page])
        const wide = await admin.get(`${list}?per_page=${page}`)
        expect([list, wide.status, wide.body.meta.per_page]).toEqual([list, 200, 100])
      }
    }
  })
})

describe('every answer', () => {
  test('has a request id, the own one when it is good', async () => {
    const { agent } = await createOrganization()
    const idOf = async (id?: string, path = '/labels') =>
      (await agent.get(path, id === undefined ? {} : { 'x-request-id': id })).headers.get('x-request-id')
    const own = await idOf()
    expect(own).toMatch(/^[0-9a-f-]{36}$/)
    expect(await idOf()).not.toBe(own)
    expect(await idOf('trace-1.2:3_4')).toBe('trace-1.2:3_4')
    expect(await idOf('t'.repeat(128))).toBe('t'.repeat(128))
    for (const bad of ['', 'two words', 'a"b', 't'.repeat(129), '{}', 'é']) {
      expect(await idOf(bad)).toMatch(/^[0-9a-f-]{36}$/)
    }
    expect(await idOf('of-an-error', '/nonsense')).toBe('of-an-error')
    expect(await idOf('of-a-404', `/labels/${NOBODY}`)).toBe('of-a-404')
  })

  test('is neither stored nor guessed at', async () => {
    const { agent } = await createOrganization()
    for (const answer of [await agent.get('/labels'), await agent.get('/nonsense'), await stranger().get('/labels')]) {
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test('that is an error has code, message and details', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.get(`/labels/${NOBODY}`)
    const message = 'One or more labels do not exist'
    expect(answer.body).toEqual({ error: { code: 'LABEL_NOT_FOUND', message, details: {} } })
  })

  test('about a fault of ours tells the request id and nothing of the inside', async () => {
    const broken = failingApp(new Error('the password is swordfish'))
    const response = await broken.handle(new Request('http://localhost/broken', { headers: { 'x-request-id': 'a1' } }))
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({
      error: { code: 'INTERNAL_ERROR', message: 'Something went wrong on our side', details: { request_id: 'a1' } },
    })
  })

  test.each(['ECONNREFUSED', 'CONNECTION_CLOSED', 'CONNECT_TIMEOUT', '57P01', '57014', '25P03', '53300', '40P01'])(
    'says that the service is away when the database is: %s',
    async (code) => {
      const broken = failingApp(Object.assign(new Error('connect 10.0.0.7'), { code }))
      const response = await broken.handle(new Request('http://localhost/broken'))
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
      expect(await response.json()).toEqual({
        error: { code: 'SERVICE_UNAVAILABLE', message: expect.any(String), details: {} },
      })
    },
  )
})

describe('the probes', () => {
  test('tell whether the process is up and whether it can work', async () => {
    const probe = async (path: string, isReady: () => Promise<boolean>) => {
      const response = await createApp(isReady).handle(new Request(`http://localhost${path}`))
      return [response.status, await response.json()]
    }
    const failing = () => Promise.reject(new Error('no database'))
    expect(await probe('/healthz', failing)).toEqual([
      200,
      { status: 'ok', version: build.version, commit: build.commit },
    ])
    expect(await probe('/readyz', async () => true)).toEqual([200, { status: 'ready' }])
    expect(await probe('/readyz', async () => false)).toEqual([503, { status: 'unavailable' }])
    expect(await probe('/readyz', failing)).toEqual([503, { status: 'unavailable' }])
  })

  test('a process is ready while a machine of the cluster is away, and says so', async () => {
    setMachines([{ name: '10.0.0.11:5432', is_up: false }], [])
    try {
      const response = await createApp(async () => true).handle(new Request('http://localhost/readyz'))
      expect([response.status, await response.json()]).toEqual([200, { status: 'ready', machines_away: 1 }])
    } finally {
      setMachines([], [])
    }
  })
})

/** An app with one route, `/broken`, whose handler throws. */
function failingApp(error: Error): AnyElysia {
  const declarations: Declarations = new Map()
  const fail = () => {
    throw error
  }
  const app = new Elysia()
    .use(pipeline(handlersOf(new Elysia()), declarations))
    .get('/broken', fail, { detail: { hide: true, permission: 'anyone' } })
  readDeclarations(app, declarations)
  return app
}

function expectError(answer: Answer, status: number, code: string) {
  expect([answer.status, answer.body?.error.code]).toEqual([status, code])
  expect(answer.body.error.details).toBeObject()
}

function paths(answer: Answer): string[] {
  return answer.body.error.details.errors.map(({ path }: { path: string }) => path)
}
