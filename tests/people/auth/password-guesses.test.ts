/** Limits of wrong passwords: by email and address, by address, and by account. */
import { afterAll, beforeAll, beforeEach, describe, expect, setSystemTime, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { newId } from '../../../src/base/db/columns'
import { type Answer, createOrganization, PASSWORD, startApi, stopApi, stranger } from '../../support/api'
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

describe('for one email and one address', () => {
  test('at most 10 of 80 wrong passwords at the same time are tried', async () => {
    const { agent, admin } = await createOrganization()
    const address = anyAddress()
    const answers = await Promise.all(Array.from({ length: 80 }, () => login(agent.email, 'wrong', address)))
    const codes = answers.map(({ status }) => status).toSorted()
    expect(codes).toEqual([...Array(10).fill(401), ...Array(70).fill(429)])
    const refused = await login(agent.email, PASSWORD, address)
    expectRefused(refused, 15 * 60)
    expect((await login(agent.email, PASSWORD, anyAddress())).status).toBe(200)
    expect((await login(admin.email, PASSWORD, address)).status).toBe(200)
  })

  test('right passwords give back what they counted', async () => {
    const { agent } = await createOrganization()
    const address = anyAddress()
    for (let i = 0; i < 9; i++) expect((await login(agent.email, 'wrong', address)).status).toBe(401)
    for (let i = 0; i < 5; i++) expect((await login(agent.email, PASSWORD, address)).status).toBe(200)
    expect((await login(agent.email, 'wrong', address)).status).toBe(401)
    expectRefused(await login(agent.email, PASSWORD, address), 15 * 60)
    setSystemTime(new Date(Date.now() + 15 * 60_000 + 1000))
    expect((await login(agent.email, PASSWORD, address)).status).toBe(200)
  })

  test('a network of IPv6 with 64 bits is one address', async () => {
    const { agent } = await createOrganization()
    for (let i = 0; i < 10; i++) {
      expect((await login(agent.email, 'wrong', `2001:db8:1:2:${i}::${i + 1}`)).status).toBe(401)
    }
    expectRefused(await login(agent.email, PASSWORD, '2001:db8:1:2:ffff::1'), 15 * 60)
    expect((await login(agent.email, PASSWORD, '2001:db8:1:3::1')).status).toBe(200)
  })
})

test('after 50 failures of an address in 15 minutes it is refused for every account, except where it signed in before', async () => {
  const { agent, admin } = await createOrganization()
  const address = anyAddress()
  expect((await login(admin.email, PASSWORD, address)).status).toBe(200)
  for (let i = 0; i < 50; i++) expect((await login(`${i}.${newId()}@a.example`, 'wrong', address)).status).toBe(401)
  expectRefused(await login(`${newId()}@a.example`, 'wrong', address), 15 * 60)
  expectRefused(await login(agent.email, PASSWORD, address), 15 * 60)
  expect((await login(admin.email, PASSWORD, address)).status).toBe(200)
  expect((await login(agent.email, PASSWORD, anyAddress())).status).toBe(200)
  setSystemTime(new Date(Date.now() + 15 * 60_000 + 1000))
  expect((await login(agent.email, PASSWORD, address)).status).toBe(200)
})

test('after 100 failures of an account in 24 hours it has one attempt a minute, except where its owner signed in', async () => {
  const { agent } = await createOrganization()
  const own = anyAddress()
  expect((await login(agent.email, PASSWORD, own)).status).toBe(200)
  for (let i = 0; i < 100; i++) {
    expect((await login(agent.email, 'wrong', `192.0.2.${Math.floor(i / 10)}`)).status).toBe(401)
  }
  expect((await login(agent.email, 'wrong', '198.51.100.1')).status).toBe(401)
  for (const password of ['wrong', PASSWORD]) {
    expectRefused(await login(agent.email, password, '198.51.100.2'), 60)
  }
  expect((await login(agent.email, PASSWORD, own)).status).toBe(200)
  setSystemTime(new Date(Date.now() + 61_000))
  expect((await login(agent.email, PASSWORD, '198.51.100.2')).status).toBe(200)
  expectRefused(await login(agent.email.toUpperCase(), await spent(agent.email), '198.51.100.4'), 60)
  setSystemTime(new Date(Date.now() + 24 * 60 * 60_000))
  for (let i = 0; i < 3; i++) expect((await login(agent.email, 'wrong', '198.51.100.5')).status).toBe(401)
})

test('an email without an account has the same limits', async () => {
  const email = `${newId()}@nobody.example`
  for (let i = 0; i < 10; i++) expect((await login(email, 'wrong', '203.0.113.1')).status).toBe(401)
  expectRefused(await login(email, 'wrong', '203.0.113.1'), 15 * 60)
})

test('the current password of a signed-in account is guessed no more often', async () => {
  const { agent } = await createOrganization()
  const headers = { 'x-forwarded-for': anyAddress() }
  const change = (current_password: string) =>
    agent.patch('/auth/me', { current_password, new_password: 'a new password' }, headers)
  for (let i = 0; i < 10; i++) {
    const answer = await change('wrong')
    expect([answer.status, answer.body.error.details.errors[0].path]).toEqual([422, '/current_password'])
  }
  expectRefused(await change(PASSWORD), 15 * 60)
  expectRefused(await login(agent.email, PASSWORD, headers['x-forwarded-for']), 15 * 60)
  expect((await agent.patch('/auth/me', { name: 'No password needed' }, headers)).status).toBe(200)
})

/** Uses up this minute's attempt of an account. @returns a wrong password */
async function spent(email: string): Promise<string> {
  expect((await login(email, 'wrong', '198.51.100.3')).status).toBe(401)
  return 'wrong'
}

function login(email: string, password: string, address: string): Promise<Answer> {
  return stranger().post('/auth/login', { email, password }, { 'x-forwarded-for': address })
}

let addresses = 0

/** An address that no other test uses. */
function anyAddress(): string {
  addresses++
  return `10.1.${Math.floor(addresses / 250)}.${(addresses % 250) + 1}`
}

function expectRefused(answer: Answer, most_s: number) {
  expect([answer.status, answer.body.error?.code]).toEqual([429, 'RATE_LIMITED'])
  expect(Number(answer.headers.get('retry-after'))).toBeWithin(1, most_s + 1)
}
