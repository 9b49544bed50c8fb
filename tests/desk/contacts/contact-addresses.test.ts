/** Several addresses of one contact, and its external id. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { inTransaction } from '../../../src/base/scope'
import { findOrCreateContacts } from '../../../src/desk/contacts/senders'
import { type Client, createOrganization, startApi, stopApi } from '../../support/api'
import { createCompany, createContact, hearEvents, writtenEvents } from '../../support/factories'
import { someoneWaits } from '../../support/lock-waits'

beforeAll(() => startApi())
afterAll(stopApi)

const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [status, body.error?.code]
const pathsOf = ({ body }: { body: { error: { details: { errors: { path: string }[] } } } }) =>
  body.error.details.errors.map(({ path }) => path)
const many = (n: number) => Array.from({ length: n }, (_, index) => `a${index}@example.com`)

describe('addresses', () => {
  test('stand in their order, each once, the primary one first', async () => {
    const { agent } = await createOrganization()
    const given = { email: 'Ann@Example.com', emails: [' b@example.com', 'ANN@example.com', 'c@bücher.example'] }
    const contact = await createContact(agent, given)
    expect(contact.emails).toEqual(['Ann@Example.com', 'b@example.com', 'c@bücher.example'])
    expect((await agent.get('/contacts')).body.data[0].emails).toEqual(contact.emails)
    expect((await createContact(agent, { email: 'd@example.com', emails: null })).emails).toEqual(['d@example.com'])
  })

  test.each([
    [{ emails: ['x@example.com', 'p@example.com'] }, ['x@example.com', 'p@example.com']],
    [{ emails: ['b@example.com'] }, ['b@example.com']],
    [{ emails: ['b@example.com', 'x@example.com'], email: 'X@example.com' }, ['X@example.com', 'b@example.com']],
    [{ email: 'x@example.com' }, ['x@example.com', 'b@example.com', 'c@example.com']],
    [{ email: 'C@example.com' }, ['C@example.com', 'p@example.com', 'b@example.com']],
    [{ email: 'P@example.com' }, ['P@example.com', 'b@example.com', 'c@example.com']],
    [
      { emails: ['p@example.com', 'c@example.com', 'b@example.com'] },
      ['p@example.com', 'c@example.com', 'b@example.com'],
    ],
  ])('after %j are %j', async (changes, expected) => {
    const { agent, scope } = await createOrganization()
    const contact = await createContact(agent, { email: 'p@example.com', emails: ['b@example.com', 'c@example.com'] })
    await hearEvents(scope)
    const { body } = await agent.patch(`/contacts/${contact.id}`, changes)
    expect([body.data.email, body.data.emails]).toEqual([expected[0], expected])
    expect((await agent.get(`/contacts/${contact.id}`)).body.data).toEqual(body.data)
    expect((await writtenEvents(scope)).map(({ data }) => data)).toEqual([body.data])
    for (const email of contact.emails) {
      const is_free = !expected.some((one) => one.toLowerCase() === email)
      expect((await agent.post('/contacts', { name: 'Ann', email })).status).toBe(is_free ? 201 : 422)
    }
  })

  test.each([
    ['PATCH', { emails: [] }, 'VALIDATION_ERROR', '/emails'],
    ['PATCH', { emails: many(21) }, 'VALIDATION_ERROR', '/emails'],
    ['PATCH', { emails: ['nonsense', 5] }, 'INVALID_EMAIL', '/emails/0'],
    ['PATCH', { emails: 'a@example.com' }, 'INVALID_EMAIL', '/emails'],
    ['PATCH', { emails: ['free@example.com', 'TAKEN@example.com'] }, 'EMAIL_ALREADY_EXISTS', '/emails'],
    ['PATCH', { email: 'taken2@example.com' }, 'EMAIL_ALREADY_EXISTS', '/email'],
    ['POST', { emails: many(20) }, 'VALIDATION_ERROR', '/emails'],
    ['POST', { emails: ['free@example.com', 'taken2@example.com'] }, 'EMAIL_ALREADY_EXISTS', '/emails'],
    ['POST', { email: 'taken2@example.com' }, 'EMAIL_ALREADY_EXISTS', '/email'],
  ])('%s %j is %s at %s and changes nothing', async (method, fields, code, path) => {
    const { agent } = await createOrganization()
    await createContact(agent, { email: 'taken@example.com', emails: ['taken2@example.com'] })
    const contact = await createContact(agent, { email: 'own@example.com', emails: ['own2@example.com'] })
    const answer =
      method === 'PATCH'
        ? await agent.patch(`/contacts/${contact.id}`, { name: 'New', ...fields })
        : await agent.post('/contacts', { name: 'New', email: 'new@example.com', ...fields })
    expect(codeOf(answer)).toEqual([422, code])
    expect(pathsOf(answer)[0]).toBe(path)
    expect((await agent.get(`/contacts/${contact.id}`)).body.data).toEqual(contact)
    expect((await agent.get('/contacts')).body.meta.total).toBe(2)
  })

  test('are unique over all contacts of the organization, also at once, and not over others', async () => {
    const { agent } = await createOrganization()
    const other = await createOrganization()
    await createContact(other.agent, { email: 'z@example.com', emails: ['x@example.com'] })
    const contacts = await Promise.all([createContact(agent), createContact(agent)])
    const attempts = Array.from({ length: 12 }, (_, index) => {
      if (index % 3 === 0) return agent.post('/contacts', { name: 'New', email: 'x@example.com' })
      const emails = ['x@example.com', `y${index}@example.com`]
      return agent.patch(`/contacts/${contacts[index % 2]!.id}`, { emails: index % 4 < 2 ? emails : emails.reverse() })
    })
    const answers = await Promise.all(attempts)
    expect(answers.every(({ status, body }) => status < 300 || body.error.code === 'EMAIL_ALREADY_EXISTS')).toBe(true)
    const { data } = (await agent.get('/contacts')).body
    expect(
      data.flatMap(({ emails }: { emails: string[] }) => emails).filter((email: string) => email[0] === 'x'),
    ).toHaveLength(1)
  })

  test('all find the contact, and the first of a company links it', async () => {
    const { agent } = await createOrganization()
    const acme = await createCompany(agent, { domains: ['acme.example'] })
    await createCompany(agent, { domains: ['late.example'] })
    const emails = ['two@acme.example', 'three@late.example']
    const contact = await createContact(agent, { email: 'one@nobody.example', emails })
    expect(contact.company.id).toBe(acme.id)
    for (const query of ['email=TWO@acme.example', 'email=one@nobody.example', 'search=three@LATE', 'search=e@']) {
      const { data, meta } = (await agent.get(`/contacts?${query}`)).body
      expect([query, data.map(({ id }: { id: string }) => id), meta.total]).toEqual([query, [contact.id], 1])
    }
    await agent.patch(`/contacts/${contact.id}`, { emails: ['one@nobody.example'] })
    for (const query of ['email=two@acme.example', 'search=three']) {
      expect((await agent.get(`/contacts?${query}`)).body.meta.total).toBe(0)
    }
  })

  test('find the contact that gets one while mail from it is filed', async () => {
    const { agent, scope } = await createOrganization()
    const { id } = await createContact(agent)
    const email = 'late@example.com'
    const { finding } = await inTransaction(scope, async ({ sql, organization_id }) => {
      await sql`
        insert into contact_addresses (organization_id, contact_id, email, email_key)
        values (${organization_id}, ${id}, ${email}, ${email})`
      const finding = findOrCreateContacts(scope, [{ name: 'Late', email }])
      await someoneWaits()
      return { finding }
    })
    expect(await finding).toMatchObject([{ id }])
  })

  test('count when a company takes its contacts', async () => {
    const { agent } = await createOrganization()
    const contact = await createContact(agent, { email: 'one@nobody.example', emails: ['two@acme.example'] })
    const acme = await createCompany(agent, { domains: ['acme.example'] })
    expect((await agent.post(`/companies/${acme.id}/link-contacts`)).body.data).toEqual({ linked: 1 })
    expect((await agent.get(`/contacts/${contact.id}`)).body.data.company.id).toBe(acme.id)
  })
})

describe('an external id', () => {
  const put = (client: Client, id: string, body: object, headers = {}) =>
    client.put(`/contacts/by-external-id/${encodeURIComponent(id)}`, body, headers)

  test('is kept exactly, is unique, filters, and is free once it is cleared or the contact is deleted', async () => {
    const { agent } = await createOrganization()
    const other = await createOrganization()
    await createContact(other.agent, { external_id: ' Ä/1' })
    const contact = await createContact(agent, { external_id: ' Ä/1' })
    expect(contact.external_id).toBe(' Ä/1')
    const found = async (id: string) =>
      (await agent.get(`/contacts?external_id=${encodeURIComponent(id)}`)).body.data.map(
        (one: { id: string }) => one.id,
      )
    expect([await found(' Ä/1'), await found('Ä/1'), await found(' ä/1')]).toEqual([[contact.id], [], []])
    const second = await createContact(agent)
    for (const answer of [
      await agent.post('/contacts', { name: 'New', email: 'new@example.com', external_id: ' Ä/1' }),
      await agent.patch(`/contacts/${second.id}`, { external_id: ' Ä/1' }),
    ]) {
      expect(codeOf(answer)).toEqual([422, 'EXTERNAL_ID_EXISTS'])
      expect(answer.body.error.details).toMatchObject({ id: contact.id, errors: [{ path: '/external_id' }] })
    }
    expect((await agent.patch(`/contacts/${contact.id}`, { external_id: null })).body.data.external_id).toBeNull()
    expect((await agent.patch(`/contacts/${second.id}`, { external_id: ' Ä/1' })).status).toBe(200)
    await agent.delete(`/contacts/${second.id}`)
    await createContact(agent, { external_id: ' Ä/1' })
  })

  test.each([[''], ['x'.repeat(256)], [7], ['a\u0000b']])('%j is refused', async (external_id) => {
    const { agent } = await createOrganization()
    const answer = await agent.post('/contacts', { name: 'New', email: 'new@example.com', external_id })
    expect(codeOf(answer)).toEqual([422, 'VALIDATION_ERROR'])
    if (typeof external_id !== 'string' || external_id === '') return
    expect(codeOf(await put(agent, external_id, { name: 'New', email: 'new@example.com' }))).toEqual([
      422,
      'VALIDATION_ERROR',
    ])
    expect(codeOf(await agent.get(`/contacts?external_id=${encodeURIComponent(external_id)}`))).toEqual([
      422,
      'VALIDATION_ERROR',
    ])
  })

  test('that is unknown is created by PUT, one that is known changed', async () => {
    const { agent, scope } = await createOrganization()
    await hearEvents(scope)
    const fields = { name: 'Ann', email: 'ann@example.com', emails: ['a@example.com'], phone: null }
    const made = await put(agent, 'crm 1', fields)
    expect([made.status, made.body.data]).toMatchObject([201, { name: 'Ann', external_id: 'crm 1', phone: null }])
    const changed = await put(agent, 'crm 1', { phone: '1', external_id: 'crm 1' })
    expect([changed.status, changed.body.data]).toMatchObject([200, { id: made.body.data.id, phone: '1' }])
    expect((await writtenEvents(scope)).map(({ event }) => event)).toEqual(['contact.created', 'contact.updated'])
    expect(changed.headers.get('etag')).toBe((await agent.get(`/contacts/${made.body.data.id}`)).headers.get('etag'))
  })

  test('takes the contact with the email that has none, and no other', async () => {
    const { agent } = await createOrganization()
    const contact = await createContact(agent, { email: 'p@example.com', emails: ['a@example.com'] })
    const taken = await put(agent, 'crm 1', { name: 'Ann', email: 'A@example.com' })
    expect([taken.status, taken.body.data]).toMatchObject([
      200,
      { id: contact.id, external_id: 'crm 1', emails: ['A@example.com', 'p@example.com'] },
    ])
    expect(codeOf(await put(agent, 'crm 2', { name: 'Ann', email: 'a@example.com' }))).toEqual([
      422,
      'EMAIL_ALREADY_EXISTS',
    ])
  })

  test('in the body must be that of the path; a new contact needs name and email', async () => {
    const { agent } = await createOrganization()
    const other = await put(agent, 'crm 1', { name: 'Ann', email: 'a@example.com', external_id: 'crm 2' })
    expect([codeOf(other), pathsOf(other)]).toEqual([[422, 'VALIDATION_ERROR'], ['/external_id']])
    const empty = await put(agent, 'crm 1', {})
    expect([codeOf(empty), pathsOf(empty)]).toEqual([
      [422, 'VALIDATION_ERROR'],
      ['/name', '/email'],
    ])
    expect((await agent.get('/contacts')).body.meta.total).toBe(0)
  })

  test('PUT heeds If-Match', async () => {
    const { agent } = await createOrganization()
    const fields = { name: 'Ann', email: 'a@example.com' }
    const stale = { 'if-match': '"stale"' }
    expect(codeOf(await put(agent, 'crm 1', fields, stale))).toEqual([412, 'PRECONDITION_FAILED'])
    const etag = (await put(agent, 'crm 1', fields)).headers.get('etag')!
    expect(codeOf(await put(agent, 'crm 1', { name: 'Bob' }, stale))).toEqual([412, 'PRECONDITION_FAILED'])
    expect((await put(agent, 'crm 1', { name: 'Bob' }, { 'if-match': etag })).body.data.name).toBe('Bob')
  })

  test('PUT by 16 clients at once makes one contact', async () => {
    const { agent } = await createOrganization()
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, n) => put(agent, 'crm 1', { name: `Ann ${n}`, email: `a${n % 2}@example.com` })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(15).fill(200), 201])
    const { data } = (await agent.get('/contacts')).body
    expect(data).toMatchObject([{ external_id: 'crm 1' }])
  })

  test('PUT by a key is listed once, with the status that it had', async () => {
    const { admin } = await createOrganization()
    const made = await admin.post('/api-keys', { name: 'CRM', permissions: ['contacts:write'] })
    const key = { authorization: `ApiKey ${made.body.data.key}` }
    for (const status of [201, 200]) {
      expect((await put(admin, 'crm 1', { name: `${status}`, email: 'a@example.com' }, key)).status).toBe(status)
    }
    const { data } = (await admin.get('/audit-log?action=api_key.request')).body
    expect(data.map(({ changes }: { changes: { status: { to: number } } }) => changes.status.to)).toEqual([200, 201])
  })
})
