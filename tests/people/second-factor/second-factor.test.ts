/** Second factors: setting one up, signing in with one, losing one, and organizations that require one. */
import { afterAll, beforeAll, describe, expect, setSystemTime, spyOn, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { connection } from '../../../src/base/db/pool'
import { log } from '../../../src/base/log'
import { deleteExpiredTokens } from '../../../src/people/auth/commands'
import { createOrganization, expectError, PASSWORD, signIn, startApi, stopApi, stranger } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import type { TestDatabase } from '../../support/database'
import { challengeOf, codeOf, enableSecondFactor, secondStep, wrongCodeOf } from '../../support/second-factor'

const CLI = path.join(import.meta.dirname, '../../../src/cli.ts')

let database: TestDatabase

beforeAll(async () => {
  database = await startApi()
})
afterAll(stopApi)

describe('setting one up', () => {
  test('takes the password, then a code of the app; other sessions end, and recovery codes are shown once', async () => {
    const { agent } = await createOrganization()
    const other = await signIn(agent.email)
    const begun = await agent.post('/auth/second-factor', { current_password: PASSWORD })
    const { secret, otpauth_url } = begun.body
    expect([begun.status, secret]).toEqual([200, expect.stringMatching(/^[A-Z2-7]{32}$/)])
    const url = new URL(otpauth_url)
    expect([url.protocol, url.host, decodeURIComponent(url.pathname)]).toEqual([
      'otpauth:',
      'totp',
      `/Deskwire:${agent.email}`,
    ])
    expect(Object.fromEntries(url.searchParams)).toEqual({
      issuer: 'Deskwire',
      secret,
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    })
    expect((await signIn(agent.email)).user_id).toBe(agent.user_id)
    expect((await agent.get('/auth/second-factor')).body).toEqual({
      enabled: false,
      confirmed_at: null,
      recovery_codes_left: 0,
    })

    const wrong = await agent.post('/auth/second-factor/confirm', { code: wrongCodeOf(secret) })
    expectError(wrong, 422, 'INVALID_CODE')
    expect(wrong.body.error.details.errors[0].path).toBe('/code')
    const confirmed = await agent.post('/auth/second-factor/confirm', { code: codeOf(secret) })
    const { recovery_codes } = confirmed.body
    expect([confirmed.status, new Set(recovery_codes).size]).toEqual([200, 10])
    for (const code of recovery_codes) expect(code).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/)
    expectError(await other.get('/auth/me'), 401, 'INVALID_TOKEN')
    expect((await agent.get('/auth/second-factor')).body).toEqual({
      enabled: true,
      confirmed_at: expect.any(String),
      recovery_codes_left: 10,
    })
    expectError(await agent.post('/auth/second-factor', { current_password: PASSWORD }), 422, 'SECOND_FACTOR_EXISTS')
    expectError(await agent.post('/auth/second-factor/confirm', { code: '123456' }), 422, 'SECOND_FACTOR_EXISTS')
  })

  test('needs the right password, and a secret that was made in the last ten minutes', async () => {
    const { agent } = await createOrganization()
    const refused = await agent.post('/auth/second-factor', { current_password: 'wrong' })
    expectError(refused, 422, 'VALIDATION_ERROR')
    expect(refused.body.error.details.errors[0].path).toBe('/current_password')
    const confirm = (secret: string) => agent.post('/auth/second-factor/confirm', { code: codeOf(secret) })
    expectError(await confirm('AAAAAAAA'), 404, 'SECOND_FACTOR_NOT_FOUND')
    const { secret } = (await agent.post('/auth/second-factor', { current_password: PASSWORD })).body
    await connection().sql`
      update second_factors set made_at = now() - interval '601 seconds' where id = ${agent.user_id}`
    expectError(await confirm(secret), 404, 'SECOND_FACTOR_NOT_FOUND')
    await connection().sql`
      update second_factors set made_at = now() - interval '25 hours' where id = ${agent.user_id}`
    await deleteExpiredTokens(connection())
    expect(await connection().sql`select from second_factors where id = ${agent.user_id}`).toHaveLength(0)
  })

  test('keeps neither secret nor recovery codes readable, in the database, the audit log or the log', async () => {
    const { admin, agent } = await createOrganization()
    using lines = spyOn(log, 'info')
    const { secret, recovery_codes } = await enableSecondFactor(agent)
    const rows = JSON.stringify(await connection().sql`select * from second_factors where id = ${agent.user_id}`)
    const audited = (await admin.get(`/audit-log?actor_id=${agent.user_id}`)).text
    for (const text of [rows, audited, JSON.stringify(lines.mock.calls)]) {
      for (const hidden of [secret, ...recovery_codes]) expect(text).not.toContain(hidden)
    }
    expect(audited).toContain('"auth.second_factor_enabled"')
  })
})

describe('signing in', () => {
  test('asks for the code after the right password, and for nothing after a wrong one', async () => {
    const { agent } = await createOrganization()
    const { secret } = await enableSecondFactor(agent)
    const sessions = async () => (await agent.get('/auth/sessions')).body.data.length
    const before = await sessions()
    const login = (password: string) => stranger().post('/auth/login', { email: agent.email, password })
    expectError(await login('wrong'), 401, 'INVALID_CREDENTIALS')
    const asked = await login(PASSWORD)
    expectError(asked, 401, 'SECOND_FACTOR_REQUIRED')
    const { challenge, ...rest } = asked.body.error.details
    expect([challenge, rest]).toEqual([expect.stringMatching(/^[\w-]{43}$/), { expires_in: 300 }])
    expect(await sessions()).toBe(before)
    for (const token of [challenge, `${challenge}.x`]) {
      expectError(await stranger().get('/auth/me', { authorization: `Bearer ${token}` }), 401, 'INVALID_TOKEN')
    }
    const answer = await secondStep(challenge, codeOf(secret))
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      token_type: 'bearer',
      expires_in: 900,
      user: { id: agent.user_id, email: agent.email, name: 'Alan Agent' },
    })
    const { refresh_token } = answer.body
    expect((await stranger().post('/auth/refresh', { refresh_token })).status).toBe(200)
    expectError(await secondStep(challenge, codeOf(secret, 1)), 401, 'INVALID_TOKEN')
  })

  test('takes each code once, and none of more than one step away', async () => {
    const { agent } = await createOrganization()
    const { secret } = await enableSecondFactor(agent)
    // A new step may begin between two codes.
    setSystemTime(new Date())
    const attempt = async (steps: number) => (await secondStep(await challengeOf(agent), codeOf(secret, steps))).status
    expect([await attempt(-2), await attempt(2)]).toEqual([401, 401])
    // The step before was used to confirm.
    expect(await attempt(-1)).toBe(401)
    expect([await attempt(1), await attempt(1), await attempt(0)]).toEqual([200, 401, 401])
    setSystemTime()
  })

  test('of several with one code at the same time one is let in', async () => {
    const { agent } = await createOrganization()
    const { secret, recovery_codes } = await enableSecondFactor(agent)
    for (const code of [codeOf(secret), recovery_codes[0]!]) {
      const challenges = await Promise.all(Array.from({ length: 4 }, () => challengeOf(agent)))
      const answers = await Promise.all(challenges.map((challenge) => secondStep(challenge, code)))
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401])
    }
  })

  test('takes a recovery code once, however it is written', async () => {
    const { agent } = await createOrganization()
    const { recovery_codes } = await enableSecondFactor(agent)
    const [first] = recovery_codes
    const written = ` ${first!.replaceAll('-', ' ').toUpperCase()} `
    expect((await secondStep(await challengeOf(agent), written)).status).toBe(200)
    expectError(await secondStep(await challengeOf(agent), first!), 401, 'INVALID_CREDENTIALS')
    expect((await agent.get('/auth/second-factor')).body.recovery_codes_left).toBe(9)
  })

  test('a challenge ends with five wrong codes, after five minutes, and with what ends sessions', async () => {
    const { agent, admin } = await createOrganization()
    const { secret, recovery_codes } = await enableSecondFactor(agent)
    const spent = await challengeOf(agent)
    for (let i = 0; i < 5; i++) expectError(await secondStep(spent, wrongCodeOf(secret)), 401, 'INVALID_CREDENTIALS')
    expectError(await secondStep(spent, codeOf(secret)), 401, 'INVALID_TOKEN')
    expectError(await secondStep('unknown', codeOf(secret)), 401, 'INVALID_TOKEN')
    const old = await challengeOf(agent)
    await connection().sql`update sign_in_challenges set expires_at = now() where user_id = ${agent.user_id}`
    expectError(await secondStep(old, codeOf(secret)), 401, 'TOKEN_EXPIRED')
    const ended = await challengeOf(agent)
    await admin.patch(`/users/${agent.user_id}`, { password: 'another password' })
    expectError(await secondStep(ended, codeOf(secret)), 401, 'INVALID_TOKEN')
    // The factor itself stays.
    const again = await stranger().post('/auth/login', { email: agent.email, password: 'another password' })
    expect((await secondStep(again.body.error.details.challenge, recovery_codes[0]!)).status).toBe(200)
  })

  test('refused codes stand in the audit log', async () => {
    const { admin, agent } = await createOrganization()
    const { secret } = await enableSecondFactor(agent)
    await secondStep(await challengeOf(agent), wrongCodeOf(secret))
    for (let i = 0; i < 50; i++) {
      const { data } = (await admin.get('/audit-log?action=auth.login_failed')).body
      if (data.length > 0) return expect(data).toMatchObject([{ resource: { type: 'user', id: agent.user_id } }])
      await Bun.sleep(20)
    }
    expect.unreachable()
  })
})

describe('renewing and removing', () => {
  test('take password and code; the recovery codes of before end', async () => {
    const { agent, admin } = await createOrganization()
    const { secret, recovery_codes } = await enableSecondFactor(agent)
    const renew = (fields: object) =>
      agent.post('/auth/second-factor/recovery-codes', { current_password: PASSWORD, code: codeOf(secret), ...fields })
    expectError(await renew({ current_password: 'wrong' }), 422, 'VALIDATION_ERROR')
    expectError(await renew({ code: wrongCodeOf(secret) }), 422, 'INVALID_CODE')
    expectError(await renew({ code: 7 }), 422, 'INVALID_CODE')
    const renewed = (await renew({})).body.recovery_codes
    expect(renewed).toHaveLength(10)
    expect((await secondStep(await challengeOf(agent), recovery_codes[0]!)).status).toBe(401)

    const remove = (code: string) => agent.delete('/auth/second-factor', { current_password: PASSWORD, code })
    expectError(await remove(recovery_codes[1]!), 422, 'INVALID_CODE')
    const waiting = await challengeOf(agent)
    expect((await remove(renewed[0])).status).toBe(204)
    expectError(await secondStep(waiting, renewed[1]), 401, 'INVALID_TOKEN')
    expectError(await remove(renewed[1]), 404, 'SECOND_FACTOR_NOT_FOUND')
    expect((await signIn(agent.email)).user_id).toBe(agent.user_id)
    const audited = (await admin.get(`/audit-log?actor_id=${agent.user_id}`)).body.data
    expect(audited.map(({ action }: { action: string }) => action)).toContain('auth.second_factor_disabled')
  })
})

describe('a lost one', () => {
  test('is reset by an admin of the only organization of the account; all sessions end', async () => {
    const { admin, agent } = await createOrganization()
    const url = `/users/${agent.user_id}/second-factor`
    expectError(await admin.delete(url), 404, 'SECOND_FACTOR_NOT_FOUND')
    await enableSecondFactor(agent)
    expect((await admin.delete(url)).status).toBe(204)
    expectError(await agent.get('/auth/me'), 401, 'INVALID_TOKEN')
    expect((await signIn(agent.email)).user_id).toBe(agent.user_id)
    expect((await admin.get('/audit-log?action=auth.second_factor_reset')).body.data).toMatchObject([
      { actor: { id: admin.user_id }, resource: { type: 'user', id: agent.user_id } },
    ])
  })

  test('is not reset by its owner, who takes it away with password and code', async () => {
    const { admin } = await createOrganization()
    await enableSecondFactor(admin)
    expectError(await admin.delete(`/users/${admin.user_id}/second-factor`), 403, 'FORBIDDEN')
    expect((await admin.get('/auth/second-factor')).body.enabled).toBe(true)
  })

  test('is not reset by an admin of one of several organizations, even where the person is switched off', async () => {
    const { agent } = await createOrganization()
    await enableSecondFactor(agent)
    const hostile = await createOrganization('Hostile')
    await connection().sql`
      insert into memberships (organization_id, user_id, role, active)
      values (${hostile.id}, ${agent.user_id}, 'agent', false)`
    expectError(await hostile.admin.delete(`/users/${agent.user_id}/second-factor`), 403, 'FORBIDDEN')
    expect((await agent.get('/auth/second-factor')).body.enabled).toBe(true)
  })

  test('is reset by the operator', async () => {
    const { admin, agent } = await createOrganization()
    const reset = (email: string) =>
      spawnSync(process.execPath, ['--no-orphans', CLI, 'user', 'second-factor-reset', '--email', email], {
        env: { ...process.env, DATABASE_URL: database.url, SECRET_KEY: 'a secret key that only tests use' },
        encoding: 'utf8',
      })
    expect(reset(agent.email)).toMatchObject({ status: 1, stderr: `deskwire: ${agent.email} has no second factor\n` })
    await enableSecondFactor(agent)
    const { status, stdout } = reset(agent.email.toUpperCase())
    expect([status, JSON.parse(stdout)]).toEqual([0, { id: agent.user_id, email: agent.email.toUpperCase() }])
    expect((await signIn(agent.email)).user_id).toBe(agent.user_id)
    expect((await admin.get('/audit-log?action=operator.user_second_factor_reset')).body.data).toMatchObject([
      { actor: { type: 'operator' }, resource: { id: agent.user_id } },
    ])
    expect(reset('nobody@deskwire.example').status).toBe(1)
  })
})

describe('an organization that requires one', () => {
  test('lets nobody act who has none, but for signing in and setting one up; keys go on', async () => {
    const { admin, agent } = await createOrganization()
    const require = (client: typeof admin, value = true) =>
      client.patch('/organization', { require_second_factor: value })
    const key = await createProgram(admin, ['organization:write', 'tickets:read'])
    expectError(await require(key), 403, 'FORBIDDEN')
    const without = await require(admin)
    expectError(without, 422, 'VALIDATION_ERROR')
    expect(without.body.error.details.errors[0].path).toBe('/require_second_factor')
    expect((await agent.get('/tickets')).status).toBe(200)

    await enableSecondFactor(admin)
    expect((await require(admin)).body.data.require_second_factor).toBe(true)
    for (const answer of [agent.get('/tickets'), agent.post('/labels', { name: 'x', color: '#000000' })]) {
      expectError(await answer, 403, 'SECOND_FACTOR_MISSING')
    }
    const later = await signIn(agent.email)
    expectError(await later.get('/tickets'), 403, 'SECOND_FACTOR_MISSING')
    expect((await later.get('/auth/me')).status).toBe(200)
    expect((await key.get('/tickets')).status).toBe(200)
    expectError(await require(key, false), 403, 'FORBIDDEN')
    expect((await key.patch('/organization', { require_second_factor: true, name: 'Acme' })).status).toBe(200)
    await enableSecondFactor(later)
    expect((await later.get('/tickets')).status).toBe(200)
    expect((await require(admin, false)).body.data.require_second_factor).toBe(false)
  })

  test('counts in the others within ten seconds, and only there', async () => {
    const { id, agent } = await createOrganization()
    expect((await agent.get('/tickets')).status).toBe(200)
    // As another process does it.
    await connection().sql`update organizations set require_second_factor = true where id = ${id}`
    const begun = performance.now()
    while ((await agent.get('/tickets')).status === 200) {
      if (performance.now() - begun > 10_000) expect.unreachable()
      await Bun.sleep(200)
    }
    const { id: elsewhere } = await createOrganization()
    await connection().sql`
      insert into memberships (organization_id, user_id, role) values (${elsewhere}, ${agent.user_id}, 'agent')`
    expect((await agent.get('/tickets', { 'x-organization-id': elsewhere })).status).toBe(200)
  }, 15_000)
})
