/** Requests with an API key: who they count as, and what they may never do. */
import { afterAll, beforeAll, beforeEach, describe, expect, setSystemTime, spyOn, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { newKeyText } from '../../../src/http/admission/key-format'
import { writeKeyUses } from '../../../src/http/admission/key-uses'
import {
  type Answer,
  api,
  clientWithKey,
  createOrganization,
  type Organization,
  PASSWORD,
  startApi,
  stopApi,
  stranger,
} from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createContact, createTicket, insertMailbox, logTime } from '../../support/factories'
import { withSettings } from '../../support/settings'
import { createWebhook, deliverDue, startTrustedReceiver } from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(async () => {
  setSystemTime()
  await stopApi()
})

let organization: Organization

beforeEach(async () => {
  organization = await createOrganization()
})

function expectError(answer: Answer, status: number, code: string, details?: object) {
  expect([answer.status, answer.body?.error?.code]).toEqual([status, code])
  if (details) expect(answer.body.error.details).toEqual(details)
}

describe('the credential', () => {
  test('is found whatever the case of its scheme', async () => {
    const { key } = await createProgram(organization.admin, ['labels:read'])
    for (const scheme of ['ApiKey', 'apikey', 'APIKEY', 'ApiKey ']) {
      expect((await stranger().get('/labels', { authorization: `${scheme} ${key}` })).status).toBe(200)
    }
    expectError(await stranger().get('/labels', { authorization: `Bearer ${key}` }), 401, 'INVALID_TOKEN')
    expectError(await stranger().get('/labels', { authorization: key }), 401, 'INVALID_TOKEN')
  })

  test('that is unknown, mistyped or missing is INVALID_TOKEN', async () => {
    const { key } = await createProgram(organization.admin, ['labels:read'])
    const wrong = [
      newKeyText().text,
      key.slice(0, -1),
      `${key.slice(0, 20)}${key.slice(21)}`,
      `${key}x`,
      'dk_',
      '\u00e9',
    ]
    for (const one of wrong) {
      const answer = await stranger().get('/labels', { authorization: `ApiKey ${one}` })
      expectError(answer, 401, 'INVALID_TOKEN')
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    expectError(await stranger().get('/labels', { authorization: 'ApiKey' }), 401, 'INVALID_TOKEN')
    expectError(await stranger().get('/labels', { authorization: 'ApiKey ' }), 401, 'INVALID_TOKEN')
  })

  test('counts from its networks alone, by the address that a trusted proxy gives', async () => {
    const { admin } = organization
    const allowed_networks = ['203.0.113.0/24', '2001:db8::/32', '::ffff:198.51.100.0/120']
    const { key } = await createProgram(admin, ['labels:read'], { allowed_networks })
    const from = (address: string) =>
      stranger().get('/labels', { authorization: `ApiKey ${key}`, 'x-forwarded-for': address })
    expect((await from('203.0.113.9')).status).toBe(403)
    using _ = withSettings({ TRUSTED_PROXIES: [ipaddr.parseCIDR('127.0.0.0/8')] })
    for (const address of ['203.0.113.9', '::ffff:203.0.113.9', '2001:db8:1::1', '198.51.100.7']) {
      expect([address, (await from(address)).status]).toEqual([address, 200])
    }
    for (const address of ['203.0.114.9', '2001:db9::1', '198.51.101.7', '127.0.0.1']) {
      expect([address, (await from(address)).status]).toEqual([address, 403])
    }
  })

  test('is not looked at outside of the API', async () => {
    const { key } = await createProgram(organization.admin, ['labels:read'])
    for (const path of ['/healthz', '/readyz', '/swagger', '/swagger/json']) {
      const headers = { authorization: `ApiKey ${key}` }
      const { status } = await api().handle(new Request(`http://localhost${path}`, { headers }))
      expect([path, status]).toEqual([path, 200])
    }
  })

  test('ends well within 10 seconds after another process revoked it', async () => {
    const program = await createProgram(organization.admin, ['labels:read'])
    expect((await program.get('/labels')).status).toBe(200)
    const { sql } = connection()
    await sql`update api_keys set revoked_at = now() where id = ${program.id}`
    const now = performance.now.bind(performance)
    using _later = spyOn(performance, 'now').mockImplementation(() => now() + 7500)
    expect((await program.get('/labels')).status).toBe(401)
  })

  test('is not remembered by a look-up that began before it was revoked', async () => {
    const { admin } = organization
    for (let round = 0; round < 20; round++) {
      const program = await createProgram(admin, ['labels:read'])
      await Promise.all([program.get('/labels'), admin.delete(`/api-keys/${program.id}`), program.get('/labels')])
      expect((await program.get('/labels')).status).toBe(401)
    }
  })
})

describe('requests of a key', () => {
  test('are counted for it alone', async () => {
    const { admin } = organization
    const [one, two] = [await createProgram(admin, ['labels:read']), await createProgram(admin, ['labels:read'])]
    using _ = withSettings({ RATE_LIMIT_PER_MINUTE: 3 })
    // Limits are kept from the first request on, with the number of then: another clock minute is not needed.
    const left = async (program: typeof one) => (await program.get('/labels')).headers.get('x-ratelimit-remaining')
    const [first, second] = [Number(await left(one)), Number(await left(one))]
    expect(first - second).toBe(1)
    expect(Number(await left(two))).toBe(first)
  })

  test('that is not valid count for the address, and then make no query any more', async () => {
    const program = await createProgram(organization.admin, ['labels:read'])
    expect((await program.get('/labels')).status).toBe(200)
    using _ = withSettings({ RATE_LIMIT_PER_MINUTE: 100, TRUSTED_PROXIES: [ipaddr.parseCIDR('127.0.0.0/8')] })
    const from = { 'x-forwarded-for': `2001:db8:${newId().slice(-4)}::1` }
    const statuses = []
    for (let count = 0; count < 105; count++) {
      const { status } = await clientWithKey(newKeyText().text).get('/labels', from)
      statuses.push(status)
    }
    expect(statuses[0]).toBe(401)
    expect(statuses.at(-1)).toBe(429)
    // A key in use is not refused because of its neighbours.
    expect((await program.get('/labels', from)).status).toBe(200)
  })

  test('have idempotency keys of their own', async () => {
    const { admin } = organization
    const [one, two] = [
      await createProgram(admin, ['companies:write']),
      await createProgram(admin, ['companies:write']),
    ]
    const headers = { 'idempotency-key': 'one' }
    const first = await one.post('/companies', { name: 'Acme' }, headers)
    const again = await one.post('/companies', { name: 'Acme' }, headers)
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, first.text, 'true'])
    expectError(await one.post('/companies', { name: 'Ajax' }, headers), 422, 'IDEMPOTENCY_KEY_REUSED')
    for (const other of [two, admin]) {
      const answer = await other.post('/companies', { name: 'Acme' }, headers)
      expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, null])
    }
    expect((await admin.get('/companies')).body.meta.total).toBe(3)
  })

  test('note the last use without a write for each', async () => {
    const { admin } = organization
    const program = await createProgram(admin, ['labels:read'])
    const refused = await createProgram(admin, ['labels:read'], { allowed_networks: ['203.0.113.7'] })
    await writeKeyUses(connection())
    const { sql } = connection()
    const version = async () => (await sql`select xmin::text as xmin from api_keys where id = ${program.id}`)[0]!.xmin
    const before = await version()
    const begun_ms = Date.now()
    for (let count = 0; count < 20; count++) await program.get('/labels')
    await refused.get('/labels')
    expect(await version()).toBe(before)
    await writeKeyUses(connection())
    const { data } = (await admin.get(`/api-keys/${program.id}`)).body
    expect(Date.parse(data.last_used_at)).toBeWithin(begun_ms - 1000, Date.now() + 1)
    expect((await admin.get(`/api-keys/${refused.id}`)).body.data.last_used_at).toBeNull()
    const after = await version()
    await writeKeyUses(connection())
    expect(await version()).toBe(after)
  })

  test('keep what was noted when it cannot be written', async () => {
    const program = await createProgram(organization.admin, ['labels:read'])
    await program.get('/labels')
    const failing = { sql: () => Promise.reject(new Error('away')) } as unknown as Parameters<typeof writeKeyUses>[0]
    expect(writeKeyUses(failing)).rejects.toThrow('away')
    await writeKeyUses(connection())
    expect((await organization.admin.get(`/api-keys/${program.id}`)).body.data.last_used_at).toBeString()
  })

  test('never take a time of use back that another process has written', async () => {
    const program = await createProgram(organization.admin, ['labels:read'])
    const { sql } = connection()
    await program.get('/labels')
    await sql`update api_keys set last_used_at = '2099-01-01' where id = ${program.id}`
    await writeKeyUses(connection())
    const { data } = (await organization.admin.get(`/api-keys/${program.id}`)).body
    expect(data.last_used_at).toBe('2099-01-01T00:00:00Z')
  })
})

describe('what a key does', () => {
  test('is done in its name: in the timeline and as the sender of messages', async () => {
    const { admin, scope } = organization
    const program = await createProgram(admin, ['tickets:write', 'messages:write'], { name: 'Night shift' })
    const ticket = await createTicket(admin)
    const say = async (body: object) => (await program.post(`/tickets/${ticket.id}/messages`, body)).body.data
    const unsent = await say({ body: 'No mailbox yet' })
    expect(unsent).toMatchObject({ direction: 'outbound', sender: { name: 'Night shift', email: null } })
    const { address } = await insertMailbox(scope, { smtp: false })
    expect((await say({ body: 'Hello', send_email: false })).sender).toEqual({ name: 'Night shift', email: address })
    expect((await say({ body: 'A note', is_internal: true })).sender).toEqual({ name: 'Night shift', email: address })
    await program.patch(`/tickets/${ticket.id}`, { status: 'pending' })
    const { data } = (await admin.get(`/tickets/${ticket.id}/activity`)).body
    const actors = data.slice(-4).map(({ actor }: { actor: unknown }) => actor)
    expect(actors).toEqual(Array(4).fill({ type: 'api_key', id: program.id, name: 'Night shift' }))
  })

  test('is told to webhooks with the name of the key', async () => {
    using receiver = await startTrustedReceiver()
    const { admin } = organization
    await createWebhook(admin, { url: receiver.url, events: ['message.created'] })
    const program = await createProgram(admin, ['messages:write'], { name: 'Night shift' })
    const ticket = await createTicket(admin)
    await program.post(`/tickets/${ticket.id}/messages`, { body: 'Hello', send_email: false })
    await deliverDue()
    expect(receiver.requests[0]!.json()).toMatchObject({
      event: 'message.created',
      data: { sender: { name: 'Night shift', email: null } },
    })
  })

  test('has a ticket with its messages and its time by tickets:read alone', async () => {
    const { admin } = organization
    const ticket = await createTicket(admin, { description: 'It burns' })
    await logTime(admin, ticket.id)
    const program = await createProgram(admin, ['tickets:read'])
    const { data } = (await program.get(`/tickets/${ticket.id}`)).body
    expect([data.messages.length, data.time_entries.length]).toEqual([1, 1])
    expectError(await program.get(`/tickets/${ticket.id}/messages`), 403, 'FORBIDDEN', { required: 'messages:read' })
  })

  test('acts in its organization, named or not', async () => {
    const { admin, id } = organization
    const contact = await createContact(admin)
    const program = await createProgram(admin, ['contacts:read'])
    const other = await createOrganization()
    const none: Record<string, string> = {}
    for (const headers of [none, { 'x-organization-id': '' }, { 'x-organization-id': id.toUpperCase() }]) {
      const { data } = (await program.get('/contacts', headers)).body
      expect(data.map((one: { id: string }) => one.id)).toEqual([contact.id])
    }
    expectError(await program.get('/contacts', { 'x-organization-id': other.id }), 403, 'FORBIDDEN')
    expectError(await program.get('/contacts', { 'x-organization-id': newId() }), 403, 'FORBIDDEN')
    expectError(await program.get('/contacts', { 'x-organization-id': 'x' }), 422, 'VALIDATION_ERROR')
  })

  test('changes the time of anybody with time_entries:write', async () => {
    const { admin, agent } = organization
    const ticket = await createTicket(admin)
    const entries = [await logTime(admin, ticket.id), await logTime(agent, ticket.id)]
    const program = await createProgram(admin, ['time_entries:write'])
    for (const { id } of entries) {
      expect((await program.patch(`/time-entries/${id}`, { duration_minutes: 7 })).status).toBe(200)
      expect((await program.delete(`/time-entries/${id}`)).status).toBe(204)
    }
  })

  test('never makes an admin, sets a password or changes an email', async () => {
    const { admin, agent } = organization
    const program = await createProgram(admin, ['*:write'])
    const email = () => `${newId()}@b.example`
    const idle = await organization.addMember('admin', 'Ida Idle')
    await admin.patch(`/users/${idle.user_id}`, { active: false })
    const refused = [
      await program.post('/users', { email: email(), name: 'Eve', role: 'admin' }),
      await program.post('/users', { email: email(), name: 'Eve', role: 'admin', password: PASSWORD }),
      await program.post('/users', { email: email(), name: 'Eve', password: PASSWORD }),
      await program.patch(`/users/${agent.user_id}`, { role: 'admin' }),
      await program.patch(`/users/${agent.user_id}`, { password: PASSWORD }),
      await program.patch(`/users/${idle.user_id}`, { active: true }),
      await program.patch(`/users/${admin.user_id}`, { email: email() }),
      await program.patch(`/users/${agent.user_id}`, { email: email() }),
      await program.patch(`/users/${agent.user_id}`, { email: agent.email.toUpperCase() }),
      await program.patch(`/users/${admin.user_id}`, { password: PASSWORD }),
      await program.post('/api-keys', { name: 'More', permissions: ['*:write'] }),
      await program.patch(`/api-keys/${program.id}`, { allowed_networks: [] }),
      await program.delete(`/api-keys/${program.id}`),
    ]
    for (const answer of refused) expectError(answer, 403, 'FORBIDDEN', { reason: expect.any(String) })
    const users = (await admin.get('/users')).body.data
    expect(
      users.filter(({ role, active }: { role: string; active: boolean }) => role === 'admin' && active),
    ).toHaveLength(1)
    expect((await program.patch(`/users/${agent.user_id}`, { name: 'Alan Renamed', email: agent.email })).status).toBe(
      200,
    )
    expect((await program.patch(`/users/${admin.user_id}`, { name: 'Ada Renamed', role: 'admin' })).status).toBe(200)
  })
})

describe('logging time', () => {
  test('needs the user of an API key, who is an active member', async () => {
    const { admin, agent } = organization
    const ticket = await createTicket(admin)
    const program = await createProgram(admin, ['time_entries:write'])
    const log = (body: object) => program.post(`/tickets/${ticket.id}/time-entries`, { duration_minutes: 5, ...body })
    expectError(await log({}), 422, 'VALIDATION_ERROR', {
      errors: [{ path: '/user_id', message: 'is required of an API key' }],
    })
    const entry = await log({ user_id: agent.user_id })
    expect([entry.status, entry.body.data.user]).toEqual([201, { id: agent.user_id, name: 'Alan Agent' }])
    const gone = await organization.addMember('agent')
    await admin.patch(`/users/${gone.user_id}`, { active: false })
    const other = await createOrganization()
    for (const user_id of [gone.user_id, other.agent.user_id, newId(), 'nobody']) {
      expectError(await log({ user_id }), 422, 'USER_NOT_FOUND', {
        ids: [user_id],
        errors: [{ path: '/user_id', message: expect.any(String) }],
      })
    }
  })

  test('for others is for admins; for oneself it makes no difference', async () => {
    const { admin, agent } = organization
    const ticket = await createTicket(admin)
    const body = (user_id: string) => ({ duration_minutes: 5, user_id })
    const path = `/tickets/${ticket.id}/time-entries`
    const forAgent = await admin.post(path, body(agent.user_id))
    expect([forAgent.status, forAgent.body.data.user.id]).toEqual([201, agent.user_id])
    expect((await agent.post(path, body(agent.user_id.toUpperCase()))).body.data.user.id).toBe(agent.user_id)
    expectError(await agent.post(path, body(admin.user_id)), 403, 'UNAUTHORIZED')
    expectError(await agent.post(path, body(newId())), 403, 'UNAUTHORIZED')
    expectError(await admin.post(path, body(newId())), 422, 'USER_NOT_FOUND')
  })
})
