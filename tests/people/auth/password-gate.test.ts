/** Passwords that are checked or set: few at a time, in turns, and no more wait than can be done soon. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { ApiError } from '../../../src/base/errors'
import { hashPassword, verifyPassword } from '../../../src/people/auth/password'
import { createOrganization, PASSWORD, startApi, stopApi, stranger } from '../../support/api'
import { withSettings } from '../../support/settings'

beforeAll(() => startApi())
afterAll(stopApi)

const AT_ONCE = 2
const MOST_OF_ONE = 50
const MOST = 200

/** Counts how many hashes run at the same time while some work is done. */
async function mostAtOnce(work: () => Promise<unknown>): Promise<number> {
  let [running, most] = [0, 0]
  const { verify } = Bun.password
  const watched = spyOn(Bun.password, 'verify').mockImplementation(async (...given: Parameters<typeof verify>) => {
    most = Math.max(most, ++running)
    return verify(...given).finally(() => running--)
  })
  await work()
  watched.mockRestore()
  return most
}

test('a password is hashed by argon2id with 19 MiB and 2 passes', async () => {
  using asked = spyOn(Bun.password, 'hash')
  await hashPassword(PASSWORD, '192.0.2.1')
  expect(asked.mock.calls).toEqual([[PASSWORD, { algorithm: 'argon2id', memoryCost: 19 * 1024, timeCost: 2 }]])
})

test('of 100 sign-ins at the same time two passwords are checked at once, and right ones get through', async () => {
  const members = await Promise.all(Array.from({ length: 25 }, () => createOrganization()))
  const right = members.map(({ admin }) => ({ email: admin.email, password: PASSWORD }))
  const wrong = members.flatMap(({ agent }) => [
    { email: agent.email, password: 'not this one' },
    { email: `nobody.${agent.email}`, password: PASSWORD },
  ])
  let answers: { status: number; retry: string | null }[] = []
  const most = await mostAtOnce(async () => {
    answers = await Promise.all(
      [...wrong, ...right].map(async (credentials) => {
        const { status, headers } = await stranger().post('/auth/login', credentials)
        return { status, retry: headers.get('retry-after') }
      }),
    )
  })
  expect(most).toBe(AT_ONCE)
  // An address may try 50 passwords that it does not know to be right.
  for (const { status, retry } of answers) {
    expect([200, 401, 429, 503]).toContain(status)
    if (status === 429 || status === 503) expect(Number(retry)).toBeGreaterThan(0)
  }
  expect((await stranger().post('/auth/login', right[0])).status).not.toBe(503)
})

test('100 strangers from 100 addresses at the same time are all answered in their turns', async () => {
  using _ = withSettings({ TRUSTED_PROXIES: [ipaddr.parseCIDR('127.0.0.0/8')] })
  const { admin } = await createOrganization()
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      stranger().post(
        '/auth/login',
        { email: n === 99 ? admin.email : `stranger.${n}.${admin.email}`, password: PASSWORD },
        { 'x-forwarded-for': `198.51.100.${n}` },
      ),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual([...Array(99).fill(401), 200])
}, 120_000)

test('what one address asks for beyond 50 is 503 with Retry-After, and another address gets its turn', async () => {
  const done: string[] = []
  const ask = (asker: string) =>
    verifyPassword(PASSWORD, undefined, asker).then(
      () => done.push(asker),
      (error) => error as ApiError,
    )
  const greedy = Array.from({ length: MOST_OF_ONE + 30 }, () => ask('192.0.2.1'))
  const other = ask('192.0.2.2')
  const refused = (await Promise.all(greedy)).filter((result) => result instanceof ApiError)
  await other
  expect(refused.length).toBe(30)
  expect(refused[0]).toMatchObject({ code: 'SERVICE_UNAVAILABLE', status: 503, retry_after_s: expect.any(Number) })
  expect(done.indexOf('192.0.2.2')).toBeLessThanOrEqual(2 * AT_ONCE)
})

test('of all addresses together 200 wait at most', async () => {
  const cheap = await Bun.password.hash(PASSWORD)
  const asked = Array.from({ length: MOST + 20 }, (_, n) =>
    verifyPassword(PASSWORD, cheap, `192.0.2.${n}`).then(
      () => 'done',
      (error) => (error as ApiError).code,
    ),
  )
  const results = await Promise.all(asked)
  expect(results.filter((result) => result === 'SERVICE_UNAVAILABLE').length).toBe(20)
}, 120_000)
