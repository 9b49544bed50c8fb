/** Limits of wrong codes: together with passwords by email and address, and by account. */
import { afterAll, beforeAll, beforeEach, expect, setSystemTime, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { type Client, createOrganization, expectError, PASSWORD, startApi, stopApi, stranger } from '../../support/api'
import { challengeOf, codeOf, enableSecondFactor, secondStep, wrongCodeOf } from '../../support/second-factor'
import { withSettings } from '../../support/settings'

let settings: Disposable

beforeAll(async () => {
  await startApi()
  // So that each request can say where it comes from.
  settings = withSettings({ TRUSTED_PROXIES: [ipaddr.parseCIDR('127.0.0.0/8')] })
})
beforeEach(() => void setSystemTime())
afterAll(async () => {
  setSystemTime()
  settings[Symbol.dispose]()
  await stopApi()
})

const from = (address: string) => ({ 'x-forwarded-for': address })

/** Both steps with a wrong code. */
async function guess(client: Client, secret: string, address: string): Promise<number> {
  return (await secondStep(await challengeOf(client, from(address)), wrongCodeOf(secret), from(address))).status
}

test('wrong passwords and wrong codes of one email and address are ten together', async () => {
  const { agent } = await createOrganization()
  const { secret } = await enableSecondFactor(agent)
  const login = () => stranger().post('/auth/login', { email: agent.email, password: 'wrong' }, from('192.0.2.1'))
  for (let i = 0; i < 5; i++) expect((await login()).status).toBe(401)
  const challenge = await challengeOf(agent, from('192.0.2.1'))
  for (let i = 0; i < 4; i++) expect(await guess(agent, secret, '192.0.2.1')).toBe(401)
  expect(await guess(agent, secret, '192.0.2.1')).toBe(401)
  const refused = await secondStep(challenge, codeOf(secret), from('192.0.2.1'))
  expectError(refused, 429, 'RATE_LIMITED')
  expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 901)
  expectError(await login(), 429, 'RATE_LIMITED')
})

test('of 100 codes at the same time from as many addresses 20 are tried; a right one is refused for the day', async () => {
  const { agent } = await createOrganization()
  const { secret, recovery_codes } = await enableSecondFactor(agent)
  const addresses = Array.from({ length: 100 }, (_, i) => `198.51.100.${i}`)
  const challenges = await Promise.all(addresses.map((address) => challengeOf(agent, from(address))))
  const wrong = wrongCodeOf(secret)
  const answers = await Promise.all(challenges.map((challenge, i) => secondStep(challenge, wrong, from(addresses[i]!))))
  const statuses = answers.map(({ status }) => status).toSorted()
  expect(statuses).toEqual([...Array(20).fill(401), ...Array(80).fill(429)])
  for (const code of [codeOf(secret), recovery_codes[0]!]) {
    const refused = await secondStep(challenges[99]!, code, from('198.51.100.99'))
    expectError(refused, 429, 'RATE_LIMITED')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(23 * 3600)
  }
})

test('an address that signed in with a code has 20 of its own, and a right password alone gives none', async () => {
  const { agent } = await createOrganization()
  const { secret, recovery_codes } = await enableSecondFactor(agent)
  const [own, theirs] = [from('203.0.113.1'), from('203.0.113.2')]
  const steps = [await challengeOf(agent, own), await challengeOf(agent, theirs)]
  expect((await secondStep(steps[0]!, codeOf(secret), own)).status).toBe(200)
  for (let i = 0; i < 20; i++) expect(await guess(agent, secret, `203.0.113.${10 + Math.floor(i / 5)}`)).toBe(401)
  expectError(await secondStep(steps[1]!, recovery_codes[0]!, theirs), 429, 'RATE_LIMITED')
  const again = await challengeOf(agent, own)
  expect((await secondStep(again, recovery_codes[0]!, own)).status).toBe(200)
})

test('codes of a signed-in account are guessed no more often', async () => {
  const { agent } = await createOrganization()
  const { secret } = await enableSecondFactor(agent)
  const remove = (code: string) =>
    agent.delete('/auth/second-factor', { current_password: PASSWORD, code }, from('203.0.113.9'))
  for (let i = 0; i < 10; i++) expectError(await remove(wrongCodeOf(secret)), 422, 'INVALID_CODE')
  expectError(await remove(codeOf(secret)), 429, 'RATE_LIMITED')
})
