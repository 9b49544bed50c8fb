import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { decodeJwt, SignJWT } from 'jose'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { keysOf } from '../../../src/base/secrets'
import { requireSession } from '../../../src/http/admission/membership'
import { type Answer, createOrganization, expectError, PASSWORD, startApi, stopApi, stranger } from '../../support/api'

beforeAll(() => startApi())
afterAll(stopApi)

const NOBODY = '018f0000-0000-7000-8000-000000000000'

describe('the own sessions', () => {
  test('are listed with their last use, its address and program, last used first', async () => {
    const { agent, admin } = await createOrganization()
    const first = await login(agent.email, { 'user-agent': 'First/1.0' })
    await login(admin.email)
    await login(agent.email, { 'user-agent': 'x'.repeat(2000) })
    await refresh(first, { 'user-agent': 'First/1.1' })
    const answer = await sessions(first)
    expect(answer.status).toBe(200)
    const programs = answer.body.data.map((session: { user_agent: string | null }) => session.user_agent)
    expect(programs).toEqual(['First/1.1', 'x'.repeat(500), null])
    expect(answer.body.data[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      last_used_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      ip: '127.0.0.1',
      user_agent: 'First/1.1',
      current: true,
    })
    expect(answer.body.data.map((session: { current: boolean }) => session.current)).toEqual([true, false, false])
  })

  test('do not hold those that were signed out or have expired', async () => {
    const { agent } = await createOrganization()
    const [first, second, third] = [await login(agent.email), await login(agent.email), await login(agent.email)]
    await bearer(second).post('/auth/logout', { refresh_token: second.refresh_token })
    const [expired] = await idsOf(third)
    await connection().sql`update refresh_tokens set expires_at = now() where id = ${expired!}`
    expect(await idsOf(first)).toHaveLength(2)
  })

  test('end one by one, with their access tokens', async () => {
    const { agent } = await createOrganization()
    const [kept, ended] = [await login(agent.email), await login(agent.email)]
    const [id] = await idsOf(ended)
    expect((await bearer(kept).delete(`/auth/sessions/${id}`)).status).toBe(204)
    expectError(await bearer(ended).get('/auth/me'), 401, 'INVALID_TOKEN')
    expectError(await bearer(ended).get('/labels'), 401, 'INVALID_TOKEN')
    expectError(await refresh(ended), 401, 'INVALID_TOKEN')
    expect((await bearer(kept).get('/labels')).status).toBe(200)
    expect((await refresh(kept)).status).toBe(200)
    expectError(await bearer(kept).delete(`/auth/sessions/${id}`), 404, 'SESSION_NOT_FOUND')
  })

  test('end all together but for that of the request', async () => {
    const { agent } = await createOrganization()
    const [kept, ended] = [await login(agent.email), await login(agent.email)]
    expect((await bearer(kept).delete('/auth/sessions')).status).toBe(204)
    for (const { access_token } of [ended, { access_token: agent.token }]) {
      expectError(await bearer({ access_token }).get('/labels'), 401, 'INVALID_TOKEN')
    }
    expect(await idsOf(kept)).toHaveLength(1)
    expect((await refresh(kept)).status).toBe(200)
  })

  test('are nobody else’s: the session of another account does not exist', async () => {
    const { agent, admin } = await createOrganization()
    const [mine, theirs] = [await login(agent.email), await login(admin.email)]
    const [id] = await idsOf(theirs)
    for (const unknown of [id, NOBODY, 'nonsense']) {
      expectError(await bearer(mine).delete(`/auth/sessions/${unknown}`), 404, 'SESSION_NOT_FOUND')
    }
    expect((await refresh(theirs)).status).toBe(200)
  })
})

describe('a new password', () => {
  test('of the person ends all other sessions with their access tokens, and keeps the own', async () => {
    const { agent } = await createOrganization()
    const [own, other] = [await login(agent.email), await login(agent.email)]
    const changes = { current_password: PASSWORD, new_password: 'a new password' }
    expect((await bearer(own).patch('/auth/me', changes)).status).toBe(200)
    expectError(await bearer(other).get('/labels'), 401, 'INVALID_TOKEN')
    expectError(await refresh(other), 401, 'INVALID_TOKEN')
    expect((await bearer(own).get('/labels')).status).toBe(200)
    expect((await refresh(own)).status).toBe(200)
  })

  test('from an admin ends all sessions with their access tokens', async () => {
    const { agent, admin } = await createOrganization()
    const session = await login(agent.email)
    await admin.patch(`/users/${agent.user_id}`, { password: 'a new password' })
    expectError(await bearer(session).get('/auth/me'), 401, 'INVALID_TOKEN')
    expectError(await refresh(session), 401, 'INVALID_TOKEN')
  })
})

test('an access token is refused when another process ended its session', async () => {
  const { agent } = await createOrganization()
  const { access_token } = await login(agent.email)
  const { sub, jti, iat } = decodeJwt(access_token)
  const session_id = jti!.split('.')[0]!
  await connection().sql`delete from refresh_tokens where id = ${session_id}`
  const caller = { id: sub!, session_id, issued_at_s: iat! }
  await expect(requireSession(connection(), caller)).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
})

describe('signing out', () => {
  test('ends the access tokens of the session, and those of no other', async () => {
    const { agent } = await createOrganization()
    const [kept, ended] = [await login(agent.email), await login(agent.email)]
    const renewed = (await refresh(ended)).body
    for (const token of [ended, renewed, kept]) expect((await bearer(token).get('/labels')).status).toBe(200)
    expect((await bearer(ended).post('/auth/logout', { refresh_token: ended.refresh_token })).status).toBe(204)
    for (const token of [ended, renewed]) {
      expectError(await bearer(token).get('/auth/me'), 401, 'INVALID_TOKEN')
      expectError(await bearer(token).get('/labels'), 401, 'INVALID_TOKEN')
      expectError(await bearer(token).patch('/auth/me', { name: 'Still here' }), 401, 'INVALID_TOKEN')
    }
    expect((await bearer(kept).get('/labels')).status).toBe(200)
  })

  test('is not missed by requests that were looked up at the same moment', async () => {
    const { agent } = await createOrganization()
    for (let round = 0; round < 10; round++) {
      const session = await login(agent.email)
      const { get, post } = bearer(session)
      await Promise.all([
        get('/labels'),
        post('/auth/logout', { refresh_token: session.refresh_token }),
        get('/labels'),
      ])
      expectError(await get('/labels'), 401, 'INVALID_TOKEN')
    }
  })
})

test.each([
  ['another process ended', 'delete from refresh_tokens where id = $1'],
  ['the person signed out of in another process', 'update refresh_tokens set signed_out_at = now() where id = $1'],
])('a session that %s ends well within 10 seconds', async (_how, statement) => {
  const { agent } = await createOrganization()
  const session = await login(agent.email)
  expect((await bearer(session).get('/labels')).status).toBe(200)
  await connection().sql.unsafe(statement, [decodeJwt(session.access_token).jti!.split('.')[0]!])
  const now = performance.now.bind(performance)
  using _later = spyOn(performance, 'now').mockImplementation(() => now() + 7500)
  expectError(await bearer(session).get('/labels'), 401, 'INVALID_TOKEN')
})

test('an access token of a release without sessions counts until the sessions of its account end', async () => {
  const { agent, id } = await createOrganization()
  const claims = { sub: agent.user_id, email: agent.email, org_id: id, role: 'agent', jti: newId() }
  const key = new TextEncoder().encode(keysOf('access-token')[0]!.toString('hex'))
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt()
    .setExpirationTime('15m')
    .sign(key)
  expect((await bearer({ access_token: token }).get('/labels')).status).toBe(200)
  const session = await login(agent.email)
  await bearer(session).delete('/auth/sessions')
  expectError(await bearer({ access_token: token }).get('/labels'), 401, 'INVALID_TOKEN')
})

async function login(email: string, headers?: Record<string, string>) {
  const answer = await stranger().post('/auth/login', { email, password: PASSWORD }, headers)
  expect(answer.status).toBe(200)
  return answer.body as { access_token: string; refresh_token: string }
}

function refresh({ refresh_token }: { refresh_token: string }, headers?: Record<string, string>): Promise<Answer> {
  return stranger().post('/auth/refresh', { refresh_token }, headers)
}

/** Sends requests with the access token of a session. */
function bearer({ access_token }: { access_token: string }) {
  const headers = { authorization: `Bearer ${access_token}` }
  return {
    get: (path: string) => stranger().get(path, headers),
    post: (path: string, body: unknown) => stranger().post(path, body, headers),
    patch: (path: string, body: unknown) => stranger().patch(path, body, headers),
    delete: (path: string) => stranger().delete(path, undefined, headers),
  }
}

function sessions(session: { access_token: string }): Promise<Answer> {
  return bearer(session).get('/auth/sessions')
}

/** Ids of the sessions of an account: that of the request first, because it was used last. */
async function idsOf(session: { access_token: string }): Promise<string[]> {
  const { data } = (await sessions(session)).body
  return data
    .toSorted((a: { current: boolean }, b: { current: boolean }) => Number(b.current) - Number(a.current))
    .map(({ id }: { id: string }) => id)
}
