import { afterAll, beforeAll, describe, expect, setSystemTime, test } from 'bun:test'
import { createHash, createHmac } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT, UnsecuredJWT } from 'jose'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { keysOf, useSecrets } from '../../../src/base/secrets'
import { forgetMemberships } from '../../../src/http/admission/membership'
import { deleteExpiredTokens } from '../../../src/people/auth/commands'
import {
  type Answer,
  type Client,
  createOrganization,
  expectError,
  type Organization,
  PASSWORD,
  signIn,
  startApi,
  stopApi,
  stranger,
} from '../../support/api'

beforeAll(() => startApi())
afterAll(stopApi)

const NOBODY = '018f0000-0000-7000-8000-000000000000'

describe('signing in', () => {
  test('gives an access token, a refresh token and the account', async () => {
    const { agent, id } = await createOrganization()
    const answer = await login(agent.email)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'bearer',
      expires_in: 900,
      user: { id: agent.user_id, email: agent.email, name: 'Alan Agent' },
    })
    const claims = decodeJwt(answer.body.access_token)
    expect(decodeProtectedHeader(answer.body.access_token).alg).toBe('HS256')
    expect(claims).toEqual({
      sub: agent.user_id,
      email: agent.email,
      org_id: id,
      role: 'agent',
      iat: expect.any(Number),
      exp: claims.iat! + 900,
      jti: expect.any(String),
    })
  })

  test('gives another token each time', async () => {
    const { agent } = await createOrganization()
    const [first, second] = await Promise.all([login(agent.email), login(agent.email)])
    expect(first.body.access_token).not.toBe(second.body.access_token)
    expect(first.body.refresh_token).not.toBe(second.body.refresh_token)
  })

  test('takes the email in any case and with space around it', async () => {
    const { agent } = await createOrganization()
    const answer = await login(`  ${agent.email.toUpperCase()} `)
    expect([answer.status, answer.body.user?.email]).toEqual([200, agent.email])
  })

  test('answers an unknown email like a wrong password', async () => {
    const { agent } = await createOrganization()
    const wrong = await login(agent.email, 'not the password')
    const unknown = await login(`nobody.${newId()}@deskwire.example`, PASSWORD)
    expect(unknown.body).toEqual(wrong.body)
    for (const answer of [wrong, unknown]) expectError(answer, 401, 'INVALID_CREDENTIALS')
    expect(wrong.body.error.details).toEqual({})
    expect(wrong.headers.get('www-authenticate')).toBe('Bearer')
  })

  test('answers a password that is too short or too long like any wrong one', async () => {
    const { agent } = await createOrganization()
    for (const password of ['', 'x', 'y'.repeat(5000)]) {
      expectError(await login(agent.email, password), 401, 'INVALID_CREDENTIALS')
    }
    expectError(await login('no email', PASSWORD), 401, 'INVALID_CREDENTIALS')
  })

  test.each([
    [{}, ['/email', '/password']],
    [{ email: 'a@b.com' }, ['/password']],
    [{ email: null, password: 'long enough' }, ['/email']],
    [{ email: 7, password: true }, ['/email', '/password']],
  ])('needs email and password as text: %j', async (body, paths) => {
    const answer = await stranger().post('/auth/login', body)
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual(paths)
  })

  test('is refused after 10 failures for one email and address, even with the right password', async () => {
    const { agent, admin } = await createOrganization()
    for (let i = 0; i < 10; i++)
      expectError(await login(agent.email.toUpperCase(), 'wrong'), 401, 'INVALID_CREDENTIALS')
    for (const password of ['wrong', PASSWORD]) {
      const answer = await login(agent.email, password)
      expectError(answer, 429, 'RATE_LIMITED')
      const wait_s = Number(answer.headers.get('retry-after'))
      expect(wait_s).toBeGreaterThan(0)
      expect(wait_s).toBeLessThanOrEqual(15 * 60)
    }
    expect((await login(admin.email)).status).toBe(200)
  })

  test('counts only failures', async () => {
    const { agent } = await createOrganization()
    for (let i = 0; i < 12; i++) expect((await login(agent.email)).status).toBe(200)
  })

  test('acts in the oldest membership', async () => {
    const { agent, id } = await createOrganization('First')
    const second = await createOrganization('Second')
    await addMembership(second.id, agent.user_id, 'admin')
    const { access_token } = (await login(agent.email)).body
    expect(decodeJwt(access_token)).toMatchObject({ org_id: id, role: 'agent' })
    await end({ id }, agent)
    const later = (await login(agent.email)).body
    expect(decodeJwt(later.access_token)).toMatchObject({ org_id: second.id, role: 'admin' })
  })
})

describe('refreshing', () => {
  test('gives an access token and no new refresh token, as often as wanted', async () => {
    const { agent } = await createOrganization()
    const { refresh_token } = (await login(agent.email)).body
    for (let i = 0; i < 2; i++) {
      const answer = await stranger().post('/auth/refresh', { refresh_token })
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({ access_token: expect.any(String), token_type: 'bearer', expires_in: 900 })
      const me = await stranger().get('/auth/me', { authorization: `Bearer ${answer.body.access_token}` })
      expect(me.body.id).toBe(agent.user_id)
    }
  })

  test('needs no access token and minds no bad one', async () => {
    const { agent } = await createOrganization()
    const { refresh_token } = (await login(agent.email)).body
    const answer = await stranger().post('/auth/refresh', { refresh_token }, { authorization: 'Bearer garbage' })
    expect(answer.status).toBe(200)
  })

  test('with an unknown token, an access token or nothing is refused', async () => {
    const { agent } = await createOrganization()
    for (const refresh_token of ['', 'unknown', agent.token]) {
      expectError(await stranger().post('/auth/refresh', { refresh_token }), 401, 'INVALID_TOKEN')
    }
    const answer = await stranger().post('/auth/refresh', {})
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors[0].path).toBe('/refresh_token')
  })

  test('with an expired token answers TOKEN_EXPIRED, also before and after the clean-up', async () => {
    const { agent } = await createOrganization()
    const { sql } = connection()
    const expire = (token: string, ago: string) => sql`
      insert into refresh_tokens (token_hash, user_id, expires_at)
      values (${hash(token)}, ${agent.user_id}, now() - ${ago}::interval)`
    await expire(`late ${agent.user_id}`, '1 second')
    await expire(`very late ${agent.user_id}`, '2 days')
    const refresh = (token: string) => stranger().post('/auth/refresh', { refresh_token: `${token} ${agent.user_id}` })
    expectError(await refresh('late'), 401, 'TOKEN_EXPIRED')
    expectError(await refresh('very late'), 401, 'TOKEN_EXPIRED')
    await deleteExpiredTokens(connection())
    expectError(await refresh('late'), 401, 'TOKEN_EXPIRED')
    expectError(await refresh('very late'), 401, 'INVALID_TOKEN')
  })

  test('tokens are kept as hashes for 7 days', async () => {
    const { agent } = await createOrganization()
    const { refresh_token } = (await login(agent.email)).body
    const [row] = await connection().sql`
      select expires_at between now() + interval '6 days 23 hours' and now() + interval '7 days' as in_7_days
      from refresh_tokens where token_hash = ${hash(refresh_token)}`
    expect(row).toEqual({ in_7_days: true })
  })

  test('takes the role from the database', async () => {
    const { agent, id } = await createOrganization()
    const { refresh_token } = (await login(agent.email)).body
    await connection().sql`
      update memberships set role = 'admin' where organization_id = ${id} and user_id = ${agent.user_id}`
    const { access_token } = (await stranger().post('/auth/refresh', { refresh_token })).body
    expect(decodeJwt(access_token).role).toBe('admin')
  })
})

describe('signing out', () => {
  test('ends the refresh token and no other', async () => {
    const { agent } = await createOrganization()
    const first = (await login(agent.email)).body.refresh_token
    const second = (await login(agent.email)).body.refresh_token
    const answer = await agent.post('/auth/logout', { refresh_token: first })
    expect([answer.status, answer.text]).toEqual([204, ''])
    expectError(await stranger().post('/auth/refresh', { refresh_token: first }), 401, 'INVALID_TOKEN')
    expect((await stranger().post('/auth/refresh', { refresh_token: second })).status).toBe(200)
  })

  test('answers alike for any string, and leaves the tokens of others', async () => {
    const { agent, admin } = await createOrganization()
    const { refresh_token } = (await login(admin.email)).body
    for (const token of [refresh_token, 'unknown', '']) {
      expect((await agent.post('/auth/logout', { refresh_token: token })).status).toBe(204)
    }
    expect((await stranger().post('/auth/refresh', { refresh_token })).status).toBe(200)
  })

  test('needs a refresh token in the body and an access token', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.post('/auth/logout', {})
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors[0].path).toBe('/refresh_token')
    expectError(await stranger().post('/auth/logout', { refresh_token: 'x' }), 401, 'INVALID_TOKEN')
  })
})

describe('the own account', () => {
  test('lists the organizations with the role in each, oldest first', async () => {
    const { agent, id } = await createOrganization('First')
    const second = await createOrganization('Second')
    await addMembership(second.id, agent.user_id, 'admin')
    const answer = await agent.get('/auth/me')
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      id: agent.user_id,
      email: agent.email,
      name: 'Alan Agent',
      organizations: [
        { id, name: 'First', role: 'agent' },
        { id: second.id, name: 'Second', role: 'admin' },
      ],
      available: true,
      notify: expect.any(Object),
    })
  })

  test('has no organization any more after the last membership ended', async () => {
    const { agent, id } = await createOrganization()
    await end({ id }, agent)
    expect((await agent.get('/auth/me')).body.organizations).toEqual([])
  })

  test('does not mind the organization header', async () => {
    const { agent } = await createOrganization()
    for (const header of ['nonsense', NOBODY]) {
      expect((await agent.get('/auth/me', { 'x-organization-id': header })).status).toBe(200)
    }
  })

  test('can be renamed, which is seen at once', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.patch('/auth/me', { name: ' Alan Turing ', email: 'other@example.com', role: 'admin' })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id: agent.user_id, name: 'Alan Turing', email: agent.email })
    expect(answer.body).toEqual((await agent.get('/auth/me')).body)
    expect(answer.body.organizations[0].role).toBe('agent')
  })

  test('gets a new password with the current one, which ends all refresh tokens', async () => {
    const { agent } = await createOrganization()
    const { refresh_token } = (await login(agent.email)).body
    const changes = { current_password: PASSWORD, new_password: '  eight  ' }
    expect((await agent.patch('/auth/me', changes)).status).toBe(200)
    expectError(await stranger().post('/auth/refresh', { refresh_token }), 401, 'INVALID_TOKEN')
    expectError(await login(agent.email), 401, 'INVALID_CREDENTIALS')
    expectError(await login(agent.email, 'eight'), 401, 'INVALID_CREDENTIALS')
    expect((await login(agent.email, '  eight  ')).status).toBe(200)
  })

  test.each([
    [{ new_password: 'long enough' }, '/current_password'],
    [{ new_password: 'long enough', current_password: 'wrong' }, '/current_password'],
    [{ new_password: 'x'.repeat(7), current_password: PASSWORD }, '/new_password'],
    [{ new_password: 'x'.repeat(201), current_password: PASSWORD }, '/new_password'],
    [{ new_password: null, current_password: PASSWORD }, '/new_password'],
    [{ name: ' ' }, '/name'],
    [{ name: null }, '/name'],
    [{ name: 'n'.repeat(256) }, '/name'],
    [{ name: 5 }, '/name'],
  ])('is not changed by %j', async (changes, path) => {
    const { agent } = await createOrganization()
    const answer = await agent.patch('/auth/me', { name: 'Changed', ...changes })
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors[0].path).toBe(path)
    expect((await agent.get('/auth/me')).body.name).toBe('Alan Agent')
    expect((await login(agent.email)).status).toBe(200)
  })
})

describe('an access token', () => {
  test('is refused when it was not made here or says too little', async () => {
    const { agent } = await createOrganization()
    const { iat, exp, ...claims } = decodeJwt(agent.token)
    const key = new TextEncoder().encode(keysOf('access-token')[0]!.toString('hex'))
    const signed = (payload: object, alg = 'HS256', secret = key) =>
      new SignJWT({ ...payload }).setProtectedHeader({ alg }).setIssuedAt().setExpirationTime('15m').sign(secret)
    const [head, body, signature] = agent.token.split('.')
    const bad: Record<string, string> = {
      garbage: 'garbage',
      'another algorithm': await signed(claims, 'HS512'),
      'another key': await signed(claims, 'HS256', new TextEncoder().encode('x'.repeat(64))),
      'no signature': new UnsecuredJWT(claims).setExpirationTime('15m').encode(),
      'a changed claim': `${head}.${btoa(JSON.stringify({ ...claims, iat, exp, role: 'admin' }))}.${signature}`,
      'a cut signature': `${head}.${body}.${signature!.slice(0, -4)}`,
      'no user': await signed({ ...claims, sub: undefined }),
      'a user that is no id': await signed({ ...claims, sub: 'admin' }),
      'no organization': await signed({ ...claims, org_id: undefined }),
      'no address': await signed({ ...claims, email: undefined }),
      'a role that is no text': await signed({ ...claims, role: ['admin'] }),
      'no end': await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).setIssuedAt().sign(key),
      'no beginning': await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('15m').sign(key),
      'a beginning in the future': await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuedAt('2m')
        .setExpirationTime('15m')
        .sign(key),
      'a beginning in the future beside one of now': await signed({ ...claims, issued_s: nowS() + 120 }),
      'a beginning that is a text': signedByHand({ ...claims, iat: String(nowS()), exp: nowS() + 900 }, key),
      'an end that is a text': signedByHand({ ...claims, iat: nowS(), exp: String(nowS() + 900) }, key),
      'an end without end': signedByHand({ ...claims, iat: nowS(), exp: 'END' }, key, ['"END"', '1e400']),
      'a second beginning that is a text': await signed({ ...claims, issued_s: String(nowS()) }),
      'claims that are a list': signedByHand([claims], key),
      'claims that are null': signedByHand(null, key),
    }
    for (const [what, token] of Object.entries(bad)) {
      const answer = await stranger().get('/labels', { authorization: `Bearer ${token}` })
      expect([what, answer.status, answer.body.error.code]).toEqual([what, 401, 'INVALID_TOKEN'])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    const good = await stranger().get('/labels', { authorization: `Bearer ${await signed(claims)}` })
    expect(good.status).toBe(200)
  })

  test('is read by the release before, and its tokens are read here', async () => {
    const { agent } = await createOrganization()
    const key = new TextEncoder().encode(keysOf('access-token')[0]!.toString('hex'))
    const { payload, protectedHeader } = await jwtVerify(agent.token, key, { algorithms: ['HS256'] })
    expect(protectedHeader).toEqual({ alg: 'HS256', typ: 'JWT' })
    expect(payload.exp! - payload.iat!).toBeWithin(899, 901)
    const { jti, ...claims } = payload
    for (const former of [{ ...claims, jti }, claims]) {
      const token = await new SignJWT(former).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(key)
      expect((await stranger().get('/labels', { authorization: `Bearer ${token}` })).status).toBe(200)
    }
  })

  test('of the previous secret key is refused, and a refresh token gets a new one', async () => {
    const { agent } = await createOrganization()
    const { access_token, refresh_token } = (await login(agent.email)).body
    useSecrets('another secret key that only tests use', 'a secret key that only tests use')
    try {
      const call = (token: string) => stranger().get('/labels', { authorization: `Bearer ${token}` })
      expectError(await call(access_token), 401, 'INVALID_TOKEN')
      const answer = await stranger().post('/auth/refresh', { refresh_token })
      expect((await call(answer.body.access_token)).status).toBe(200)
    } finally {
      useSecrets('a secret key that only tests use')
    }
  })

  test('ends after the time of the settings, whatever end it names', async () => {
    const { agent } = await createOrganization()
    const { iat, exp, ...claims } = decodeJwt(agent.token)
    const key = new TextEncoder().encode(keysOf('access-token')[0]!.toString('hex'))
    const madeAgo = (seconds: number) =>
      new SignJWT({ ...claims, iat: Math.floor(Date.now() / 1000) - seconds })
        .setProtectedHeader({ alg: 'HS256' })
        .setExpirationTime('10y')
        .sign(key)
    const call = (token: string) => stranger().get('/labels', { authorization: `Bearer ${token}` })
    expectError(await call(await madeAgo(901)), 401, 'TOKEN_EXPIRED')
    const token = await madeAgo(600)
    expect((await call(token)).status).toBe(200)
    setSystemTime(new Date(Date.now() + 301_000))
    try {
      expectError(await call(token), 401, 'TOKEN_EXPIRED')
    } finally {
      setSystemTime()
    }
  })

  test('ends after its time, whether or not it was used before', async () => {
    const { agent, admin } = await createOrganization()
    expect((await agent.get('/labels')).status).toBe(200)
    const { exp } = decodeJwt(agent.token)
    setSystemTime(new Date((exp! + 5) * 1000))
    try {
      expectError(await agent.get('/labels'), 401, 'TOKEN_EXPIRED')
      expectError(await admin.get('/auth/me'), 401, 'TOKEN_EXPIRED')
    } finally {
      setSystemTime()
    }
    expect((await admin.get('/labels')).status).toBe(200)
  })

  test('comes as Bearer, in any case', async () => {
    const { agent } = await createOrganization()
    const status = async (authorization: string) => (await stranger().get('/labels', { authorization })).status
    expect(await status(`bearer ${agent.token}`)).toBe(200)
    expect(await status(`BEARER   ${agent.token}`)).toBe(200)
    for (const header of [agent.token, `Basic ${agent.token}`, `Bearer`, 'Bearer ', `Bearer ${agent.token} x`]) {
      expect(await status(header)).toBe(401)
    }
  })

  test('is needed: a refresh token cannot call', async () => {
    const { agent } = await createOrganization()
    const { refresh_token } = (await login(agent.email)).body
    const answer = await stranger().get('/labels', { authorization: `Bearer ${refresh_token}` })
    expectError(answer, 401, 'INVALID_TOKEN')
    expectError(await stranger().get('/labels'), 401, 'INVALID_TOKEN')
  })

  test('does not decide the role: the database does', async () => {
    const { admin, agent, id } = await createOrganization()
    await connection().sql`
      update memberships set role = case role when 'admin' then 'agent' else 'admin' end where organization_id = ${id}`
    forgetMemberships(admin.user_id)
    forgetMemberships(agent.user_id)
    expectError(await admin.patch('/organization', { name: 'Mine' }), 403, 'FORBIDDEN')
    expect((await agent.patch('/organization', { name: 'Theirs' })).status).toBe(200)
  })
})

describe('access ends', () => {
  test.each(['removed', 'deactivated'])('with a membership that is %s', async (how) => {
    const { admin, agent } = await createOrganization()
    const { refresh_token } = (await login(agent.email)).body
    expect((await agent.get('/labels')).status).toBe(200)
    const path = `/users/${agent.user_id}`
    const ended = how === 'removed' ? await admin.delete(path) : await admin.patch(path, { active: false })
    expect(ended.status).toBeLessThan(300)
    expectError(await agent.get('/labels'), 403, 'FORBIDDEN')
    expectError(await agent.get('/tickets', { 'x-organization-id': NOBODY }), 403, 'FORBIDDEN')
    expectError(await login(agent.email), 401, 'INVALID_CREDENTIALS')
    expectError(await stranger().post('/auth/refresh', { refresh_token }), 401, 'INVALID_TOKEN')
  })

  test('in one organization, and goes on in the other', async () => {
    const { admin, agent, id } = await createOrganization()
    const second = await createOrganization()
    await addMembership(second.id, agent.user_id, 'agent')
    await admin.delete(`/users/${agent.user_id}`)
    expectError(await agent.get('/labels'), 403, 'FORBIDDEN')
    expectError(await agent.get('/labels', { 'x-organization-id': id }), 403, 'FORBIDDEN')
    expect((await agent.get('/labels', { 'x-organization-id': second.id })).status).toBe(200)
    expect((await (await signIn(agent.email)).get('/labels')).status).toBe(200)
  })

  test('for an admin who becomes an agent', async () => {
    const { admin, addMember } = await createOrganization()
    const other = await addMember('admin')
    expect((await other.patch('/organization', {})).status).toBe(200)
    await admin.patch(`/users/${other.user_id}`, { role: 'agent' })
    expectError(await other.patch('/organization', {}), 403, 'FORBIDDEN')
  })
})

describe('the organization header', () => {
  test('chooses another organization of the caller', async () => {
    const { agent } = await createOrganization('First')
    const second = await createOrganization('Second')
    await addMembership(second.id, agent.user_id, 'agent')
    const nameIn = async (headers?: Record<string, string>) =>
      (await agent.get('/organization', headers)).body.data.name
    expect(await nameIn()).toBe('First')
    expect(await nameIn({ 'x-organization-id': second.id })).toBe('Second')
    expect(await nameIn({ 'x-organization-id': ` ${second.id.toUpperCase()} ` })).toBe('Second')
    expect(await nameIn({ 'x-organization-id': '' })).toBe('First')
  })

  test('gives the role in that organization', async () => {
    const { agent } = await createOrganization()
    const second = await createOrganization()
    await addMembership(second.id, agent.user_id, 'admin')
    expectError(await agent.patch('/organization', {}), 403, 'FORBIDDEN')
    expect((await agent.patch('/organization', {}, { 'x-organization-id': second.id })).status).toBe(200)
  })

  test('that is no UUID is a fault of the request', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.get('/labels', { 'x-organization-id': 'acme' })
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors).toEqual([
      { path: '/headers/x-organization-id', message: 'must be a UUID' },
    ])
  })

  test('of a foreign organization answers like one that does not exist', async () => {
    const { agent } = await createOrganization()
    const other = await createOrganization()
    const foreign = await agent.get('/labels', { 'x-organization-id': other.id })
    const unknown = await agent.get('/labels', { 'x-organization-id': NOBODY })
    expectError(foreign, 403, 'FORBIDDEN')
    expect([foreign.status, foreign.body]).toEqual([unknown.status, unknown.body])
  })
})

function login(email: string, password = PASSWORD): Promise<Answer> {
  return stranger().post('/auth/login', { email, password })
}

async function addMembership(organization_id: string, user_id: string, role: 'admin' | 'agent') {
  await connection().sql`
    insert into memberships (organization_id, user_id, role) values (${organization_id}, ${user_id}, ${role})`
}

/** Ends a membership behind the back of the process. */
async function end({ id }: Pick<Organization, 'id'>, { user_id }: Client) {
  await connection().sql`
    update memberships set removed_at = now() where organization_id = ${id} and user_id = ${user_id}`
}

function hash(token: string) {
  return createHash('sha256').update(token).digest()
}

const nowS = () => Math.floor(Date.now() / 1000)

/** Signs claims that no library would. @param instead a text of the claims, and what stands in its place */
function signedByHand(claims: unknown, key: Uint8Array, [text, instead]: [string, string] = ['', '']): string {
  const encode = (json: string) => Buffer.from(json).toString('base64url')
  const head = encode(JSON.stringify({ alg: 'HS256', typ: 'JWT' }))
  const signed = `${head}.${encode(JSON.stringify(claims).replace(text, instead))}`
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
}
