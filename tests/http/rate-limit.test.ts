import { afterAll, beforeAll, describe, expect, setSystemTime, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { SignJWT } from 'jose'
import { RateLimiterRes } from 'rate-limiter-flexible'
import type { Network } from '../../src/base/address/networks'
import { newId } from '../../src/base/db/columns'
import { clientAddress } from '../../src/base/net/client-address'
import { countRequest, createLimiter } from '../../src/http/admission/rate-limit'
import { signAccessToken } from '../../src/http/admission/tokens'
import {
  type Answer,
  api,
  type Client,
  createOrganization,
  expectError,
  signIn,
  startApi,
  stopApi,
  stranger,
} from '../support/api'
import { createProgram } from '../support/api-keys'
import { withSettings } from '../support/settings'

const LIMIT = 5
const SESSION_LIMIT = 7

beforeAll(() => startApi())
afterAll(async () => {
  setSystemTime()
  await stopApi()
})

describe('requests of a user', () => {
  test('are counted down in headers and then refused', async () => {
    const { agent } = await createOrganization()
    using _ = limited()
    const answers: Answer[] = []
    for (let i = 0; i < SESSION_LIMIT; i++) answers.push(await agent.get('/labels'))
    expect(answers.map(({ status }) => status)).toEqual(Array(7).fill(200))
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-limit'))).toEqual(Array(7).fill('7'))
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual([
      '6',
      '5',
      '4',
      '3',
      '2',
      '1',
      '0',
    ])
    const refused = await agent.get('/labels')
    expect([refused.status, refused.body]).toEqual([
      429,
      { error: { code: 'RATE_LIMITED', message: 'Too many requests', details: {} } },
    ])
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(refused.headers.get('x-request-id')).toBeString()
    const wait_s = Number(refused.headers.get('retry-after'))
    expect(wait_s).toBeGreaterThan(0)
    expect(wait_s).toBeLessThanOrEqual(60)
    const reset_s = Number(refused.headers.get('x-ratelimit-reset'))
    expect(Math.abs(reset_s - (Date.now() / 1000 + wait_s))).toBeLessThan(5)
  })

  test('are let through again in the next minute, however many were refused', async () => {
    const { agent } = await createOrganization()
    using _ = limited()
    for (let i = 0; i < SESSION_LIMIT + 20; i++) await agent.get('/labels')
    expect((await agent.get('/labels')).status).toBe(429)
    setSystemTime(new Date(Date.now() + 61_000))
    const answer = await agent.get('/labels')
    expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([200, '6'])
    setSystemTime()
  })

  test('take nothing from others of the organization', async () => {
    const { agent, admin } = await createOrganization()
    using _ = limited()
    for (let i = 0; i <= SESSION_LIMIT; i++) await agent.get('/labels')
    expect((await agent.get('/labels')).status).toBe(429)
    expect((await admin.get('/labels')).headers.get('x-ratelimit-remaining')).toBe('6')
  })

  test('count at every path, known or not, and are refused before all other checks', async () => {
    const { agent } = await createOrganization()
    using _ = limited()
    await agent.get('/nonsense')
    await agent.post('/labels', '{')
    await agent.patch('/organization', {})
    await agent.get('/labels', { 'x-organization-id': 'nonsense' })
    const last = await agent.get('/auth/me')
    expect([last.status, last.headers.get('x-ratelimit-remaining')]).toEqual([200, '2'])
    for (let i = 0; i < 2; i++) await agent.get('/nonsense')
    for (const path of ['/nonsense', '/auth/me', '/labels']) expect((await agent.get(path)).status).toBe(429)
  })

  test('are counted together for all of their sessions, and apart from keys', async () => {
    const { admin, agent } = await createOrganization()
    const program = await createProgram(admin, ['labels:read'])
    const second = await signIn(agent.email)
    using _ = limited()
    for (let i = 0; i < SESSION_LIMIT; i++) {
      const { status, headers } = await (i % 2 ? agent : second).get('/labels')
      expect([status, headers.get('x-ratelimit-remaining')]).toEqual([200, String(SESSION_LIMIT - 1 - i)])
    }
    for (const client of [agent, second]) expectError(await client.get('/labels'), 429, 'RATE_LIMITED')
    const { headers } = await program.get('/labels')
    expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['5', '4'])
  })
})

describe('a request that is answered 304', () => {
  test('is not counted, and says what is left', async () => {
    const { admin } = await createOrganization()
    const path = `/labels/${(await admin.post('/labels', { name: 'New', color: '#123456' })).body.data.id}`
    const etag = (await admin.get(path)).headers.get('etag')!
    using _ = limited()
    expect((await admin.get(path)).headers.get('x-ratelimit-remaining')).toBe('6')
    for (let i = 0; i < SESSION_LIMIT * 2; i++) {
      const known = await admin.get(path, { 'if-none-match': etag })
      expect([known.status, known.headers.get('x-ratelimit-remaining')]).toEqual([304, '6'])
    }
    // The same header with another answer is counted.
    expect((await admin.get(path, { 'if-none-match': '"other"' })).headers.get('x-ratelimit-remaining')).toBe('5')
    expect((await admin.get('/labels/x', { 'if-none-match': '*' })).headers.get('x-ratelimit-remaining')).toBe('4')
  })

  test('is not counted among the requests of a key, and not for the bytes of a file', async () => {
    const { admin } = await createOrganization()
    const form = new FormData()
    form.set('file', new File(['hello'], 'hello.txt'))
    const { id } = (await admin.post('/attachments', form)).body.data
    const program = await createProgram(admin, ['messages:read'])
    const { url } = (await program.get(`/attachments/${id}`)).body.data
    const path = `/attachments/${id}/content${new URL(url).search}`
    using _ = limited()
    const { headers } = await program.get(path)
    for (let i = 0; i < LIMIT * 2; i++) {
      const known = await program.get(path, { 'if-none-match': headers.get('etag')! })
      expect([known.status, known.headers.get('x-ratelimit-remaining')]).toEqual([304, '4'])
    }
  })

  test('is refused like others once the limit is used up, and gives the next minute nothing', async () => {
    const { admin } = await createOrganization()
    const path = `/labels/${(await admin.post('/labels', { name: 'New', color: '#123456' })).body.data.id}`
    const known = { 'if-none-match': (await admin.get(path)).headers.get('etag')! }
    using _ = limited()
    const all = await Promise.all(Array.from({ length: SESSION_LIMIT * 3 }, () => admin.get(path, known)))
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([304, 429]))
    setSystemTime(new Date(Date.now() + 61_000))
    expect((await admin.get(path, known)).headers.get('x-ratelimit-remaining')).toBe('7')
    expect((await admin.get(path)).headers.get('x-ratelimit-remaining')).toBe('6')
    setSystemTime()
  })
})

test('a 304 that comes after its minute gives the next one nothing', async () => {
  using _ = limited()
  const headers: Record<string, string> = {}
  const counted = { key: 'late', setting: 'RATE_LIMIT_PER_MINUTE' } as const
  const uncount = await countRequest(counted, headers)
  setSystemTime(new Date(Date.now() + 61_000))
  uncount!(new Headers())
  await countRequest(counted, headers)
  expect(headers['x-ratelimit-remaining']).toBe(String(LIMIT - 1))
  setSystemTime()
})

describe('requests without a valid token', () => {
  test('are counted by address, whatever else they bring', async () => {
    using _ = limited(['127.0.0.0/8'])
    const from = (address: string, headers = {}) =>
      stranger().get('/labels', { 'x-forwarded-for': address, ...headers })
    const remaining = async (answer: Promise<Answer>) => (await answer).headers.get('x-ratelimit-remaining')
    expect(await remaining(from('192.0.2.1'))).toBe('4')
    expect(await remaining(from('192.0.2.1', { authorization: 'Bearer garbage' }))).toBe('3')
    expect(await remaining(from('203.0.113.9, 192.0.2.1'))).toBe('2')
    expect(await remaining(from('192.0.2.2'))).toBe('4')
  })

  test('that is forged, too old or of another kind count for the address, and not for who it names', async () => {
    const { agent, id } = await createOrganization()
    const claims = { email: agent.email, org_id: id, role: 'admin' }
    const [header, payload, signature] = agent.token.split('.')
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
    const forged = [
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256' })
        .setSubject(agent.user_id)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(new TextEncoder().encode('a key that somebody guessed, and wrong')),
      `${none}.${payload}.`,
      `${header}.${payload}.${signature!.split('').reverse().join('')}`,
      await signAccessToken({ ...claims, sub: agent.user_id }, newId()).then((token) => `${token}x`),
    ]
    using _ = limited(['127.0.0.0/8'])
    for (const [index, token] of forged.entries()) {
      const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': '192.0.2.30' }
      const answer = await stranger().get('/labels', headers)
      const shown = ['limit', 'remaining'].map((name) => answer.headers.get(`x-ratelimit-${name}`))
      expect([answer.status, ...shown]).toEqual([401, String(LIMIT), String(LIMIT - 1 - index)])
    }
    expect((await agent.get('/labels')).headers.get('x-ratelimit-remaining')).toBe(String(SESSION_LIMIT - 1))
  })

  test('whose session was ended use up nothing of the person, at whatever path and organization', async () => {
    const { agent, admin } = await createOrganization()
    for (const [n, attack] of [
      (client: Client) => client.get('/auth/me'),
      (client: Client) => client.get('/labels', { 'x-organization-id': newId() }),
      (client: Client) => client.get('/labels'),
    ].entries()) {
      const person = n % 2 ? admin : agent
      const stolen = await signIn(person.email)
      await person.delete('/auth/sessions')
      setSystemTime(new Date(Date.now() + 61_000 * n))
      using _ = limited()
      for (let i = 0; i < SESSION_LIMIT + LIMIT; i++) expect((await attack(stolen)).status).toBeGreaterThan(400)
      expect((await attack(stolen)).status).toBe(429)
      const { status, headers } = await person.get('/labels')
      expect([status, headers.get('x-ratelimit-remaining')]).toEqual([200, String(SESSION_LIMIT - 2)])
    }
    setSystemTime()
  })

  test('take nothing from users who come from there', async () => {
    const { agent } = await createOrganization()
    using _ = limited()
    for (let i = 0; i <= LIMIT; i++) await stranger().get('/labels')
    expect((await stranger().get('/labels')).status).toBe(429)
    expect((await agent.get('/labels')).status).toBe(200)
  })
})

test('what is outside of the API is not limited', async () => {
  using _ = limited()
  for (let i = 0; i < LIMIT * 2; i++) {
    for (const path of ['/healthz', '/swagger', '/nonsense']) {
      const response = await api().handle(new Request(`http://localhost${path}`))
      expect(response.status).not.toBe(429)
      expect(response.headers.get('x-ratelimit-limit')).toBeNull()
    }
  }
})

test('a limit of 0 is none, and has no headers', async () => {
  const { agent } = await createOrganization()
  const answer = await agent.get('/labels')
  expect([...answer.headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
})

test('while Redis is away each process counts for itself', async () => {
  const settings = withSettings({ REDIS_URL: 'redis://127.0.0.1:1' })
  const limiter = createLimiter('tests', 2, 60)
  settings.restore()
  await limiter.consume('key')
  await limiter.consume('key')
  const refused = await limiter.consume('key').catch((error) => error)
  expect(refused).toBeInstanceOf(RateLimiterRes)
  expect(refused.msBeforeNext).toBeGreaterThan(0)
})

describe('the address of a client', () => {
  const proxies = ['10.0.0.0/8', '2001:db8::/32']
  test.each<[string, string | null, string[], string]>([
    ['192.0.2.7', null, [], '192.0.2.7'],
    ['192.0.2.7', '198.51.100.1', [], '192.0.2.7'],
    ['192.0.2.7', '198.51.100.1', proxies, '192.0.2.7'],
    ['10.0.0.1', '198.51.100.1', proxies, '198.51.100.1'],
    ['::ffff:10.0.0.1', '198.51.100.1', proxies, '198.51.100.1'],
    ['2001:db8::1', '2001:db8::2, 2a00::5', proxies, '2a00::5'],
    ['10.0.0.1', '203.0.113.66, 198.51.100.1, 10.2.3.4', proxies, '198.51.100.1'],
    ['10.0.0.1', '10.0.0.2', proxies, '10.0.0.2'],
    ['10.0.0.1', 'unknown', proxies, '10.0.0.1'],
    ['10.0.0.1', '', proxies, '10.0.0.1'],
    ['10.0.0.1', '203.0.113.66, nonsense, 10.2.3.4', proxies, '10.2.3.4'],
  ])(
    'of a connection from %s with %j behind %j is the last that is not trusted',
    (peer, forwarded, trusted, client) => {
      expect(clientAddress(peer, forwarded, trusted.map(network))).toBe(client)
    },
  )
})

/** Limits requests, and trusts proxies, until the end of the block. */
function limited(proxies: string[] = []): Disposable {
  return withSettings({
    RATE_LIMIT_PER_MINUTE: LIMIT,
    SESSION_RATE_LIMIT_PER_MINUTE: SESSION_LIMIT,
    TRUSTED_PROXIES: proxies.map(network),
  })
}

function network(cidr: string): Network {
  return ipaddr.parseCIDR(cidr)
}
