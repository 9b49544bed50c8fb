/** Sends every body field and query parameter with common mistakes of clients and with attacks. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newId } from '../../src/base/db/columns'
import { turns } from '../../src/base/flow/turns'
import { type Client, createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { isForCustomers, manyCustomers } from '../support/customers'
import { type Endpoint, pathWith, readEndpoints, type Schema, typesOf, withParameters } from '../support/endpoints'
import { type ChangedSettings, withSettings } from '../support/settings'
import { createWorld, fingerprint, goodBody, goodRaw, type World } from '../support/world'

/** Thousands of requests on a busy machine. On a cluster they take 2 to 3 times as long. */
setDefaultTimeout(900_000)

let settings: ChangedSettings
let endpoints: Endpoint[]

beforeAll(async () => {
  await startApi()
  // Nothing sends here.
  settings = withSettings({ EMAIL_INLINE_WAIT_MS: 1 })
  endpoints = await readEndpoints()
})
afterAll(async () => {
  settings.restore()
  await stopApi()
})

/** Text that is text, and must be taken or refused as such. */
const TEXTS = [
  ...['', ' ', '\t\r\n', '\u00a0\u3000', '0', '-1', 'NaN', 'Infinity', '1e309', '0x10', 'null', 'undefined', 'true'],
  ...["'; drop table tickets; --", "' or '1'='1", '\\', '%', '_', '%00', '$1', '{}', '[]', '"', '{{7*7}}'],
  ...['<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '"><svg/onload=alert(1)>', '&amp;', ']]>'],
  ...[
    '\u202egnirts',
    '\u200f\u200e',
    'e\u0301\u0301\u0301',
    'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢',
    '👩‍👩‍👧‍👦',
    '\ufeff',
    '\uffff',
    '\u0001\u001f\u007f\u0085',
  ],
  ...['../../etc/passwd', 'a\r\nBcc: x@y.example', 'javascript:alert(1)', 'http://[::1', '__proto__', 'constructor'],
  ...[
    '00000000-0000-0000-0000-000000000000',
    newId(),
    '2026-02-30',
    '9999-12-31',
    '0000-00-00',
    '0000-01-01',
    '+275760-09-13',
  ],
]

/** Text that no field takes. */
const BAD_TEXTS = ['\u0000', 'a\u0000b', '\ud800', 'a\udc00b', '\udfff\ud800']

const LONG_TEXTS = ['x'.repeat(256), 'x'.repeat(20_000), '😀'.repeat(10_001), '\u0301'.repeat(5000), ' '.repeat(20_000)]

const NUMBERS = [
  0,
  -0,
  -1,
  1.5,
  0.001,
  1e-10,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  1e21,
  1e308,
  -1e308,
  525_601,
  1_000_001,
]

/** Not what JSON.stringify would write. */
const RAW_NUMBERS = ['1e999', '-1e999', '123456789012345678901234567890', '0.1000000000000000055511151231257827', '1E2']

const OTHERS: unknown[] = [
  ...[null, true, false, [], {}, [[]], [null], [{}], [1], [''], ['\u0000'], { length: 1 }, { toString: 1 }],
  ...[{ __proto__: null, id: newId() }, Array(51).fill(newId()), Array(5000).fill(0), { value: { value: {} } }],
]

const DEEP = `${'['.repeat(5000)}${']'.repeat(5000)}`

/** Each text is tried on every so many fields: there are a hundred, and they share their ways of reading text. */
const TEXT_EVERY = 8

/**
 * Values for a field as they stand in the JSON, with their types there: those of the field's type, a few of the others.
 * @param turn the number of the field
 */
function valuesFor(schema: Schema, turn: number): { json: string; type: string }[] {
  const some = TEXTS.filter((_, index) => index % TEXT_EVERY === turn % TEXT_EVERY)
  const texts = takes(schema, 'string') ? [...some, ...LONG_TEXTS] : TEXTS.slice(0, 4)
  const numbers = takes(schema, 'number') ? NUMBERS : NUMBERS.slice(0, 4)
  const written = [...texts, ...BAD_TEXTS, ...numbers, ...OTHERS].map((value) => JSON.stringify(value))
  return [...written, ...RAW_NUMBERS, DEEP].map((json) => ({ json, type: typeOfJson(json) }))
}

/** Good bodies that name nothing there is: tokens, codes, a provider; and a draft that messages have come after. */
const REFUSED = [
  'POST /auth/login',
  'POST /auth/login/second-factor',
  'POST /auth/second-factor/confirm',
  'POST /auth/second-factor/recovery-codes',
  'DELETE /auth/second-factor',
  'POST /auth/oidc/token',
  'PUT /identity-provider',
  // The ticket is not resolved.
  'PUT /my/tickets/{ticket_id}/rating',
  'POST /auth/refresh',
  'POST /auth/password/reset',
  'POST /auth/invitations/{token}/accept',
  'POST /drafts/{draft_id}/send',
]

describe('a body with one wrong field', () => {
  test('is never our fault, says which field it is, and leaves nothing', async () => {
    let tried = 0
    let turn = 0
    let organization = await createTarget(endpoints[0]!)
    for (const endpoint of endpoints.filter(({ body }) => body)) {
      // Endpoints of one collection share an organization: what one of them changes is of little use to others.
      if (collectionOf(endpoint) !== collectionOf(organization.endpoint)) organization = await createTarget(endpoint)
      for (const [path, schema] of fieldsOf(endpoint.body!)) {
        // The draft goes when it is sent.
        if (endpoint.path.endsWith('/send')) organization = await createTarget(endpoint)
        const target = { ...organization, endpoint }
        const requests = valuesFor(schema, turn++).map(({ json, type }): BadRequest => {
          // In a create a null is as if the field were absent, also in what a new ticket begins with.
          const is_flat =
            path.length === 1 || (endpoint.name === 'POST /tickets' && /^(contact|message)$/.test(path[0]!))
          const is_absent = type === 'null' && endpoint.method === 'POST' && is_flat
          const fault_at = !takes(schema, type) && !is_absent ? `/${path.join('/')}` : undefined
          return { body: () => withField(bodyFor(endpoint, path[0]!, target.world), path, json), about: json, fault_at }
        })
        for (const is_fault of [true, false]) {
          const some = requests.filter(({ fault_at }) => (fault_at !== undefined) === is_fault)
          await judge(target, path.join('/'), some)
        }
        tried += requests.length
      }
    }
    expect(tried).toBeGreaterThan(4000)
  })

  test('that is missing and required is told', async () => {
    const organization = await createTarget(endpoints[0]!)
    for (const endpoint of endpoints.filter(({ body }) => body?.required)) {
      const target = { ...organization, endpoint }
      const requests = endpoint.body!.required!.map((name): BadRequest => {
        const { [name]: _, ...body } = goodBody(endpoint.name, target.world)
        return { body: () => JSON.stringify(body), about: name, fault_at: `/${name}` }
      })
      await judge(target, 'without', requests)
    }
  })

  test('that programs give a meaning to is as unknown as any other', async () => {
    const organization = await createTarget(endpoints[0]!)
    const refused: string[] = []
    for (const endpoint of endpoints.filter(({ body }) => body)) {
      const target = { ...organization, endpoint }
      const body = () => {
        const good = JSON.stringify(goodBody(endpoint.name, target.world)).slice(0, -1)
        return `${good},"__proto__":{"role":"admin"},"constructor":{"prototype":{"role":1}},"toString":1,"toJSON":{}}`
      }
      const [status] = await judge(target, '__proto__', [{ body, about: '' }])
      if (status! >= 300) refused.push(endpoint.name)
    }
    expect(refused.sort()).toEqual(REFUSED.toSorted())
    expect(({} as { role?: string }).role).toBeUndefined()
  })
})

test('a query parameter with anything in it is never our fault and changes nothing', async () => {
  const texts = [...TEXTS, ...NUMBERS.map(String), 'x'.repeat(10_000), '😀'.repeat(256), 'x,y', `${newId()},`, ',']
  const codes = ['%00', 'a%00b', '%ff', '%ed%a0%80', '%', '%zz', '+', Array(51).fill(newId()).join()]
  let tried = 0
  const organization = await createTarget(endpoints[0]!)
  for (const endpoint of endpoints.filter(({ query }) => Object.keys(query).length > 0)) {
    const target = { ...organization, endpoint }
    for (const name of Object.keys(endpoint.query)) {
      const values = [...texts.map(encodeURIComponent), ...codes].map((value) => `?${name}=${value}`)
      const queries = [
        ...values,
        `?${name}=x&${name}=y`,
        `?${name}[]=x&${name}[a]=y&${name}.b=z`,
        `?${name}`,
        `?=${name}`,
      ]
      await judge(
        target,
        name,
        queries.map((query) => ({ query, about: query })),
      )
      tried += queries.length
    }
  }
  expect(tried).toBeGreaterThan(2000)
})

test('a path with anything for an id names nothing, and one that is no UTF-8 is refused', async () => {
  const { admin, customers } = await createTarget(endpoints[0]!)
  const ids = ["'", '%25', '%00', '..%2f..', 'null', 'x'.repeat(5000), '%F0%9F%98%80', '-1', newId(), '%ff']
  for (const endpoint of endpoints.filter(({ ids }) => ids.length > 0)) {
    for (const id of ids) {
      const raw = goodRaw(endpoint.name)
      const client = isForCustomers(endpoint) ? customers : admin
      const type: Record<string, string> = raw?.type ? { 'content-type': raw.type } : {}
      const answer = await client.send(endpoint.method, endpoint.path.replace(/{\w+}/g, id), raw?.body ?? '{}', type)
      const wanted = id === '%ff' ? [400, 'BAD_REQUEST'] : [404, expect.stringMatching(/NOT_FOUND$/)]
      const found = [endpoint.name, id, answer.status, answer.body?.error?.code]
      expect(found).toEqual([endpoint.name, id, ...wanted])
    }
  }
})

describe('a body as a whole', () => {
  test('that is no JSON object is refused by every endpoint that takes one', async () => {
    const texts = ['', '{', '[]', '3', 'null', '"x"', '{"a":1}}', '{"a":}', "{'a':1}", '\ufeff', DEEP, `{"a":${DEEP}}`]
    const no_utf8 = [Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d), Uint8Array.of(0xed, 0xa0, 0x80)]
    const target = await createTarget(endpoints[0]!)
    for (const endpoint of endpoints.filter(({ body }) => body)) {
      const bodies = [...texts, ...no_utf8].map((body): BadRequest => ({ body: () => body, about: String(body) }))
      const statuses = await judge({ ...target, endpoint }, 'no object', bodies)
      expect([endpoint.name, statuses.filter((status) => status !== 400 && status !== 422)]).toEqual([
        endpoint.name,
        [],
      ])
    }
  })

  test('of more than 8 MiB is 413 everywhere', async () => {
    const target = await createTarget(endpoints[0]!)
    const body = new TextEncoder().encode(`{"x":"${'x'.repeat(8 * 2 ** 20)}"}`)
    for (const endpoint of endpoints.filter(({ body }) => body)) {
      const statuses = await judge({ ...target, endpoint }, '8 MiB', [{ body: () => body, about: '' }])
      expect([endpoint.name, statuses]).toEqual([endpoint.name, [413]])
    }
  })
})

type Target = Organization & { endpoint: Endpoint; world: World; customers: Client }

/** A request that differs from a good one; `fault_at` is the field that a 422 must name, when there must be one. */
type BadRequest = { body?: () => string | Uint8Array; query?: string; about: string; fault_at?: string }

function collectionOf({ path }: Endpoint): string {
  return path.split('/')[1]!
}

async function createTarget(endpoint: Endpoint): Promise<Target> {
  const organization = await createOrganization()
  const world = await createWorld(organization)
  return { endpoint, ...organization, world, customers: await manyCustomers(organization, world.company_id, 400) }
}

/** Requests that are sent at once; there are half as many connections. */
const AT_ONCE = 10

/**
 * Sends all requests and checks what holds for each: a documented status, the envelope of an error, the field's fault.
 * When those that were not refused wrote something, the refused ones are sent once more, and must not write anything.
 * Returns the statuses.
 */
async function judge(target: Target, what: string, requests: BadRequest[]): Promise<number[]> {
  const before = await fingerprint(target.id)
  const statuses = await judgeEach(target, what, requests)
  const refused = requests.filter((_, index) => statuses[index]! >= 400)
  const after = await fingerprint(target.id)
  if (refused.length === requests.length || Bun.deepEquals(before, after)) {
    expect([target.endpoint.name, what, after]).toEqual([target.endpoint.name, what, before])
  } else {
    await judgeEach(target, what, refused)
    expect([target.endpoint.name, what, await fingerprint(target.id)]).toEqual([target.endpoint.name, what, after])
  }
  return statuses
}

function judgeEach(target: Target, what: string, requests: BadRequest[]): Promise<number[]> {
  // An organization has one export at a time.
  const inTurn = turns(target.endpoint.path.endsWith('/export') ? 1 : AT_ONCE)
  return Promise.all(requests.map((request) => inTurn(() => judgeOne(target, what, request))))
}

async function judgeOne(
  { endpoint, admin, customers, world }: Target,
  what: string,
  request: BadRequest,
): Promise<number> {
  const { name, method, path, statuses, body } = endpoint
  const raw = goodRaw(name)
  const content = request.body?.() ?? raw?.body ?? (body && JSON.stringify(goodBody(name, world)))
  const type: Record<string, string> = raw?.type ? { 'content-type': raw.type } : {}
  const client = isForCustomers(endpoint) ? customers : admin
  const answer = await client.send(
    method,
    withParameters(pathWith(path, world), request.query?.slice(1) ?? ''),
    content,
    type,
  )
  const about = [name, what, request.about.slice(0, 60), answer.status]
  expect([about, statuses]).toEqual([about, expect.arrayContaining([answer.status])])
  if (answer.status < 400) {
    expect([about, request.fault_at]).toEqual([about, undefined])
    return answer.status
  }
  expect([about, answer.body]).toEqual([about, { error: ERROR }])
  if (request.fault_at) {
    const pointers: string[] = (answer.body.error.details.errors ?? []).map((error: { path: string }) => error.path)
    // Depth is a fault of the whole body, and what may be null is judged as one.
    const { fault_at } = request
    const told = pointers.some((pointer) => pointer.startsWith(fault_at) || fault_at.startsWith(pointer))
    expect([about, pointers, told, answer.status]).toEqual([about, pointers, true, 422])
  }
  return answer.status
}

const ERROR = { code: expect.stringMatching(/^[A-Z_]+$/), message: expect.any(String), details: expect.any(Object) }

/** The fields of a body with their places, those of objects within it too. */
function fieldsOf({ properties = {} }: Schema, above: string[] = []): [string[], Schema][] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    [[...above, name], schema] as [string[], Schema],
    ...fieldsOf(schema, [...above, name]),
  ])
}

const PASSWORDS = ['password', 'current_password', 'new_password']

/** A good body for a test of one field: without passwords that it does not need, whose hash takes 40 ms. */
function bodyFor({ name, body }: Endpoint, field: string, world: World): Record<string, unknown> {
  const needed = [field, ...(PASSWORDS.includes(field) ? PASSWORDS : []), ...(body!.required ?? [])]
  const isNeeded = (key: string) => !PASSWORDS.includes(key) || needed.includes(key)
  return Object.fromEntries(Object.entries(goodBody(name, world)).filter(([key]) => isNeeded(key)))
}

/** The body as JSON with one field replaced by raw JSON. */
function withField(body: Record<string, unknown>, [name, ...below]: string[], json: string): string {
  const inner = below.length > 0 ? withField((body[name!] ?? {}) as Record<string, unknown>, below, json) : json
  const others = Object.entries(body).filter(([key]) => key !== name)
  return `{${[...others.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`), `"${name}":${inner}`]}}`
}

function takes(schema: Schema, type: string): boolean {
  return typesOf(schema).some((own) => own === type || (own === 'integer' && type === 'number'))
}

function typeOfJson(json: string): string {
  if (json === DEEP || json.startsWith('[')) return 'array'
  const value: unknown = JSON.parse(json)
  return value === null ? 'null' : typeof value
}
