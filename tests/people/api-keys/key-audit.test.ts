/** The audit log of API keys: every write and every refusal. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { newKeyText } from '../../../src/http/admission/key-format'
import { clientWithKey, createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram, type Program } from '../../support/api-keys'
import { createContact, createTicket, insertMailbox } from '../../support/factories'
import { withSettings } from '../../support/settings'

beforeAll(() => startApi())
afterAll(stopApi)

let organization: Organization

beforeEach(async () => {
  organization = await createOrganization()
})

/** The entries of the log about a key, oldest first: `POST /api/v1/labels 201`. */
async function listed(program: Pick<Program, 'id'>): Promise<string[]> {
  const path = `/audit-log?actor_id=${program.id}&action=api_key.request&per_page=100`
  const { data } = (await organization.admin.get(path)).body
  return data.reverse().map(({ changes: { method, route, status } }: { changes: Record<string, { to: unknown }> }) => {
    return `${method!.to} ${route?.to} ${status!.to}`
  })
}

describe('a request of a key', () => {
  test('is listed when it writes, with its status, and not when it reads', async () => {
    const { admin } = organization
    const program = await createProgram(admin, ['labels:write', 'mailboxes:write'], { name: 'Painter' })
    const label = (await program.post('/labels', { name: 'VIP', color: '#112233' })).body.data
    await program.get('/labels')
    await program.patch(`/labels/${label.id}`, { name: 'Very' })
    await program.post('/labels', { name: 'Very', color: '#112233' })
    await program.post('/labels', { name: 1 })
    await program.post('/labels', '{')
    await program.patch(`/labels/${program.id}`, { name: 'x' })
    const tag = { 'if-match': '"x"' }
    await program.delete(`/labels/${label.id}`, undefined, tag)
    await program.delete(`/labels/${label.id}`)
    await program.post('/nowhere')
    expect(await listed(program)).toEqual([
      'POST /api/v1/labels 201',
      'PATCH /api/v1/labels/:label_id 200',
      'POST /api/v1/labels 422',
      'POST /api/v1/labels 422',
      'POST /api/v1/labels 400',
      'PATCH /api/v1/labels/:label_id 404',
      'DELETE /api/v1/labels/:label_id 412',
      'DELETE /api/v1/labels/:label_id 204',
      'POST undefined 404',
    ])
    const [entry] = (await admin.get(`/audit-log?actor_id=${program.id}`)).body.data
    expect(entry).toMatchObject({
      actor: { type: 'api_key', id: program.id, name: 'Painter' },
      resource: { type: 'api_key', id: program.id },
      ip: '127.0.0.1',
      request_id: expect.any(String),
    })
  })

  test('is listed when it is refused, reads too', async () => {
    const { admin } = organization
    const program = await createProgram(admin, ['labels:read'])
    await program.get('/contacts')
    await program.post('/labels', { name: 'VIP', color: '#112233' })
    await program.get('/auth/me')
    await program.get('/labels', { 'x-organization-id': (await createOrganization()).id })
    await admin.patch(`/api-keys/${program.id}`, { allowed_networks: ['203.0.113.7'] })
    await program.get('/labels')
    await admin.delete(`/api-keys/${program.id}`)
    await program.get('/time-entries/summary')
    expect(await listed(program)).toEqual([
      'GET /api/v1/contacts 403',
      'POST /api/v1/labels 403',
      'GET /api/v1/auth/me 403',
      'GET /api/v1/labels 403',
      'GET /api/v1/labels 403',
      'GET /api/v1/time-entries/summary 401',
    ])
  })

  test('is listed when it comes too often, up to a hundred times a minute', async () => {
    const program = await createProgram(organization.admin, ['labels:read'])
    using _ = withSettings({ RATE_LIMIT_PER_MINUTE: 100 })
    const statuses = []
    for (let count = 0; count < 230; count++) statuses.push((await program.get('/labels')).status)
    expect(statuses.filter((status) => status === 429)).toHaveLength(130)
    expect(new Set(await listed(program))).toEqual(new Set(['GET /api/v1/labels 429']))
    expect(await listed(program)).toHaveLength(100)
  })

  test('that nobody knows is listed nowhere', async () => {
    const { sql } = connection()
    const count = async () => (await sql`select count(*) as total from audit_log`)[0]!.total
    const before = await count()
    expect((await clientWithKey(newKeyText().text).post('/labels')).status).toBe(401)
    expect(await count()).toBe(before)
  })

  test('is listed in the transaction of its write: without the entry there is no write', async () => {
    const program = await createProgram(organization.admin, ['labels:write', 'tickets:write'])
    const { sql } = connection()
    await sql`alter table audit_log add constraint refuse_entry check (action <> 'api_key.request') not valid`
    try {
      expect((await program.post('/labels', { name: 'VIP', color: '#112233' })).status).toBe(500)
    } finally {
      await sql`alter table audit_log drop constraint refuse_entry`
    }
    expect((await organization.admin.get('/labels')).body.data).toEqual([])
    expect(await listed(program)).toEqual([])
  })

  test('is listed once with an idempotency key, in the transaction that keeps the answer, and once more when it is repeated', async () => {
    const { admin } = organization
    const program = await createProgram(admin, ['labels:write', 'tickets:write', 'messages:write'])
    const headers = { 'idempotency-key': 'one' }
    const ticket = await createTicket(admin)
    const { contact } = (await admin.get(`/tickets/${ticket.id}`)).body.data
    for (let time = 0; time < 2; time++) {
      await program.post('/labels', { name: 'VIP', color: '#112233' }, headers)
      await program.post('/tickets', { subject: 'Once', contact_id: contact.id }, headers)
      const message = await program.post(`/tickets/${ticket.id}/messages`, { body: 'Once', send_email: false }, headers)
      expect(message.status).toBe(201)
    }
    const all = ['labels', 'tickets', 'tickets/:ticket_id/messages'].map((path) => `POST /api/v1/${path} 201`)
    expect(await listed(program)).toEqual([...all, ...all])
  })

  test('is listed with its ticket, when requests of several callers share the statement that writes tickets', async () => {
    const { admin } = organization
    const other = await createOrganization()
    const programs = [
      { admin, program: await createProgram(admin, ['tickets:write']) },
      { admin: other.admin, program: await createProgram(other.admin, ['tickets:write']) },
    ]
    const contacts = [await createContact(admin), await createContact(other.admin)]
    const callers = [admin, programs[0]!.program, other.admin, programs[1]!.program]
    const requests = Array.from({ length: 40 }, (_, index) => {
      const contact_id = contacts[index % 4 < 2 ? 0 : 1]!.id
      return callers[index % 4]!.post('/tickets', { subject: 'At once', contact_id })
    })
    expect(new Set((await Promise.all(requests)).map(({ status }) => status))).toEqual(new Set([201]))
    const { sql } = connection()
    for (const { program } of programs) {
      // A row's xmin is the transaction that wrote it: ticket and entry have the same.
      const [row] = await sql<{ entries: number; with_tickets: number }[]>`
        select count(*) as entries, count(*) filter (where exists (
          select from tickets t where t.organization_id = a.organization_id and t.xmin = a.xmin
        )) as with_tickets
        from audit_log a where a.actor_id = ${program.id}`
      expect(row).toEqual({ entries: 10, with_tickets: 10 })
    }
  })

  test('is listed once when it imports an email, and when it only tries one', async () => {
    const { admin, scope } = organization
    const mailbox = await insertMailbox(scope)
    const program = await createProgram(admin, ['inbound_messages:write'])
    const raw = `From: c@customer.example\r\nTo: ${mailbox.address}\r\nSubject: Help\r\n\r\nHi`
    const send = (query: string) =>
      program.post(`/inbound-messages?mailbox_id=${mailbox.id}${query}`, raw, { 'content-type': 'message/rfc822' })
    expect([(await send('')).status, (await send('&dry_run=true')).status]).toEqual([201, 200])
    expect(await listed(program)).toEqual([201, 200].map((status) => `POST /api/v1/inbound-messages ${status}`))
  })

  test('is listed under If-Match with its write', async () => {
    const { admin } = organization
    const program = await createProgram(admin, ['labels:write'])
    const created = await program.post('/labels', { name: 'VIP', color: '#112233' })
    const tag = { 'if-match': created.headers.get('etag')! }
    expect((await program.patch(`/labels/${created.body.data.id}`, { name: 'Very' }, tag)).status).toBe(200)
    expect(await listed(program)).toEqual(['POST /api/v1/labels 201', 'PATCH /api/v1/labels/:label_id 200'])
  })
})

test('the log says who made, changed and revoked a key, and never the key', async () => {
  const { admin } = organization
  const program = await createProgram(admin, ['labels:read'])
  await admin.patch(`/api-keys/${program.id}`, { permissions: ['labels:write'] })
  await admin.delete(`/api-keys/${program.id}`)
  const { body, text } = await admin.get(`/audit-log?resource_id=${program.id}`)
  expect(body.data.map(({ action, actor, changes }: Record<string, unknown>) => [action, actor, changes])).toEqual([
    [
      'api_key.revoked',
      expect.objectContaining({ id: admin.user_id }),
      { revoked_at: { from: null, to: expect.any(String) } },
    ],
    ['api_key.updated', expect.anything(), { permissions: { from: ['labels:read'], to: ['labels:write'] } }],
    ['api_key.created', expect.anything(), expect.objectContaining({ name: { from: null, to: 'Importer' } })],
  ])
  expect(text).not.toContain(program.key.slice(14))
})
