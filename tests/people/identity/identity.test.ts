/** Signing in at the identity provider of an organization, and what a hostile provider or tenant cannot do. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import path from 'node:path'
import { generateKeyPair } from 'jose'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { transact } from '../../../src/base/db/transact'
import { faultOf } from '../../../src/delivery/webhooks/ask'
import { lockProvider } from '../../../src/people/identity/queries'
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
import { createProgram } from '../../support/api-keys'
import type { TestDatabase } from '../../support/database'
import {
  addressOf,
  type StubProvider,
  startStubProvider,
  trustLoopbackProviders,
} from '../../support/identity-provider'
import { operatorServer } from '../../support/letters'
import { until } from '../../support/service'
import { withSettings } from '../../support/settings'

const VERIFIER = 'v'.repeat(50)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
const APP = 'http://127.0.0.1:4000/back'

const CLI = path.join(import.meta.dirname, '../../../src/cli.ts')

let database: TestDatabase
let settings: Disposable
let stub: StubProvider
let desk: Organization

beforeAll(async () => {
  database = await startApi()
  settings = await trustLoopbackProviders()
})
beforeEach(async () => {
  stub = await startStubProvider()
  desk = await createOrganization()
})
afterAll(async () => {
  settings[Symbol.dispose]()
  await stopApi()
})

describe('the provider', () => {
  test('is set, shown without its secret, replaced and removed by admins who signed in', async () => {
    expectError(await desk.admin.get('/identity-provider'), 404, 'IDENTITY_PROVIDER_NOT_FOUND')
    const answer = await put({ client_secret: 's3cret', domains: ['Acme.example'], provision: 'domain' })
    expect(answer.body.data).toEqual({
      issuer: stub.issuer,
      client_id: 'desk',
      has_client_secret: true,
      redirect_uris: [],
      trust_email: false,
      provision: 'domain',
      domains: ['acme.example'],
      role_claim: null,
      role_values: { admin: [], agent: [] },
      session_seconds: 43_200,
      required: false,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    expect((await put({})).body.data).toMatchObject({ has_client_secret: true, provision: 'none' })
    expect((await put({ client_id: 'other' })).body.data.has_client_secret).toBe(false)
    const stored = JSON.stringify(await connection().sql`select * from identity_providers, audit_log`)
    expect(stored).not.toContain('s3cret')
    expect((await desk.admin.delete('/identity-provider')).status).toBe(204)
    expectError(await desk.admin.delete('/identity-provider'), 404, 'IDENTITY_PROVIDER_NOT_FOUND')
    expect((await start()).status).toBe(404)
  })

  test('is set and removed under If-Match as other objects are', async () => {
    const change = (method: string, tag: string) =>
      desk.admin.send(method, '/identity-provider', method === 'PUT' ? base() : undefined, { 'if-match': tag })
    expectError(await change('PUT', '*'), 412, 'PRECONDITION_FAILED')
    await put({})
    const tag = (await desk.admin.get('/identity-provider')).headers.get('etag')!
    await put({ trust_email: true })
    for (const method of ['PUT', 'DELETE']) expectError(await change(method, tag), 412, 'PRECONDITION_FAILED')
    expect((await desk.admin.get('/identity-provider')).body.data.trust_email).toBe(true)
    const changed = await change('PUT', (await desk.admin.get('/identity-provider')).headers.get('etag')!)
    expect(changed.body.data.trust_email).toBe(false)
    expect((await change('DELETE', changed.headers.get('etag')!)).status).toBe(204)
  })

  test.each([
    ['http', { issuer: 'http://127.0.0.1/' }, 'VALIDATION_ERROR'],
    ['a script to return to', { redirect_uris: ['javascript:alert(1)//.'] }, 'VALIDATION_ERROR'],
    ['a scheme of an app to return to', { redirect_uris: ['example.app:/back'] }, 'VALIDATION_ERROR'],
    ['http to return to', { redirect_uris: ['http://app.example/back'] }, 'VALIDATION_ERROR'],
    ['nobody there', { issuer: 'https://127.0.0.1:1' }, 'PROVIDER_UNREACHABLE'],
    ['an address of the cloud', { issuer: 'https://169.254.169.254' }, 'PROVIDER_UNREACHABLE'],
    ['required, by an admin with a password', { required: true }, 'VALIDATION_ERROR'],
  ])('is refused: %s', async (_, fields, code) => {
    expectError(await put(fields), 422, code)
    expectError(await desk.admin.get('/identity-provider'), 404, 'IDENTITY_PROVIDER_NOT_FOUND')
  })

  test('says why it cannot be asked, in words of the fault', async () => {
    const why = async (issuer: string) => (await put({ issuer })).body.error.details.errors[0].message
    expect(await why('https://127.0.0.1:1')).toBe('cannot be used: the server cannot be connected to')
    expect(await why('https://169.254.169.254')).toBe(
      'cannot be used: the server has an address that may not be reached',
    )
    expect(faultOf(new Error('The moon is full'))).toBe('other: The moon is full')
  })

  test('is refused when it names another issuer, sends elsewhere, or answers too much', async () => {
    const path = '/.well-known/openid-configuration'
    const answers = [
      () => Response.json({ ...stub.metadata(), issuer: 'https://other.example' }),
      () => Response.json({ ...stub.metadata(), jwks_uri: 'http://127.0.0.1/' }),
      () => Response.redirect(`${stub.issuer}/jwks`, 302),
      () => new Response('x'.repeat(300_000)),
      () => new Response('no JSON'),
    ]
    for (const answer of answers) {
      stub.answers = { [path]: answer }
      expectError(await put({}), 422, 'PROVIDER_UNREACHABLE')
    }
    stub.answers = {}
    expect((await put({})).status).toBe(200)
    // Its earlier words do not count.
    stub.answers = { [path]: answers[0]! }
    expectError(await put({ trust_email: true }), 422, 'PROVIDER_UNREACHABLE')
    expect((await desk.admin.get('/identity-provider')).body.data.trust_email).toBe(false)
  })
})

describe('signing in', () => {
  test('links the member by a verified email, and then goes by the subject', async () => {
    await put({})
    const answer = await signInAs({ sub: 'one', email: desk.agent.email.toUpperCase(), email_verified: true })
    expect(answer.body.user).toMatchObject({ id: desk.agent.user_id })
    expect((await signInAs({ sub: 'one' })).body.user.id).toBe(desk.agent.user_id)
    expect(await errorOf({ sub: 'two', email: desk.agent.email, email_verified: true })).toBe('not_allowed')
    expect((await desk.admin.delete(`/users/${desk.agent.user_id}/identity`)).status).toBe(204)
    const session = tokenOf(answer)
    expectError(await stranger().get('/auth/me', session), 401, 'INVALID_TOKEN')
    expect((await signInAs({ sub: 'two', email: desk.agent.email, email_verified: true })).status).toBe(200)
    const { data } = (await desk.admin.get('/audit-log?per_page=100')).body
    const actions = data.map(({ action }: { action: string }) => action)
    for (const action of ['user.identity_linked', 'user.identity_unlinked', 'auth.login']) {
      expect(actions).toContain(action)
    }
  })

  test('takes no email that is not verified, unless the organization trusts it, and no unknown person', async () => {
    await put({})
    expect(await errorOf({ sub: 'one', email: desk.agent.email })).toBe('not_allowed')
    expect(await errorOf({ sub: 'one', email: desk.agent.email, email_verified: 'true' })).toBe('not_allowed')
    expect(await errorOf({ sub: 'new', email: 'new@acme.example', email_verified: true })).toBe('not_allowed')
    await put({ trust_email: true })
    expect((await signInAs({ sub: 'one', email: desk.agent.email })).status).toBe(200)
    await desk.admin.patch(`/users/${desk.agent.user_id}`, { active: false })
    expect(await errorOf({ sub: 'one' })).toBe('inactive')
  })

  test('makes members of a domain or by a claim, once; the claim sets the role, and the last admin stays', async () => {
    const email = `${crypto.randomUUID()}@acme.example`
    await put({ provision: 'domain', domains: ['acme.example'] })
    expect(await errorOf({ sub: 'x', email: 'x@sub.acme.example', email_verified: true })).toBe('not_allowed')
    const codes = [await codeFor({ sub: 'new', email, email_verified: true }), await codeFor({ sub: 'new' })]
    for (const code of codes) expect((await redeem(code)).body.user.email).toBe(email)
    expectError(await stranger().post('/auth/login', { email, password: '-' }), 401, 'INVALID_CREDENTIALS')
    await put({ provision: 'claim', role_claim: 'groups', role_values: { admin: ['boss'], agent: ['team'] } })
    expect(await errorOf({ sub: 'new', groups: ['others'] })).toBe('not_allowed')
    const promoted = await signInAs({ sub: 'new', groups: ['team', 'boss'] })
    expect((await stranger().get('/auth/me', tokenOf(promoted))).body.organizations).toMatchObject([{ role: 'admin' }])
    await desk.admin.patch(`/users/${desk.admin.user_id}`, { role: 'agent' })
    const last = await signInAs({ sub: 'new', groups: 'team' })
    expect((await stranger().get('/auth/me', tokenOf(last))).body.organizations).toMatchObject([{ role: 'admin' }])
  })

  test.each([
    ['another audience', { aud: 'other' }],
    ['several audiences without a party', { aud: ['desk', 'other'] }],
    ['another party', { azp: 'other' }],
    ['another issuer', { iss: 'https://other.example' }],
    ['another nonce', { nonce: 'other' }],
    ['no nonce', { nonce: undefined }],
    ['an end two minutes ago', { exp: Math.floor(Date.now() / 1000) - 120 }],
    ['no end', { exp: undefined }],
    [
      'a time two minutes ahead',
      { iat: Math.floor(Date.now() / 1000) + 120, exp: Math.floor(Date.now() / 1000) + 400 },
    ],
    ['no subject', { sub: undefined }],
  ])('refuses an ID token with %s', async (_, claims) => {
    await put({})
    const person = { sub: 'one', email: desk.agent.email, email_verified: true }
    expect(await errorOf({ ...person, ...claims })).toBe('provider_error')
    expect((await signInAs({ ...person, iat: Math.floor(Date.now() / 1000) + 30 })).status).toBe(200)
  })

  test('refuses a token of another key or without a signature, and asks for a new key once a minute', async () => {
    await put({})
    stub.claims = { sub: 'one', email: desk.agent.email, email_verified: true }
    expect((await signInAs(stub.claims)).status).toBe(200)
    const other = await generateKeyPair('ES256')
    const asToken = (id_token: string) => ({ '/token': () => Response.json({ id_token }) })
    const claims = () => ({ ...stub.claims, nonce: stub.nonce })
    const state = await begin()
    stub.answers = asToken(await stub.sign(claims(), { key: other.privateKey }))
    expect((await comeBack(state)).searchParams.get('error')).toBe('provider_error')
    const none = await begin()
    const parts = [{ alg: 'none' }, { iss: stub.issuer, aud: 'desk', ...claims() }]
    stub.answers = asToken(`${parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`)
    expect((await comeBack(none)).searchParams.get('error')).toBe('provider_error')
    stub.answers = {}
    await stub.rotate()
    const asked = stub.counted.jwks
    expect(await errorOf(stub.claims)).toBe('provider_error')
    expect(stub.counted.jwks).toBe(asked)
  })

  test('keeps no more than 50 keys of a provider, and none that is no key', async () => {
    const real = (await (await fetch(`${stub.issuer}/jwks`, { tls: { rejectUnauthorized: false } })).json()).keys
    const person = { sub: 'one', email: desk.agent.email, email_verified: true }
    const key = (kid: number) => ({ kty: 'EC', crv: 'P-256', kid: String(kid), x: 'x', y: 'y' })
    const many = Array.from({ length: 50 }, (_, kid) => key(kid))
    for (const [keys, error] of [
      [[...many, ...real], 'provider_error'],
      [[{}, null, 'key', { ...key(1), n: 'n'.repeat(5000) }, { ...key(2), x: [] }, ...many.slice(1), ...real], null],
    ] as const) {
      desk = await createOrganization()
      await put({})
      stub.answers = { '/jwks': () => Response.json({ keys }) }
      expect(await errorOf({ ...person, email: desk.agent.email })).toBe(error)
    }
  })

  test('gives who becomes a member again no password of before', async () => {
    const email = `${crypto.randomUUID()}@acme.example`
    const made = await desk.admin.post('/users', { email, name: 'Former', password: PASSWORD })
    expect((await desk.admin.delete(`/users/${made.body.data.id}`)).status).toBe(204)
    await put({ provision: 'domain', domains: ['acme.example'] })
    const again = await signInAs({ sub: 'new', email, email_verified: true })
    expect(again.body.user.id).toBe(made.body.data.id)
    expectError(await stranger().post('/auth/login', { email, password: PASSWORD }), 401, 'INVALID_CREDENTIALS')
  })

  test('takes the invitation of a person, but none that has expired', async () => {
    await put({})
    for (const [days, ending] of [
      [-1, 'not_allowed'],
      [1, null],
    ] as const) {
      const email = `${crypto.randomUUID()}@invited.example`
      await connection().sql`
        insert into invitations (organization_id, id, email, email_key, name, role, token_hash, is_proof, expires_at)
        values (${desk.id}, ${newId()}, ${email}, ${email}, 'I', 'admin', ${Buffer.from(email)}, false,
          now() + make_interval(days => ${days}))`
      expect(await errorOf({ sub: email, email, email_verified: true })).toBe(ending)
      const { data } = (await desk.admin.get('/users?per_page=100')).body
      const [person] = data.filter((user: { email: string }) => user.email === email)
      expect([person.status, person.role]).toEqual([ending ? 'invited' : 'active', 'admin'])
    }
    expect((await desk.admin.get('/audit-log?action=invitation.accepted')).body.meta.total).toBe(1)
  })

  test('invites a person whose address another organization knows, and changes nothing there', async () => {
    using _ = operatorServer()
    const { agent } = await createOrganization('Other')
    await put({ provision: 'domain', domains: ['deskwire.example'] })
    const person = { sub: 'one', email: agent.email, email_verified: true, name: 'Hostile' }
    for (let i = 0; i < 2; i++) expect(await errorOf(person)).toBe('invited')
    const invited = (await desk.admin.get('/users?status=invited')).body.data
    expect(invited).toMatchObject([{ email: agent.email, role: 'agent' }])
    await connection().sql`update invitations set expires_at = now() where organization_id = ${desk.id}`
    expect(await errorOf(person)).toBe('invited')
    const [again] = (await desk.admin.get('/users?status=invited')).body.data
    expect(again.id).not.toBe(invited[0].id)
    expect((await agent.get('/auth/me')).body).toMatchObject({ name: 'Alan Agent', organizations: [{ name: 'Other' }] })
    expect((await signIn(agent.email)).user_id).toBe(agent.user_id)
  })

  test('refuses text that cannot be stored, from the program and from the provider', async () => {
    await put({})
    expectError(await start({ state: 'a\0b' }), 422, 'VALIDATION_ERROR')
    expectError(await start({ redirect_uri: `${APP}\0` }), 422, 'VALIDATION_ERROR')
    const known = { sub: 'one', email: desk.agent.email, email_verified: true }
    expect(await errorOf({ ...known, sub: 'a\0b' })).toBe('provider_error')
    expect(await errorOf({ ...known, sid: '\ud800' })).toBe('provider_error')
    expect((await signInAs(known)).status).toBe(200)
  })

  test('states, codes and challenges count once', async () => {
    await put({})
    stub.claims = { sub: 'one', email: desk.agent.email, email_verified: true }
    const state = await begin()
    const code = (await comeBack(state)).searchParams.get('code')!
    expect((await callback(state)).status).toBe(400)
    expect((await callback('unknown')).status).toBe(400)
    expect((await callback(`${desk.id}.unknown`)).status).toBe(400)
    const answers = await Promise.all([redeem(code), redeem(code)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401])
    const stolen = await codeFor(stub.claims)
    expectError(await redeem(stolen, 'w'.repeat(50)), 401, 'INVALID_TOKEN')
    expectError(await redeem(stolen), 401, 'INVALID_TOKEN')
    const late = await codeFor(stub.claims)
    await connection().sql`update provider_tokens set expires_at = now() where kind = 'code'`
    expectError(await redeem(late), 401, 'INVALID_TOKEN')
    const old = await begin()
    await connection().sql`update provider_tokens set expires_at = now() where kind = 'state'`
    expect((await comeBack(old)).searchParams.get('error')).toBe('expired')
  })

  test('returns to the console, to this computer and to listed addresses, and nowhere else', async () => {
    await put({ redirect_uris: ['https://app.example/back'] })
    const startAt = (redirect_uri: string) => start({ redirect_uri })
    for (const uri of ['http://[::1]:9/x', 'https://app.example/back', 'http://localhost:3000/']) {
      expect((await startAt(uri)).status).toBe(200)
    }
    for (const uri of [
      'https://app.example/back/x',
      'http://127.0.0.1.evil.example/',
      'http://127.0.0.1@evil.example/',
      'javascript:1',
    ]) {
      expectError(await startAt(uri), 422, 'VALIDATION_ERROR')
    }
    expectError(await start({ code_challenge: 'short' }), 422, 'VALIDATION_ERROR')
    expectError(await start({ code_challenge_method: 'plain' }), 422, 'VALIDATION_ERROR')
  })

  test('says within ten seconds that a provider does not answer, and nobody else waits', async () => {
    await put({})
    stub.claims = { sub: 'one', email: desk.agent.email, email_verified: true }
    const state = await begin()
    stub.answers = { '/token': () => new Promise(() => {}) }
    const begun = performance.now()
    const back = comeBack(state)
    expect((await desk.agent.get('/tickets')).status).toBe(200)
    expect(performance.now() - begun).toBeLessThan(3000)
    expect((await back).searchParams.get('error')).toBe('provider_error')
    expect(performance.now() - begun).toBeLessThan(10_000)
  }, 15_000)
})

describe('a session of the provider', () => {
  let session: Record<string, string>
  let answer: Answer

  beforeEach(async () => {
    await put({ session_seconds: 300 })
    answer = await signInAs({ sub: 'one', sid: 's1', email: desk.admin.email, email_verified: true })
    session = tokenOf(answer)
  })

  test('acts in its organization alone, and may not touch the account', async () => {
    const other = await createOrganization()
    await connection().sql`
      insert into memberships (organization_id, user_id, role) values (${other.id}, ${desk.admin.user_id}, 'admin')`
    const call = (method: string, path: string, body?: unknown, headers = {}) =>
      stranger().send(method, path, body, { ...session, ...headers })
    expect((await call('GET', '/tickets')).status).toBe(200)
    expectError(await call('GET', '/tickets', undefined, { 'x-organization-id': other.id }), 403, 'FORBIDDEN')
    expect((await call('GET', '/auth/me')).body.organizations).toMatchObject([{ id: desk.id }])
    expect((await call('GET', '/auth/sessions')).body.data).toHaveLength(1)
    expectError(await call('PATCH', '/auth/me', { name: 'x' }), 403, 'FORBIDDEN')
    const notify = { mentioned: 'mail' }
    expect((await call('PATCH', '/auth/me', { notify })).body.notify).toMatchObject({
      mentioned: 'mail',
      assigned: 'none',
    })
    const elsewhere = { 'x-organization-id': other.id }
    expectError(await call('PATCH', '/auth/me', { notify }, elsewhere), 403, 'FORBIDDEN')
    expect((await call('GET', '/auth/me', undefined, elsewhere)).body.notify).toBeUndefined()
    expectError(await call('POST', '/auth/second-factor', { current_password: PASSWORD }), 403, 'FORBIDDEN')
    expectError(await call('DELETE', `/auth/me/organizations/${desk.id}`), 403, 'FORBIDDEN')
    const password_session = (await desk.admin.get('/auth/sessions')).body.data.find(
      ({ current }: { current: boolean }) => current,
    )
    expectError(await call('DELETE', `/auth/sessions/${password_session.id}`), 404, 'SESSION_NOT_FOUND')
    expect((await call('DELETE', '/auth/sessions')).status).toBe(204)
    expect((await desk.admin.get('/auth/me')).body.organizations).toHaveLength(2)
    const { refresh_token } = answer.body
    const refreshed = await stranger().post('/auth/refresh', { refresh_token })
    const again = { authorization: `Bearer ${refreshed.body.access_token}`, 'x-organization-id': other.id }
    expectError(await stranger().get('/tickets', again), 403, 'FORBIDDEN')
    const [row] = await connection().sql`
      select extract(epoch from expires_at - now())::int as left from refresh_tokens
      where provider_organization_id = ${desk.id}`
    expect(row!.left).toBeWithin(200, 301)
  })

  test('leaves no trace in the log of another organization, and ends no session with a password', async () => {
    const other = await createOrganization()
    await connection().sql`
      insert into memberships (organization_id, user_id, role) values (${other.id}, ${desk.admin.user_id}, 'agent')`
    const second = (await signInAs({ sub: 'one', sid: 's2' })).body
    const [first] = (await stranger().get('/auth/sessions', session)).body.data.filter(
      ({ current }: { current: boolean }) => !current,
    )
    const actions = async ({ admin }: Organization) =>
      (await admin.get(`/audit-log?per_page=100&actor_id=${desk.admin.user_id}`)).body.data.map(
        ({ action }: { action: string }) => action,
      )
    const password = (await stranger().post('/auth/login', { email: desk.admin.email, password: PASSWORD })).body
    const before = await actions(other)
    expect((await stranger().send('DELETE', `/auth/sessions/${first.id}`, undefined, session)).status).toBe(204)
    expect((await stranger().send('DELETE', '/auth/sessions', undefined, session)).status).toBe(204)
    for (const { refresh_token } of [password, second, answer.body]) {
      expect((await stranger().post('/auth/logout', { refresh_token }, session)).status).toBe(204)
    }
    expect((await stranger().get('/auth/me', tokenOf({ ...answer, body: password }))).status).toBe(200)
    expect(await actions(other)).toEqual(before)
    expect((await actions(desk)).slice(0, 3)).toEqual(['auth.logout', 'auth.session_ended', 'auth.session_ended'])
  })

  test('uses up no requests of the person in other organizations', async () => {
    using _ = withSettings({ SESSION_RATE_LIMIT_PER_MINUTE: 1000 })
    const left = async (headers: Record<string, string>) =>
      Number((await stranger().get('/auth/me', headers)).headers.get('x-ratelimit-remaining'))
    const password = tokenOf(await stranger().post('/auth/login', { email: desk.admin.email, password: PASSWORD }))
    const refreshed = tokenOf(await stranger().post('/auth/refresh', { refresh_token: answer.body.refresh_token }))
    expect([await left(password), await left(session), await left(refreshed)]).toEqual([999, 999, 998])
    expect(await left(password)).toBe(998)
  })

  test('that begins while the provider ends it does not go on', async () => {
    const { sql } = connection()
    const code = await codeFor({ sub: 'one', sid: 's9' })
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const logout_token = await stub.sign({ nonce: undefined, jti: crypto.randomUUID(), events, sid: 's9' })
    const waiting = async () => (await sql`select from pg_locks where locktype = 'advisory' and not granted`).length
    const calls = await transact(connection(), async (inner) => {
      await lockProvider({ ...inner, organization_id: desk.id })
      const redeeming = redeem(code)
      await until('the code is being redeemed', async () => (await waiting()) === 1)
      // From the same address, it waits for the connection that the other holds.
      return { redeeming, ending: endBy(logout_token) }
    })
    expect((await calls.ending).status).toBe(200)
    const begun = await calls.redeeming
    expectError(await stranger().get('/auth/me', tokenOf(begun)), 401, 'INVALID_TOKEN')
  })

  test('ends after session_seconds, with the access token that it still has', async () => {
    await connection().sql`
      update refresh_tokens set expires_at = now() where provider_organization_id = ${desk.id}`
    expectError(await stranger().get('/tickets', session), 401, 'INVALID_TOKEN')
    expectError(await stranger().get('/auth/me', session), 401, 'INVALID_TOKEN')
  })

  test('ends with the provider, another client, or the membership', async () => {
    const ends: (() => Promise<Answer>)[] = [
      () => put({ client_id: 'other' }),
      () => desk.admin.delete('/identity-provider'),
    ]
    for (const end of ends) {
      await put({})
      const here = tokenOf(await signInAgain())
      expect((await stranger().get('/tickets', here)).status).toBe(200)
      expect((await end()).status).toBeLessThan(300)
      expectError(await stranger().get('/tickets', here), 401, 'INVALID_TOKEN')
    }
    await put({})
    const member = tokenOf(await signInAs({ sub: 'm', email: desk.agent.email, email_verified: true }))
    await desk.admin.delete(`/users/${desk.agent.user_id}`)
    expectError(await stranger().get('/tickets', member), 403, 'FORBIDDEN')
    expect(await errorOf({ sub: 'm' })).toBe('not_allowed')
  })

  test('may require the provider: passwords open nothing here, keys go on, the operator lifts it', async () => {
    const required = await stranger().send('PUT', '/identity-provider', { ...base(), required: true }, session)
    expect(required.body.data.required).toBe(true)
    const key = await createProgram(asClient(session), ['tickets:read'])
    expectError(await desk.agent.get('/tickets'), 403, 'PROVIDER_REQUIRED')
    const login = (password: string) => stranger().post('/auth/login', { email: desk.agent.email, password })
    expectError(await login(PASSWORD), 403, 'PROVIDER_REQUIRED')
    expectError(await login('wrong'), 401, 'INVALID_CREDENTIALS')
    expect((await key.get('/tickets')).status).toBe(200)
    expect((await stranger().get('/tickets', session)).status).toBe(200)
    const other = await createOrganization()
    await connection().sql`
      insert into memberships (organization_id, user_id, role) values (${other.id}, ${desk.agent.user_id}, 'agent')`
    expect((await (await signIn(desk.agent.email)).get('/tickets', { 'x-organization-id': other.id })).status).toBe(200)
    const changed = await stranger().send(
      'PUT',
      '/identity-provider',
      { ...base(), client_id: 'x', required: true },
      session,
    )
    expect(changed.body.data.required).toBe(false)
  })

  test('no longer has to be used once the operator says so', async () => {
    await stranger().send('PUT', '/identity-provider', { ...base(), required: true }, session)
    expectError(await desk.agent.get('/tickets'), 403, 'PROVIDER_REQUIRED')
    const run = () =>
      spawnSync(process.execPath, ['--no-orphans', CLI, 'identity-provider', 'optional', '--organization', desk.id], {
        env: { ...process.env, DATABASE_URL: database.url, SECRET_KEY: 'a secret key that only tests use' },
        encoding: 'utf8',
      })
    const { status, stdout } = run()
    expect([status, JSON.parse(stdout)]).toEqual([0, { optional: true }])
    expect(JSON.parse(run().stdout)).toEqual({ optional: false })
    expect((await signIn(desk.agent.email)).user_id).toBe(desk.agent.user_id)
    await until('passwords count again', async () => (await desk.agent.get('/tickets')).status === 200, 10_000)
    expect((await stranger().get('/identity-provider', session)).body.data).toMatchObject({ required: false })
    const { data } = (await desk.admin.get('/audit-log?action=operator.identity_provider_optional')).body
    expect(data).toMatchObject([{ actor: { type: 'operator' }, resource: { type: 'organization', id: desk.id } }])
  })

  test('ends at the word of the provider, which counts once', async () => {
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const logout = async (claims: object) => {
      const logout_token = await stub.sign({ nonce: undefined, jti: crypto.randomUUID(), events, ...claims })
      return endBy(logout_token)
    }
    for (const wrong of [
      { sub: 'one', events: {} },
      { sub: 'one', nonce: 'x' },
      { sub: 'one', aud: 'x' },
      {},
      { sub: 'one', jti: undefined },
    ]) {
      expect((await logout(wrong)).status).toBe(400)
    }
    expect((await endBy('garbage')).status).toBe(400)
    expect((await logout({ sid: 'another' })).status).toBe(200)
    expect((await stranger().get('/tickets', session)).status).toBe(200)
    const once = await stub.sign({ nonce: undefined, jti: 'once', events, sid: 's1' })
    expect((await endBy(once)).status).toBe(200)
    expectError(await stranger().get('/tickets', session), 401, 'INVALID_TOKEN')
    expect((await endBy(once)).status).toBe(400)
    const next = tokenOf(await signInAgain())
    expect((await logout({ sub: 'one' })).status).toBe(200)
    expectError(await stranger().get('/tickets', next), 401, 'INVALID_TOKEN')
    expect((await desk.admin.get('/tickets')).status).toBe(200)
  })

  const signInAgain = () => signInAs({ sub: 'one', email: desk.admin.email, email_verified: true })
})

describe('the start of a sign-in', () => {
  const HOST = 'login.acme.example'

  test('leads to a host that no admin verified by a page that names it, without a script', async () => {
    await putAt(`https://${HOST}:8443/authorize?a="b"&c=<d>'`)
    const answer = await start()
    expect([answer.status, answer.headers.get('location')]).toEqual([200, null])
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    expect(answer.headers.get('content-security-policy')).toBe(policy)
    expect(answer.text).toContain(`>Go on to ${HOST}:8443</a>`)
    expect(answer.text).toMatch(/<a rel="noreferrer" href="https:[^"]*">/)
    expect(answer.text).not.toMatch(/<script|<d>| on\w+=/)
    const address = addressOf(answer)
    expect([address.host, address.searchParams.get('c'), address.searchParams.get('client_id')]).toEqual([
      `${HOST}:8443`,
      "<d>'",
      'desk',
    ])
  })

  test.each([
    ['acme.example', HOST],
    ['login.acme.example', HOST],
    ['bücher.example', 'login.xn--bcher-kva.example'],
    ['acme.example', 'LOGIN.Acme.Example:8443'],
  ])('goes on at once where %s is verified, to %s', async (domain, host) => {
    await verify(desk, domain)
    await putAt(`https://${host}/authorize`)
    const { status, headers } = await start()
    expect([status, new URL(headers.get('location')!).host]).toEqual([302, host.toLowerCase()])
    await connection().sql`update domains set verified_at = null, verified_by = null`
    expect((await start()).status).toBe(200)
  })

  test.each([
    'evil-acme.example',
    'acme.example.evil.example',
    'example',
    'xn--cme-6cd.example',
    'аcme.example',
    'login.acme.example.',
    '127.0.0.1',
    '[::1]',
    'evil.example/acme.example',
    'evil.example?acme.example',
    'evil.example\\.acme.example',
    'evil.example#@acme.example',
  ])('goes on to nowhere else where acme.example is verified: %s', async (host) => {
    await verify(desk, 'acme.example')
    await putAt(`https://${host}`)
    const answer = await start()
    expect([answer.status, answer.headers.get('location')]).toEqual([200, null])
    expect(answer.text).toContain(`>Go on to ${new URL(`https://${host}`).host}</a>`)
  })

  test.each(['http://acme.example/', 'https://evil.example@acme.example/', 'javascript:alert(1)//.acme.example'])(
    'leads to no endpoint such as %s',
    async (endpoint) => {
      await verify(desk, 'acme.example')
      stub.answers = { [CONFIGURATION]: () => Response.json({ ...stub.metadata(), authorization_endpoint: endpoint }) }
      expectError(await put({}), 422, 'PROVIDER_UNREACHABLE')
    },
  )

  test('knows no domain that another organization verified, or that is only claimed', async () => {
    await verify(await createOrganization(), 'acme.example')
    expect((await desk.admin.post('/domains', { domain: 'acme.example' })).status).toBe(201)
    await putAt(`https://${HOST}/authorize`)
    expect((await start()).status).toBe(200)
  })

  const CONFIGURATION = '/.well-known/openid-configuration'

  async function putAt(authorization_endpoint: string): Promise<void> {
    stub.answers = { [CONFIGURATION]: () => Response.json({ ...stub.metadata(), authorization_endpoint }) }
    expect((await put({})).status).toBe(200)
  }

  async function verify({ admin, id }: Organization, domain: string): Promise<void> {
    expect((await admin.post('/domains', { domain })).status).toBe(201)
    await connection().sql`update domains set verified_at = now(), verified_by = 'dns' where organization_id = ${id}`
  }
})

test('a code of the provider of one organization does not reach the hostile provider of another', async () => {
  await put({})
  const hostile = await createOrganization('Hostile')
  using evil = await startStubProvider()
  await hostile.admin.send('PUT', '/identity-provider', { issuer: evil.issuer, client_id: 'desk' })
  const query = new URLSearchParams({ code_challenge: CHALLENGE, redirect_uri: APP })
  const state = addressOf(await stranger().get(`/auth/oidc/${hostile.id}/start?${query}`)).searchParams.get('state')!
  // The hostile provider has passed the browser on to the other, which returns it to the address of its organization.
  const { searchParams } = addressOf(await start())
  const back = new URL(searchParams.get('redirect_uri')!).searchParams
  const answer = await stranger().get(
    `/auth/oidc/callback?${new URLSearchParams([...back, ['state', state], ['code', 'c']])}`,
  )
  expectError(answer, 400, 'BAD_REQUEST')
  expect(evil.counted.token).toBe(0)
})

test('a hostile tenant whose provider claims the admin of another opens nothing there', async () => {
  const victim = await createOrganization('Victim')
  await put({ provision: 'domain', domains: ['deskwire.example'], trust_email: true })
  // The address is known elsewhere: it would be invited, and no mail can leave here.
  expect(await errorOf({ sub: 'one', email: victim.admin.email, email_verified: true })).toBe('not_allowed')
  await connection().sql`
    insert into memberships (organization_id, user_id, role) values (${desk.id}, ${victim.admin.user_id}, 'agent')`
  const session = tokenOf(await signInAs({ sub: 'one', email: victim.admin.email, email_verified: true }))
  for (const path of ['/tickets', '/users', '/identity-provider']) {
    expectError(await stranger().get(path, { ...session, 'x-organization-id': victim.id }), 403, 'FORBIDDEN')
  }
  expect((await stranger().get('/auth/me', session)).body.organizations).toMatchObject([{ id: desk.id }])
  // A code of one organization says which it is: it is no code of another.
  const code = await codeFor({ sub: 'one' })
  expectError(await redeem(code.replace(desk.id, victim.id)), 401, 'INVALID_TOKEN')
})

test('an import that names a person of another organization learns nothing of the account, and holds nothing up', async () => {
  const hostile = await createOrganization('Hostile')
  const { user_id, email } = desk.agent
  await connection().sql`
    insert into memberships (organization_id, user_id, role, active, is_imported)
    values (${hostile.id}, ${user_id}, 'agent', false, true)`
  await stranger().post('/auth/login', { email, password: PASSWORD })
  const listed = async ({ admin }: Organization) =>
    (await admin.get(`/audit-log?actor_id=${user_id}`)).body.data.map(({ action }: { action: string }) => action)
  expect(await listed(desk)).toContain('auth.login')
  expect(await listed(hostile)).toEqual([])
  expect((await desk.admin.patch(`/users/${user_id}`, { name: 'Renamed' })).status).toBe(200)
  expectError(await hostile.admin.patch(`/users/${user_id}`, { password: PASSWORD }), 403, 'FORBIDDEN')
  await connection().sql`update memberships set is_imported = true where user_id = ${user_id}`
  expectError(await hostile.admin.patch(`/users/${user_id}`, { email: 'evil@evil.example' }), 403, 'FORBIDDEN')
})

const base = () => ({ issuer: stub.issuer, client_id: 'desk' })

function put(fields: object): Promise<Answer> {
  return desk.admin.send('PUT', '/identity-provider', { ...base(), ...fields })
}

function start(fields: Record<string, string> = {}): Promise<Answer> {
  const query = new URLSearchParams({ code_challenge: CHALLENGE, redirect_uri: APP, state: 'mine', ...fields })
  return stranger().get(`/auth/oidc/${desk.id}/start?${query}`)
}

/** Goes to the provider. @returns the state that it was given */
async function begin(): Promise<string> {
  const { searchParams } = addressOf(await start())
  stub.nonce = searchParams.get('nonce')!
  stub.challenge = searchParams.get('code_challenge')!
  return searchParams.get('state')!
}

function callback(state: string): Promise<Answer> {
  return stranger().get(`/auth/oidc/callback?${new URLSearchParams({ state, code: 'theirs' })}`)
}

async function comeBack(state: string): Promise<URL> {
  const location = (await callback(state)).headers.get('location')!
  const url = new URL(location)
  expect([`${url.origin}${url.pathname}`, url.searchParams.get('state')]).toEqual([APP, 'mine'])
  return url
}

async function answered(claims: Record<string, unknown>): Promise<URLSearchParams> {
  const state = await begin()
  stub.claims = claims
  return (await comeBack(state)).searchParams
}

const codeFor = async (claims: Record<string, unknown>) => (await answered(claims)).get('code')!
const errorOf = async (claims: Record<string, unknown>) => (await answered(claims)).get('error')

function redeem(code: string, code_verifier = VERIFIER): Promise<Answer> {
  return stranger().post('/auth/oidc/token', { code, code_verifier })
}

/** The requests of the provider that end sessions. */
function endBy(logout_token: string): Promise<Answer> {
  const form = new URLSearchParams({ logout_token }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return stranger().post(`/auth/oidc/${desk.id}/logout`, form, headers)
}

async function signInAs(claims: Record<string, unknown>): Promise<Answer> {
  const given = await answered(claims)
  if (given.has('error')) throw new Error(`signing in answered ${given.get('error')}`)
  return redeem(given.get('code')!)
}

function tokenOf({ body }: Answer): Record<string, string> {
  return { authorization: `Bearer ${body.access_token}` }
}

function asClient(session: Record<string, string>): Client {
  const client = stranger()
  return { ...client, post: (path, body, headers) => client.post(path, body, { ...session, ...headers }) }
}
