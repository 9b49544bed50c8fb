/** Gives tokens to customers: what they open, when they end, their limits, and pages of other origins. */
import { afterAll, beforeAll, describe, expect, setSystemTime, spyOn, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { removeOldTokens } from '../../../src/desk/portal/contact-tokens'
import {
  api,
  clientWithToken,
  createOrganization,
  expectError,
  type Organization,
  startApi,
  stopApi,
  stranger,
} from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createCustomer, isForCustomers, manyCustomers, tokenOf } from '../../support/customers'
import { pathWith, readEndpoints } from '../../support/endpoints'
import { createCompany, createContact, createTicket, formOf } from '../../support/factories'
import { withSettings } from '../../support/settings'
import { createWorld, fingerprint, goodBody, goodRaw } from '../../support/world'

beforeAll(() => startApi())
afterAll(async () => {
  setSystemTime()
  await stopApi()
})

const NOBODY = '01890000-0000-7000-8000-000000000000'
const ORIGIN = 'https://help.customer.example'

/** The memory of the process about tokens has ended: as if another process had changed them. */
function whenForgotten() {
  const now = performance.now.bind(performance)
  return spyOn(performance, 'now').mockImplementation(() => now() + 7500)
}

function later(seconds: number) {
  setSystemTime(new Date(Date.now() + seconds * 1000))
}

async function listed({ scope: { sql, organization_id } }: Organization) {
  const rows = await sql<
    { action: string; resource_type: string; resource_id: string; changes: object; text: string }[]
  >`
    select action, resource_type, resource_id, changes, audit_log::text as text from audit_log
    where organization_id = ${organization_id} and action like 'contact_token.%' order by id`
  return [...rows]
}

describe('a token', () => {
  test('is made by an admin or a key that may, is shown once, and stored as a hash', async () => {
    const organization = await createOrganization()
    const { admin, scope } = organization
    const contact = await createContact(admin)
    const path = `/contacts/${contact.id}/tokens`
    const key = await createProgram(admin, ['contact_tokens:write'])
    const answer = await key.post(path, { ttl_seconds: 60 }, { 'idempotency-key': 'once' })
    const { id, token } = answer.body.data
    expect([answer.status, answer.body]).toEqual([
      201,
      { data: { id, token: expect.stringMatching(/^dct_[\w-]{65}$/), scope: 'own', expires_at: expect.any(String) } },
    ])
    expect(Math.abs(Date.parse(answer.body.data.expires_at) - Date.now() - 60_000)).toBeLessThan(5000)
    const second = await key.post(path, { ttl_seconds: 60 }, { 'idempotency-key': 'once' })
    expect(second.body.data.token).not.toBe(token)
    const by_admin = (await admin.post(path)).body.data
    expect(Math.abs(Date.parse(by_admin.expires_at) - Date.now() - 900_000)).toBeLessThan(5000)
    const rows = await scope.sql`
      select contact_tokens::text as text from contact_tokens where organization_id = ${scope.organization_id}`
    for (const { text } of [...rows, ...(await listed(organization))]) {
      expect(text).not.toContain(token)
      expect(text).not.toContain(contact.email)
    }
    expect((await listed(organization))[0]).toMatchObject({
      action: 'contact_token.created',
      resource_type: 'contact_token',
      resource_id: id,
      changes: { contact_id: { from: null, to: contact.id }, scope: { from: null, to: 'own' } },
    })
  })

  test('of a wrong time or scope, of no contact or one of others, is not made', async () => {
    const { admin, id } = await createOrganization()
    const other = await createOrganization()
    const [contact, foreign] = [await createContact(admin), await createContact(other.admin)]
    const before = await fingerprint(id)
    for (const body of [
      { ttl_seconds: 59 },
      { ttl_seconds: 3601 },
      { ttl_seconds: 60.5 },
      { scope: 'all' },
      { scope: 'company' },
    ]) {
      expectError(await admin.post(`/contacts/${contact.id}/tokens`, body), 422, 'VALIDATION_ERROR')
    }
    for (const unknown of [foreign.id, NOBODY, 'nonsense']) {
      expectError(await admin.post(`/contacts/${unknown}/tokens`), 404, 'CONTACT_NOT_FOUND')
      expectError(await admin.delete(`/contacts/${unknown}/tokens`), 404, 'CONTACT_NOT_FOUND')
    }
    expect(await fingerprint(id)).toEqual(before)
  })

  test('is revoked alone or with all others of the contact, at once in this process', async () => {
    const organization = await createOrganization()
    const { admin } = organization
    const [carla, paul] = [await createCustomer(admin), await createCustomer(admin)]
    const [second, third] = [await tokenOf(admin, carla.contact), await tokenOf(admin, carla.contact)]
    for (const one of [carla, second, third, paul]) expect((await one.get('/my/tickets')).status).toBe(200)
    const path = `/contacts/${carla.contact.id}/tokens`
    expectError(await admin.delete(`${path}/${paul.token_id}`), 404, 'CONTACT_TOKEN_NOT_FOUND')
    expect((await admin.delete(`${path}/${carla.token_id}`)).status).toBe(204)
    expectError(await admin.delete(`${path}/${carla.token_id}`), 404, 'CONTACT_TOKEN_NOT_FOUND')
    expectError(await carla.get('/my/tickets'), 401, 'INVALID_TOKEN')
    expect((await second.get('/my/tickets')).status).toBe(200)
    expect((await admin.delete(path)).status).toBe(204)
    expect((await admin.delete(path)).status).toBe(204)
    for (const one of [second, third]) expectError(await one.get('/my/tickets'), 401, 'INVALID_TOKEN')
    expect((await paul.get('/my/tickets')).status).toBe(200)
    const revoked = (await listed(organization)).filter(({ action }) => action === 'contact_token.revoked')
    expect(revoked.map(({ resource_id }) => resource_id).sort()).toEqual(
      [carla, second, third].map((one) => one.token_id).sort(),
    )
  })

  test('ends when its time is over, and its row is removed', async () => {
    const { admin, scope } = await createOrganization()
    const { sql, organization_id } = scope
    const carla = await createCustomer(admin)
    expect((await carla.get('/my/tickets')).status).toBe(200)
    later(901)
    expectError(await carla.get('/my/tickets'), 401, 'TOKEN_EXPIRED')
    setSystemTime()
    const paul = await createCustomer(admin)
    await sql`
      update contact_tokens set expires_at = now() - interval '61 minutes'
      where organization_id = ${organization_id} and id = ${paul.token_id}`
    await removeOldTokens(connection())
    const rows = await sql`select id from contact_tokens where organization_id = ${organization_id}`
    expect([...rows]).toEqual([{ id: carla.token_id }])
  })

  test.each<
    [what: string, end: (organization: Organization, made: { by: string; contact: string }) => Promise<unknown>]
  >([
    ['its contact', ({ admin }, { contact }) => admin.delete(`/contacts/${contact}`)],
    ['the erasure of its contact', ({ admin }, { contact }) => admin.post(`/contacts/${contact}/erase`)],
    ['the key that made it', ({ admin }, { by }) => admin.delete(`/api-keys/${by}`)],
    [
      'the permission of the key that made it',
      ({ admin }, { by }) => admin.patch(`/api-keys/${by}`, { permissions: ['*:read', 'contacts:write'] }),
    ],
  ])('ends within 10 seconds with %s', async (_, end) => {
    const organization = await createOrganization()
    const key = await createProgram(organization.admin, ['contact_tokens:write'])
    const contact = await createContact(organization.admin)
    const carla = await tokenOf(key, contact)
    expect((await carla.get('/my/tickets')).status).toBe(200)
    const other = await tokenOf(
      await createProgram(organization.admin, ['*:write']),
      await createContact(organization.admin),
    )
    await end(organization, { by: key.id, contact: contact.id })
    using _later = whenForgotten()
    expectError(await carla.get('/my/tickets'), 401, 'INVALID_TOKEN')
    expect((await other.get('/my/tickets')).status).toBe(200)
  })

  test.each<[what: string, end: object | undefined]>([
    ['is removed', undefined],
    ['is deactivated', { active: false }],
    ['is no admin any more', { role: 'agent' }],
  ])('ends within 10 seconds when the admin who made it %s', async (_, changes) => {
    const { admin, addMember } = await createOrganization()
    const maker = await addMember('admin')
    const carla = await createCustomer(maker)
    expect((await carla.get('/my/tickets')).status).toBe(200)
    const path = `/users/${maker.user_id}`
    expect((await (changes ? admin.patch(path, changes) : admin.delete(path))).status).toBeLessThan(300)
    using _later = whenForgotten()
    expectError(await carla.get('/my/tickets'), 401, 'INVALID_TOKEN')
  })

  test('that has just ended elsewhere writes nothing, though it is still remembered', async () => {
    const { admin, scope, id } = await createOrganization()
    const { sql, organization_id } = scope
    const carla = await createCustomer(admin)
    const { id: ticket_id } = (await carla.post('/my/tickets', { subject: 'x', body: 'x' })).body.data
    await sql`delete from contact_tokens where organization_id = ${organization_id} and id = ${carla.token_id}`
    const tables = async () => {
      const { storage_removals, ...others } = await fingerprint(id)
      return others
    }
    const before = await tables()
    expectError(await carla.post('/my/tickets', { subject: 'x', body: 'x' }), 401, 'INVALID_TOKEN')
    expectError(await carla.post(`/my/tickets/${ticket_id}/messages`, { body: 'x' }), 401, 'INVALID_TOKEN')
    expectError(await carla.post('/my/attachments', formOf('x', 'x.txt')), 401, 'INVALID_TOKEN')
    expect(await tables()).toEqual(before)
  })

  test('that is mistyped, made up or of another organization is INVALID_TOKEN', async () => {
    const { admin } = await createOrganization()
    const other = await createOrganization()
    const { token } = await createCustomer(admin)
    const { token: foreign } = await createCustomer(other.admin)
    const mixed = foreign.slice(0, 26) + token.slice(26)
    for (const text of [`${token}x`, token.slice(0, -1), `dct_${'A'.repeat(65)}`, 'dct_', mixed, token.toUpperCase()]) {
      expectError(await clientWithToken(text).get('/my/tickets'), 401, 'INVALID_TOKEN')
    }
  })
})

describe('every route', () => {
  test('but those of customers refuses the token of one, and changes nothing', async () => {
    const organization = await createOrganization()
    const world = await createWorld(organization)
    const customers = await manyCustomers(organization, world.company_id, 20)
    const before = await fingerprint(organization.id)
    let tried = 0
    for (const { name, method, path, body } of await readEndpoints()) {
      // Its own token says whose mail it takes, and it asks for no other.
      if (isForCustomers({ path }) || path === '/inbound/{token}') continue
      tried++
      const raw = goodRaw(name)
      const answer = await customers.send(
        method,
        pathWith(path, world),
        raw?.body ?? (body && goodBody(name, world)),
        raw?.type ? { 'content-type': raw.type } : {},
      )
      expect([name, answer.status, answer.body?.error.code]).toEqual([name, 401, 'INVALID_TOKEN'])
    }
    expect(tried).toBeGreaterThan(90)
    expect(await fingerprint(organization.id)).toEqual(before)
  })

  test('of customers refuses all other credentials', async () => {
    const organization = await createOrganization()
    const { admin, agent } = organization
    const world = await createWorld(organization)
    const key = await createProgram(admin, ['*:write'])
    for (const { name, method, path, body } of await readEndpoints()) {
      if (!isForCustomers({ path })) continue
      const raw = goodRaw(name)
      for (const client of [admin, agent, key, stranger()]) {
        const answer = await client.send(method, pathWith(path, world), raw?.body ?? (body && goodBody(name, world)))
        expect([name, answer.status, answer.body.error.code]).toEqual([name, 401, 'INVALID_TOKEN'])
      }
    }
  })
})

describe('limits of customers', () => {
  test('60 requests a minute for each contact, over all of its tokens, whatever the setting says', async () => {
    const { admin } = await createOrganization()
    using _ = withSettings({ RATE_LIMIT_PER_MINUTE: 0 })
    const [carla, paul] = [await createCustomer(admin), await createCustomer(admin)]
    const second = await tokenOf(admin, carla.contact)
    for (let n = 0; n < 60; n++) {
      const answer = await (n % 2 ? carla : second).get('/my/tickets')
      expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([200, String(59 - n)])
    }
    const refused = await carla.get('/my/tickets', { origin: ORIGIN })
    expectError(refused, 429, 'RATE_LIMITED')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expectError(await second.get('/my/tickets'), 429, 'RATE_LIMITED')
    expect((await paul.get('/my/tickets')).status).toBe(200)
    later(61)
    expect((await second.get('/my/tickets')).status).toBe(200)
    setSystemTime()
  })

  test('what is answered 304 counts, too', async () => {
    const { admin } = await createOrganization()
    const carla = await createCustomer(admin)
    const { id } = (await carla.post('/my/tickets', { subject: 'x', body: 'x' })).body.data
    const { headers } = await carla.get(`/my/tickets/${id}`)
    const known = await carla.get(`/my/tickets/${id}`, { 'if-none-match': headers.get('etag')! })
    expect([known.status, known.headers.get('x-ratelimit-remaining')]).toEqual([304, '57'])
  })

  test('10 of them are POST', async () => {
    const { admin } = await createOrganization()
    const carla = await createCustomer(admin)
    const { id } = (await carla.post('/my/tickets', { subject: 'x', body: 'x' })).body.data
    for (let n = 0; n < 9; n++) expectError(await carla.post(`/my/tickets/${id}/messages`, {}), 422, 'EMPTY_BODY')
    const refused = await carla.post(`/my/tickets/${id}/messages`, { body: 'x' })
    expectError(refused, 429, 'RATE_LIMITED')
    expect(refused.headers.get('x-ratelimit-limit')).toBe('10')
    expect((await carla.get('/my/tickets')).status).toBe(200)
  })
})

describe('a page of another origin', () => {
  const preflight = (path: string) =>
    api().handle(
      new Request(`http://localhost/api/v1${path}`, {
        method: 'OPTIONS',
        headers: { origin: ORIGIN, 'access-control-request-method': 'POST' },
      }),
    )
  const allowed = ({ headers }: { headers: Headers }) => headers.get('access-control-allow-origin')

  test('may use the routes of customers when the organization lists it, without cookies', async () => {
    const { admin } = await createOrganization()
    expect((await admin.get('/organization')).body.data.portal_origins).toEqual([])
    const portal_origins = [ORIGIN, 'http://localhost:8080', ORIGIN]
    const settings = await admin.patch('/organization', { portal_origins })
    expect(settings.body.data.portal_origins).toEqual([ORIGIN, 'http://localhost:8080'])
    const carla = await createCustomer(admin)
    for (const answer of [
      await carla.get('/my/tickets', { origin: ORIGIN }),
      await carla.post('/my/tickets', { subject: 'x', body: 'x' }, { origin: ORIGIN }),
      await carla.post('/my/tickets', {}, { origin: ORIGIN }),
      await carla.get(`/my/tickets/${NOBODY}/messages`, { origin: ORIGIN }),
    ]) {
      expect(allowed(answer)).toBe(ORIGIN)
      expect(answer.headers.get('vary')).toContain('Origin')
      expect(answer.headers.get('access-control-expose-headers')?.split(', ').sort()).toEqual([
        ...['Deprecation', 'ETag', 'Idempotent-Replayed', 'Link', 'Retry-After', 'Sunset'],
        ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Request-Id'],
      ])
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    }
    const same = await carla.get('/my/tickets')
    expect([same.status, allowed(same)]).toEqual([200, null])
  })

  test('is refused when the organization does not list it, and cannot read why', async () => {
    const { admin, id } = await createOrganization()
    const other = await createOrganization()
    await other.admin.patch('/organization', { portal_origins: [ORIGIN] })
    await admin.patch('/organization', { portal_origins: ['https://other.example'] })
    const carla = await createCustomer(admin)
    const before = await fingerprint(id)
    for (const origin of [ORIGIN, 'null', 'https://other.example.evil.example', 'https://OTHER.example', '']) {
      const answer = await carla.post('/my/tickets', { subject: 'x', body: 'x' }, { origin })
      expectError(answer, 403, 'FORBIDDEN')
      expect(allowed(answer)).toBeNull()
    }
    expect(await fingerprint(id)).toEqual(before)
  })

  test('asks before it sends, and reads a 401, whichever it is', async () => {
    for (const path of ['/my/tickets', `/my/tickets/${NOBODY}/messages`, '/my/attachments']) {
      const answer = await preflight(path)
      expect([answer.status, allowed(answer), await answer.text()]).toEqual([204, '*', ''])
      expect(answer.headers.get('access-control-allow-headers')).toContain('Authorization')
      expect(answer.headers.get('access-control-allow-methods')).toContain('POST')
      expect(answer.headers.get('x-request-id')).toBeString()
    }
    const refused = await clientWithToken('dct_x').get('/my/tickets', { origin: ORIGIN })
    expectError(refused, 401, 'INVALID_TOKEN')
    expect(allowed(refused)).toBe(ORIGIN)
  })

  test('has no other route', async () => {
    const { admin } = await createOrganization()
    await admin.patch('/organization', { portal_origins: [ORIGIN] })
    for (const path of ['/tickets', '/mystery', '/auth/login', '/attachments']) {
      const answer = await preflight(path)
      expect([answer.status, allowed(answer)]).toEqual([404, null])
      expect(allowed(await admin.get(path, { origin: ORIGIN }))).toBeNull()
    }
  })

  test('is listed as browsers write it, at most 20', async () => {
    const { admin } = await createOrganization()
    for (const wrong of [
      'https://help.example/',
      'help.example',
      '*',
      'https://*.customer.example',
      'null',
      'ftp://a.example',
      'https://A.example',
      7,
    ]) {
      expectError(await admin.patch('/organization', { portal_origins: [wrong] }), 422, 'VALIDATION_ERROR')
    }
    const many = Array.from({ length: 21 }, (_, n) => `https://${n}.example`)
    expectError(await admin.patch('/organization', { portal_origins: many }), 422, 'VALIDATION_ERROR')
    expect((await admin.patch('/organization', { portal_origins: many.slice(1) })).status).toBe(200)
  })
})

test('the scope of a company is of the company that a contact has', async () => {
  const { admin } = await createOrganization()
  const company_id = (await createCompany(admin)).id
  const contact = await createContact(admin, { company_id })
  const ticket = await createTicket(admin, { contact_id: contact.id })
  const boss = await createCustomer(admin, { company_id, scope: 'company' })
  expect((await boss.get(`/my/tickets/${ticket.id}`)).status).toBe(200)
})
