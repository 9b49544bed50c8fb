/** Signing in while two processes serve, which count in one Redis. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash, randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { issueCertificate } from '../support/certificates'
import { createDatabase, type TestDatabase } from '../support/database'
import { addressOf, startStubProvider } from '../support/identity-provider'
import { type RedisServer, startRedis, WHY_NO_REDIS } from '../support/redis'
import { codeOf } from '../support/second-factor'
import { ADMIN, type Service, startService, until } from '../support/service'

const CODES = 10_000
/** Requests on their way at a time. */
const AT_ONCE = 40

let folder: string
let database: TestDatabase
let redis: RedisServer
const services: Service[] = []

if (WHY_NO_REDIS) console.warn(`Signing in over two processes is skipped: ${WHY_NO_REDIS}`)

beforeAll(async () => {
  if (WHY_NO_REDIS) return
  folder = mkdtempSync(path.join(tmpdir(), 'sign-in-'))
  database = await createDatabase()
  redis = await startRedis()
  const { ca_file } = await issueCertificate()
  for (const n of [0, 1]) {
    services[n] = await startService({
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      SECRET_KEY: 'a secret key that only tests use',
      BASE_URL: 'http://localhost:3000',
      DATA_DIR: path.join(folder, `data${n}`),
      // So that each request can say where it comes from.
      TRUSTED_PROXIES: '127.0.0.1/32',
      IDENTITY_ALLOWED_NETWORKS: '127.0.0.0/8',
      IDENTITY_CA_FILE: ca_file,
    })
  }
}, 120_000)
afterAll(async () => {
  if (WHY_NO_REDIS) return
  await Promise.all(services.map((service) => service.kill()))
  await redis.stop()
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Answer = { status: number; body: any; headers: Headers; text: string }

/** Sends to one of the processes, from an address. */
async function send(process: number, path: string, body?: object | string, headers = {}): Promise<Answer> {
  const answer = await fetch(`${services[process % services.length]!.url}/api/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    redirect: 'manual',
    headers: { ...(typeof body === 'object' && { 'content-type': 'application/json' }), ...headers },
    body: typeof body === 'object' ? JSON.stringify(body) : body,
  })
  const text = await answer.text()
  return {
    status: answer.status,
    body: text.startsWith('{') ? JSON.parse(text) : undefined,
    headers: answer.headers,
    text,
  }
}

const from = (n: number) => ({ 'x-forwarded-for': `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` })

/** The first step of a sign-in, with the right password. */
async function challengeAt(n: number): Promise<string> {
  return (await send(n, '/auth/login', ADMIN, from(n))).body.error.details.challenge
}

test.skipIf(Boolean(WHY_NO_REDIS))(
  'of 10,000 random codes from as many addresses 20 are tried and none opens; a right one waits for the next day',
  async () => {
    const [service] = services
    const { secret } = (await service!.call('POST', '/auth/second-factor', { current_password: ADMIN.password })).body
    const confirmed = await service!.call('POST', '/auth/second-factor/confirm', { code: codeOf(secret, -1) })
    expect(confirmed.status).toBe(200)
    const challenges = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => challengeAt(n)))
    const counted = new Map<string, number>()
    let next = 0
    const guess = async () => {
      for (let n = next++; n < CODES; n = next++) {
        const code = String(randomInt(1_000_000)).padStart(6, '0')
        const body = { challenge: challenges[n % AT_ONCE], code }
        const answer = await send(n, '/auth/login/second-factor', body, from(AT_ONCE + n))
        const result = `${answer.status} ${answer.body.error?.code}`
        counted.set(result, (counted.get(result) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, guess))
    expect(Object.fromEntries(counted)).toEqual({ '401 INVALID_CREDENTIALS': 20, '429 RATE_LIMITED': CODES - 20 })
    for (const n of [0, 1]) {
      const body = { challenge: await challengeAt(n), code: codeOf(secret) }
      const refused = await send(n, '/auth/login/second-factor', body, from(n))
      expect([refused.status, Number(refused.headers.get('retry-after')) > 23 * 3600]).toEqual([429, true])
    }
    // As if a day had passed.
    await new Bun.RedisClient(redis.url).send('FLUSHALL', [])
    const body = { challenge: await challengeAt(1), code: codeOf(secret) }
    expect((await send(1, '/auth/login/second-factor', body)).status).toBe(200)
  },
  300_000,
)

test.skipIf(Boolean(WHY_NO_REDIS))(
  'a session that its provider ends in one process ends in the other within ten seconds',
  async () => {
    using stub = await startStubProvider()
    const [service] = services
    const { organizations } = (await service!.call('GET', '/auth/me')).body
    const organization_id = organizations[0].id
    const put = { issuer: stub.issuer, client_id: 'desk' }
    expect((await service!.call('PUT', '/identity-provider', put)).status).toBe(200)
    const code_verifier = 'v'.repeat(50)
    const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
    const query = new URLSearchParams({ code_challenge, redirect_uri: 'http://127.0.0.1:4000/' })
    const started = await send(0, `/auth/oidc/${organization_id}/start?${query}`)
    const asked = addressOf(started).searchParams
    stub.nonce = asked.get('nonce')!
    stub.challenge = asked.get('code_challenge')!
    stub.claims = { sub: 'one', sid: 's1', email: ADMIN.email, email_verified: true }
    const back = new URLSearchParams({ organization: organization_id, state: asked.get('state')!, code: 'theirs' })
    const returned = await send(1, `/auth/oidc/callback?${back}`)
    const code = new URL(returned.headers.get('location')!).searchParams.get('code')
    const signed_in = await send(0, '/auth/oidc/token', { code, code_verifier })
    const session = { authorization: `Bearer ${signed_in.body.access_token}` }
    for (const n of [0, 1]) expect((await send(n, '/tickets', undefined, session)).status).toBe(200)
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const logout_token = await stub.sign({ nonce: undefined, jti: crypto.randomUUID(), events, sid: 's1' })
    const form = new URLSearchParams({ logout_token }).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await send(0, `/auth/oidc/${organization_id}/logout`, form, type)).status).toBe(200)
    expect((await send(0, '/tickets', undefined, session)).status).toBe(401)
    const isOver = async () => (await send(1, '/tickets', undefined, session)).status === 401
    await until('the session is over in the other process', isOver, 10_000)
  },
  60_000,
)
