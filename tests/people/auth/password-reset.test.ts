import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { removeOldResets } from '../../../src/people/auth/password-reset'
import {
  type Answer,
  createOrganization,
  expectError,
  type Organization,
  PASSWORD,
  signIn,
  stranger,
} from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { lastLetterTo, nextToken, operatorServer } from '../../support/letters'
import { createMailbox, drain } from '../../support/mail'
import { withSettings } from '../../support/settings'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

const NEW = 'a new password'

let organization: Organization
let email: string
/** Each test has an address of its own, because requests are counted by it. */
let ip: number
beforeAll(() => {
  ip = 0
})
beforeEach(async () => {
  organization = await createOrganization()
  email = organization.agent.email
  ip++
})

describe('a forgotten password', () => {
  test('is answered with 204 for every email, and only an account gets a link', async () => {
    using _ = operatorServer(desk.sink)
    for (const address of [email, `nobody.${newId()}@b.example`, 'nonsense', '']) {
      const answer = await forgot(address)
      expect([answer.status, answer.text]).toEqual([204, ''])
    }
    const before = desk.sink.messages.length
    await drain()
    expect(desk.sink.messages.length - before).toBe(1)
    const letter = await lastLetterTo(desk.sink, email)
    expect([letter.from, letter.subject]).toEqual(['desk@operator.example', 'Set a new password'])
    expect(letter.link).toMatch(/^http:\/\/localhost:3000\/password-reset\?token=[\w-]{43}$/)
  })

  test('is set anew with the link, once, and all sessions end', async () => {
    using _ = operatorServer(desk.sink)
    const session = await signIn(email)
    const { refresh_token } = (await stranger().post('/auth/login', { email, password: PASSWORD })).body
    await forgot(` ${email.toUpperCase()} `)
    const token = await tokenFor(email)
    const answer = await reset(token)
    expect([answer.status, answer.text]).toEqual([204, ''])
    for (const client of [session, organization.agent]) expectError(await client.get('/auth/me'), 401, 'INVALID_TOKEN')
    expectError(await stranger().post('/auth/refresh', { refresh_token }), 401, 'INVALID_TOKEN')
    expectError(await login(PASSWORD), 401, 'INVALID_CREDENTIALS')
    expect((await login(NEW)).status).toBe(200)
    expectError(await reset(token), 401, 'INVALID_TOKEN')
  })

  test('is held by the person then', async () => {
    using _ = operatorServer(desk.sink)
    await forgot(email)
    await reset(await tokenFor(email))
    const other = await createOrganization()
    await other.admin.post('/users', { email, name: 'X' })
    const { body } = await stranger().get(`/auth/invitations/${await tokenFor(email)}`)
    expect(body.data.needs_password).toBe(false)
  })

  test('ends the other links when one is used', async () => {
    using _ = operatorServer(desk.sink)
    await forgot(email)
    const first = await tokenFor(email)
    await forgot(email)
    expect((await reset(await tokenFor(email))).status).toBe(204)
    expectError(await reset(first), 401, 'INVALID_TOKEN')
  })

  test('gets at most three links in an hour', async () => {
    using _ = operatorServer(desk.sink)
    const before = desk.sink.messages.length
    for (let n = 0; n < 5; n++) expect((await forgot(email)).status).toBe(204)
    await drain()
    expect(desk.sink.messages.length - before).toBe(3)
  })

  test('may be asked for 20 times in an hour by one client, whatever the email, and the guide says so', async () => {
    const { sql } = connection()
    for (let n = 0; n < 20; n++) expect((await forgot(`nobody.${n}@b.example`, 'busy')).status).toBe(204)
    const answer = await forgot(email, 'busy')
    expectError(answer, 429, 'RATE_LIMITED')
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    const [row] = await sql`select from password_resets where user_id = ${organization.agent.user_id}`
    expect(row).toBeUndefined()
    const guide = await Bun.file('src/guide/api.md').text()
    expect(guide).toContain(
      'After 20 requests of one client address in an hour, whatever the emails, the answer is 429',
    )
  })

  test('has a link for an hour', async () => {
    using _ = operatorServer(desk.sink)
    await forgot(email)
    const token = await tokenFor(email)
    const { sql } = connection()
    const age = (by: string) => sql`
      update password_resets set expires_at = now() - ${by}::interval where user_id = ${organization.agent.user_id}`
    const [row] = await sql`
      select expires_at between now() + interval '59 minutes' and now() + interval '1 hour' as is_in_an_hour
      from password_resets where user_id = ${organization.agent.user_id}`
    expect(row).toEqual({ is_in_an_hour: true })
    await age('1 second')
    await removeOldResets(connection())
    expectError(await reset(token), 401, 'TOKEN_EXPIRED')
    await age('2 days')
    await removeOldResets(connection())
    expectError(await reset(token), 401, 'INVALID_TOKEN')
    expect((await login(PASSWORD)).status).toBe(200)
  })

  test.each([
    [{}, ['/token', '/new_password']],
    [{ token: 7, new_password: 'seven77' }, ['/token', '/new_password']],
    [{ token: 'x', new_password: 'x'.repeat(201) }, ['/new_password']],
  ])('is not set with %j', async (body, paths) => {
    const answer = await stranger().post('/auth/password/reset', body)
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual(paths)
  })

  test('needs an email as text, and a token that is known', async () => {
    expectError(await stranger().post('/auth/password/forgot', {}), 422, 'VALIDATION_ERROR')
    expectError(await reset('x'.repeat(43)), 401, 'INVALID_TOKEN')
  })

  test('has no link when the address has become another one', async () => {
    using _ = operatorServer(desk.sink)
    await forgot(email)
    const token = await tokenFor(email)
    await organization.admin.patch(`/users/${organization.agent.user_id}`, { email: `new.${email}` })
    expectError(await reset(token), 401, 'INVALID_TOKEN')
  })

  test('of somebody without an active membership has no link, nor one whose address is a mailbox', async () => {
    using _ = operatorServer(desk.sink)
    const { admin, agent, addMember } = organization
    const other = await addMember('agent')
    await admin.patch(`/users/${agent.user_id}`, { active: false })
    await createMailbox(admin, { address: other.email })
    const before = desk.sink.messages.length
    for (const address of [email, other.email]) expect((await forgot(address)).status).toBe(204)
    await drain()
    expect(desk.sink.messages).toHaveLength(before)
  })

  test('leaves no token in the database', async () => {
    using _ = operatorServer(desk.sink)
    await forgot(email)
    const { sql } = connection()
    const rows = async () =>
      JSON.stringify([await sql`select * from letters`, await sql`select * from password_resets`])
    const waiting = await rows()
    const token = await tokenFor(email)
    for (const text of [waiting, await rows()]) expect(text).not.toContain(token)
  })
})

describe('without a server of the operator', () => {
  test('the link leaves by the mailbox of the only organization, and makes no password held', async () => {
    await forgot(desk.agent.email)
    const letter = await lastLetterAfterDrain(desk.agent.email)
    expect(letter.from).toBe(desk.address)
    expect((await reset(letter.token)).status).toBe(204)
    using _ = operatorServer(desk.sink)
    await organization.admin.post('/users', { email: desk.agent.email, name: 'X' })
    const { body } = await stranger().get(`/auth/invitations/${await tokenFor(desk.agent.email)}`)
    expect(body.data.needs_password).toBe(true)
  })

  test('no link leaves for an account of several organizations, whose admins could read it', async () => {
    const { user_id, email } = desk.admin
    await join(organization, user_id)
    const before = desk.sink.messages.length
    await forgot(email)
    await drain()
    expect(desk.sink.messages).toHaveLength(before)
  })

  test('a link ends when another organization relies on the account by now', async () => {
    const { email, user_id } = await desk.addMember('agent')
    await forgot(email)
    const { token } = await lastLetterAfterDrain(email)
    await join(organization, user_id)
    expectError(await reset(token), 401, 'INVALID_TOKEN')
    expect((await signIn(email)).user_id).toBe(user_id)
  })
})

async function join({ id }: Organization, user_id: string): Promise<void> {
  await connection().sql`insert into memberships (organization_id, user_id) values (${id}, ${user_id})`
}

/** @param client which one asks: each test is one, unless it says otherwise */
async function forgot(address: string, client: 'own' | 'busy' = 'own'): Promise<Answer> {
  using _ = withSettings({ TRUSTED_PROXIES: [ipaddr.parseCIDR('127.0.0.0/8')] })
  const from = client === 'busy' ? '198.51.100.7' : `203.0.113.${ip}`
  return stranger().post('/auth/password/forgot', { email: address }, { 'x-forwarded-for': from })
}

const tokenFor = (address: string) => nextToken(desk.sink, address)

async function lastLetterAfterDrain(address: string) {
  await drain()
  return lastLetterTo(desk.sink, address)
}

function reset(token: string): Promise<Answer> {
  return stranger().post('/auth/password/reset', { token, new_password: NEW })
}

function login(password: string): Promise<Answer> {
  return stranger().post('/auth/login', { email, password })
}
