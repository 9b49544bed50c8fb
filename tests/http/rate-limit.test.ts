import { afterAll, beforeAll, describe, expect, setSystemTime, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { RateLimiterRes } from 'rate-limiter-flexible'
import type { Network } from '../../src/base/address/networks'
import { clientAddress } from '../../src/base/net/client-address'
import { createLimiter } from '../../src/http/admission/rate-limit'
import { type Answer, api, createOrganization, startApi, stopApi, stranger } from '../support/api'
import { withSettings } from '../support/settings'

const LIMIT = 5

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
    for (let i = 0; i < LIMIT; i++) answers.push(await agent.get('/labels'))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-limit'))).toEqual(['5', '5', '5', '5', '5'])
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['4', '3', '2', '1', '0'])
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
    for (let i = 0; i < LIMIT + 20; i++) await agent.get('/labels')
    expect((await agent.get('/labels')).status).toBe(429)
    setSystemTime(new Date(Date.now() + 61_000))
    const answer = await agent.get('/labels')
    expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([200, '4'])
    setSystemTime()
  })

  test('take nothing from others of the organization', async () => {
    const { agent, admin } = await createOrganization()
    using _ = limited()
    for (let i = 0; i <= LIMIT; i++) await agent.get('/labels')
    expect((await agent.get('/labels')).status).toBe(429)
    expect((await admin.get('/labels')).headers.get('x-ratelimit-remaining')).toBe('4')
  })

  test('count at every path, known or not, and are refused before all other checks', async () => {
    const { agent } = await createOrganization()
    using _ = limited()
    await agent.get('/nonsense')
    await agent.post('/labels', '{')
    await agent.patch('/organization', {})
    await agent.get('/labels', { 'x-organization-id': 'nonsense' })
    const last = await agent.get('/auth/me')
    expect([last.status, last.headers.get('x-ratelimit-remaining')]).toEqual([200, '0'])
    for (const path of ['/nonsense', '/auth/me', '/labels']) expect((await agent.get(path)).status).toBe(429)
  })
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
  return withSettings({ RATE_LIMIT_PER_MINUTE: LIMIT, TRUSTED_PROXIES: proxies.map(network) })
}

function network(cidr: string): Network {
  return ipaddr.parseCIDR(cidr)
}
