import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { inTransaction } from '../../src/base/scope'
import { lockPath } from '../../src/http/request/resources'
import { lockAdmins } from '../../src/people/users/queries'
import { createOrganization, startApi, stopApi } from '../support/api'
import { createContact, createMessage, uploadFile } from '../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

/** The tag as modules of Apache that compress make it. */
const packed = (tag: string, ends = ['-gzip', '-br']) => ends.map((end) => `${tag.slice(0, -1)}${end}"`)

async function createTicket(fields: Record<string, unknown> = {}) {
  const organization = await createOrganization()
  const contact = await createContact(organization.agent)
  const created = await organization.agent.post('/tickets', { subject: 'Printer', contact_id: contact.id, ...fields })
  expect(created.status).toBe(201)
  return { ...organization, created, path: `/tickets/${created.body.data.id}` }
}

describe('a single object', () => {
  test('has the same strong tag from every answer that shows the same', async () => {
    const { agent } = await createOrganization()
    const created = await agent.post('/companies', { name: 'Acme' })
    const tag = created.headers.get('etag')
    expect(tag).toMatch(/^"[\w-]{27}"$/)
    const address = `/companies/${created.body.data.id}`
    expect((await agent.get(address)).headers.get('etag')).toBe(tag)
    const changed = await agent.patch(address, { name: 'Ajax' })
    expect(changed.headers.get('etag')).not.toBe(tag)
    expect((await agent.get(address)).headers.get('etag')).toBe(changed.headers.get('etag'))
  })

  test('that a write shows without its lists has a tag that If-Match takes as well', async () => {
    const { agent, admin, created, path } = await createTicket()
    const label = (await admin.post('/labels', { name: 'VIP', color: '#112233' })).body.data
    await createMessage(agent, path.split('/')[2]!)
    const assigned = await agent.post(`${path}/assign`, { assignee_id: agent.user_id })
    const labelled = await agent.post(`${path}/labels`, { label_ids: [label.id] })
    const stale = [created, assigned].map(({ headers }) => headers.get('etag')!)
    for (const tag of stale) expect((await agent.patch(path, {}, { 'if-match': tag })).status).toBe(412)
    const tags = [labelled, await agent.get(path)].map(({ headers }) => headers.get('etag')!)
    expect(tags[0]).not.toBe(tags[1])
    for (const tag of tags) expect((await agent.patch(path, {}, { 'if-match': tag })).status).toBe(200)
  })

  test('of a ticket has a tag that messages and reading change, but not for If-Match', async () => {
    const { agent, admin, path } = await createTicket()
    const tagNow = async (query = '') => (await agent.get(`${path}${query}`)).headers.get('etag')!
    const tags = [await tagNow(), await tagNow('?include=contact')]
    await createMessage(admin, path.split('/')[2]!)
    tags.push(await tagNow())
    await agent.send('PUT', `${path}/read`)
    tags.push(await tagNow())
    expect(new Set(tags).size).toBe(4)
    expect((await agent.get(path, { 'if-none-match': tags[2]! })).status).toBe(200)
    for (const tag of tags) {
      expect((await agent.patch(path, {}, { 'if-match': `W/${tag}` })).status).toBe(200)
      const [whole, own] = tag.split('.')
      for (const part of [`${whole}"`, `".${own}"`, `"${own}`]) {
        expect((await agent.patch(path, {}, { 'if-match': part })).status).toBe(412)
      }
    }
    expect((await agent.patch(path, { status: 'closed' }, { 'if-match': tags[0]! })).status).toBe(200)
    for (const tag of tags) expect((await agent.patch(path, {}, { 'if-match': tag })).status).toBe(412)
  })

  test('is sent as JSON with the length and status that it has without a tag', async () => {
    const { agent, created, path } = await createTicket({ subject: 'Drücker ✓' })
    expect(created.headers.get('content-type')).toMatch(/^application\/json/)
    const shown = await agent.get(path)
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, created.headers.get('content-type')])
    expect(shown.body.data.subject).toBe('Drücker ✓')
    expect(shown.headers.get('x-request-id')).toBeString()
  })

  test('is not sent again to one who has it', async () => {
    const { agent, path } = await createTicket()
    const tag = (await agent.get(path)).headers.get('etag')!
    for (const names of [tag, `W/${tag}`, `"other", ${tag}`, '*', ...packed(tag)]) {
      const answer = await agent.get(path, { 'if-none-match': names })
      expect([answer.status, answer.text, answer.headers.get('etag')]).toEqual([304, '', tag])
    }
    for (const names of ['"other"', '"other-gzip"', `${tag}-gzip`, ...packed(tag, ['-gzip-gzip', '-zip'])]) {
      expect([names, (await agent.get(path, { 'if-none-match': names })).status]).toEqual([names, 200])
    }
    await agent.patch(path, { priority: 'urgent' })
    expect((await agent.get(path, { 'if-none-match': tag })).status).toBe(200)
  })

  test('has a tag that does not depend on the signatures of its attachments', async () => {
    const { agent, path, scope } = await createTicket()
    const file = await uploadFile(agent)
    const shown = await agent.get(`/attachments/${file.id}`)
    expect(shown.body.data.url).toContain('signature=')
    const { setSystemTime } = await import('bun:test')
    try {
      setSystemTime(Date.now() + 301_000)
      const later = await agent.get(`/attachments/${file.id}`)
      expect(later.body.data.url).not.toBe(shown.body.data.url)
      expect(later.headers.get('etag')).toBe(shown.headers.get('etag'))
    } finally {
      setSystemTime()
    }
    const message = await createMessage(agent, path.split('/')[2]!, { attachment_ids: [file.id], is_internal: true })
    await scope.sql`
      update messages set body_html = ${`<img src="http://x/api/v1/attachments/${file.id}/content">`} where id = ${message.id}`
    const html = await agent.get(`${path}/messages/${message.id}`)
    expect(html.body.data.body_html).toContain('&amp;signature=')
    try {
      setSystemTime(Date.now() + 301_000)
      const later = await agent.get(`${path}/messages/${message.id}`)
      expect(later.body.data.body_html).not.toBe(html.body.data.body_html)
      expect(later.headers.get('etag')).toBe(html.headers.get('etag'))
    } finally {
      setSystemTime()
    }
  })

  test('in a list, an error, a delete, an account and what cannot be read alone have no tag', async () => {
    const { agent, admin, path } = await createTicket()
    const answers = [
      await agent.get('/tickets'),
      await agent.get('/labels'),
      await agent.get('/auth/me'),
      await agent.get(`/tickets/${crypto.randomUUID()}`),
      await agent.post(`${path}/participants`, { email: 'one@customer.example' }),
      await admin.delete(path),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 201, 204])
    expect(answers.map(({ headers }) => headers.get('etag'))).toEqual(answers.map(() => null))
  })
})

describe('If-Match', () => {
  test('lets a change through while the tag holds, and nothing afterwards', async () => {
    const { agent, admin, created, path } = await createTicket()
    const tag = created.headers.get('etag')!
    const first = await agent.patch(path, { subject: 'First' }, { 'if-match': `"other", ${tag}` })
    expect([first.status, first.body.data.subject]).toEqual([200, 'First'])
    const second = await agent.patch(path, { subject: 'Second' }, { 'if-match': tag })
    expect([second.status, second.body.error.code]).toEqual([412, 'PRECONDITION_FAILED'])
    expect((await admin.delete(path, undefined, { 'if-match': tag })).status).toBe(412)
    expect((await agent.get(path)).body.data.subject).toBe('First')
    const current = first.headers.get('etag')!
    expect((await admin.delete(path, undefined, { 'if-match': current })).status).toBe(204)
    expect((await admin.delete(path, undefined, { 'if-match': current })).status).toBe(404)
  })

  test('holds with the end that a module of Apache gives it, as long as the tag does', async () => {
    const { agent, created, path } = await createTicket()
    for (const end of ['-gzip', '-br']) {
      const before = (await agent.get(path)).headers.get('etag')!
      const [tag] = packed(before, [end])
      for (const forged of packed(before, ['-gzip-gzip', 'gzip', '-'])) {
        expect([forged, (await agent.patch(path, {}, { 'if-match': forged })).status]).toEqual([forged, 412])
      }
      const of_one = { 'if-match': `"other", W/${tag}` }
      expect([end, (await agent.patch(path, { subject: `One ${end}` }, of_one)).status]).toEqual([end, 200])
      expect([end, (await agent.patch(path, {}, { 'if-match': tag! })).status]).toEqual([end, 412])
    }
    expect((await agent.patch(path, {}, { 'if-match': created.headers.get('etag')! })).status).toBe(412)
  })

  test('of * holds when the resource exists', async () => {
    const { agent, path } = await createTicket()
    expect((await agent.patch(path, { subject: 'Any' }, { 'if-match': '*' })).status).toBe(200)
    const unknown = await agent.patch(`/tickets/${crypto.randomUUID()}`, { subject: 'x' }, { 'if-match': '*' })
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'TICKET_NOT_FOUND'])
  })

  test('is judged after the path and before the body', async () => {
    const { agent, path } = await createTicket()
    const headers = { 'if-match': '"other"' }
    expect((await agent.patch(`/tickets/${crypto.randomUUID()}`, { priority: 'x' }, headers)).status).toBe(404)
    expect((await agent.patch(path, { priority: 'x' }, headers)).status).toBe(412)
    expect((await agent.patch(path, '{', headers)).status).toBe(412)
    expect((await agent.patch(path, { priority: 'x' }, { 'if-match': '*' })).status).toBe(422)
  })

  test('lets one of many at once through', async () => {
    const { agent, created, path } = await createTicket()
    const headers = { 'if-match': created.headers.get('etag')! }
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => agent.patch(path, { subject: `Number ${n}` }, headers)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 412)])
    const winner = answers.find(({ status }) => status === 200)!
    expect((await agent.get(path)).body.data.subject).toBe(winner.body.data.subject)
  })

  test('does not hold up tickets that name what is being changed', async () => {
    const { agent, admin, scope } = await createOrganization()
    const company = (await agent.post('/companies', { name: 'Acme' })).body.data
    const contact = await createContact(agent, { company_id: company.id })
    const label = (await admin.post('/labels', { name: 'VIP', color: '#112233' })).body.data
    const body = { subject: 'Help', contact_id: contact.id, label_ids: [label.id], assignee_id: admin.user_id }
    await inTransaction(scope, async (inner) => {
      await lockPath(inner, {})
      await lockPath(inner, { company_id: company.id, label_id: label.id, user_id: admin.user_id })
      await lockAdmins(inner)
      expect((await agent.post('/tickets', body)).status).toBe(201)
    })
  })

  test('is ignored by actions', async () => {
    const { agent, admin, path } = await createTicket()
    const headers = { 'if-match': '"other"' }
    const label = (await admin.post('/labels', { name: 'VIP', color: '#112233' })).body.data
    expect((await agent.post(`${path}/unassign`, undefined, headers)).status).toBe(200)
    expect((await agent.post(`${path}/labels`, { label_ids: [label.id] }, headers)).status).toBe(200)
    expect((await agent.delete(`${path}/labels`, { label_ids: [label.id] }, headers)).status).toBe(200)
  })

  test('guards every resource that can be changed', async () => {
    const { agent, admin, path } = await createTicket()
    const contact = await createContact(agent)
    const company = (await agent.post('/companies', { name: 'Acme' })).body.data
    const label = (await admin.post('/labels', { name: 'VIP', color: '#112233' })).body.data
    const entry = (await agent.post(`${path}/time-entries`, { duration_minutes: 5 })).body.data
    const hook = { url: 'https://hooks.example/x', events: ['ticket.created'] }
    const webhook = (await admin.post('/webhooks', hook)).body.data
    const mailbox = (await admin.post('/mailboxes', { address: `${crypto.randomUUID()}@acme.example` })).body.data
    const resources: [string, Record<string, unknown>][] = [
      [`/contacts/${contact.id}`, { name: 'Changed' }],
      [`/companies/${company.id}`, { name: 'Changed' }],
      [`/labels/${label.id}`, { name: 'Changed' }],
      [`/time-entries/${entry.id}`, { description: 'Changed' }],
      [`/webhooks/${webhook.id}`, { active: false }],
      [`/mailboxes/${mailbox.id}`, { name: 'Changed' }],
      [`/users/${agent.user_id}`, { hourly_rate: 7 }],
      ['/organization', { name: 'Changed' }],
    ]
    for (const [address, changes] of resources) {
      const tag = (await admin.get(address)).headers.get('etag')!
      const stale = await admin.patch(address, changes, { 'if-match': '"other"' })
      expect([address, stale.status]).toEqual([address, 412])
      const done = await admin.patch(address, changes, { 'if-match': tag })
      expect([address, done.status, done.body.data]).toEqual([address, 200, expect.objectContaining(changes)])
      expect((await admin.get(address)).headers.get('etag')).toBe(done.headers.get('etag'))
      expect((await admin.patch(address, changes, { 'if-match': tag })).status).toBe(412)
    }
    for (const [address] of resources.slice(0, -1)) {
      const tag = (await admin.get(address)).headers.get('etag')!
      expect((await admin.delete(address, undefined, { 'if-match': '"other"' })).status).toBe(412)
      const gone = await admin.delete(address, undefined, { 'if-match': tag })
      expect([address, gone.status]).toEqual([address, 204])
    }
  })

  test('compares a long message by one text of it', async () => {
    const { agent, path } = await createTicket()
    const { id } = await createMessage(agent, path.slice('/tickets/'.length), { body: 'x'.repeat(9000) })
    using written = spyOn(JSON, 'stringify')
    const headers = { 'if-match': '"other"' }
    expect((await agent.delete(`${path}/messages/${id}`, undefined, headers)).status).toBe(412)
    expect(written.mock.results.filter(({ value }) => String(value).length > 9000)).toHaveLength(1)
  })

  test('on what has no tag holds only as *', async () => {
    const { agent, path } = await createTicket()
    const { id } = (await agent.post(`${path}/participants`, { email: 'one@customer.example' })).body.data
    const address = `${path}/participants/${id}`
    expect((await agent.delete(address, undefined, { 'if-match': '"any"' })).status).toBe(412)
    expect((await agent.delete(address, undefined, { 'if-match': '*' })).status).toBe(204)
  })
})

test('a role taken away under If-Match is gone with the answer', async () => {
  const { admin, addMember } = await createOrganization()
  const second = await addMember('admin', 'Bea Admin')
  expect((await second.get('/users')).status).toBe(200)
  const headers = { 'if-match': (await admin.get(`/users/${second.user_id}`)).headers.get('etag')! }
  expect((await admin.patch(`/users/${second.user_id}`, { role: 'agent' }, headers)).status).toBe(200)
  expect((await second.post('/webhooks', {})).status).toBe(403)
})
