import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { isEmailAddress } from '../../../src/base/address/email'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { transact } from '../../../src/base/db/transact'
import { inTransaction, type Scope } from '../../../src/base/scope'
import { fold } from '../../../src/base/shapes/fold'
import { findOrCreateContacts } from '../../../src/desk/contacts/senders'
import { type Answer, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import {
  activityOf,
  createCompany,
  createContact,
  hearEvents,
  insertTicketOf,
  writtenEvents,
} from '../../support/factories'
import { someoneWaits } from '../../support/lock-waits'

beforeAll(() => startApi())
afterAll(stopApi)

const NOBODY = '018f0000-0000-7000-8000-000000000000'

describe('creating', () => {
  test('a contact is returned with every field', async () => {
    const { agent, scope } = await createOrganization()
    const company = await createCompany(agent)
    const fields = { name: ' Zoë Quinn ', email: ' Zoe@Example.COM ', phone: ' +1 555 ', notes: ' VIP ' }
    const answer = await agent.post('/contacts', { ...fields, company_id: company.id, nonsense: 1 })
    expect(answer.status).toBe(201)
    const contact = answer.body.data
    expect(contact).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'Zoë Quinn',
      email: 'Zoe@Example.COM',
      emails: ['Zoe@Example.COM'],
      external_id: null,
      phone: '+1 555',
      company: { id: company.id, name: company.name },
      notes: ' VIP ',
      custom: {},
      ticket_count: 0,
      recent_tickets: [],
      total_tickets: 0,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    })
    expect((await agent.get(`/contacts/${contact.id}`)).body.data).toEqual(contact)
    expect(scope.organization_id).toBeString()
  })

  test('optional fields are null when absent or null', async () => {
    const { agent } = await createOrganization()
    const contact = await createContact(agent, { phone: null, notes: null })
    expect(contact).toMatchObject({ phone: null, notes: null, company: null })
  })

  test('an email is unique in its organization without regard to case', async () => {
    const { agent } = await createOrganization()
    const other = await createOrganization()
    await createContact(agent, { email: 'ann@example.com' })
    const answer = await agent.post('/contacts', { name: 'Ann', email: 'ANN@example.com' })
    expect(answer.status).toBe(422)
    expect(answer.body.error).toMatchObject({ code: 'EMAIL_ALREADY_EXISTS', details: { errors: [{ path: '/email' }] } })
    await createContact(other.agent, { email: 'ann@example.com' })
  })

  test('of many at once with one email, one is created', async () => {
    const { agent } = await createOrganization()
    const attempts = Array.from({ length: 12 }, (_, i) =>
      agent.post('/contacts', { name: 'Ann', email: i % 2 ? 'ann@example.com' : 'Ann@Example.com' }),
    )
    const statuses = (await Promise.all(attempts)).map((answer) => answer.status)
    expect(statuses.filter((status) => status === 201)).toHaveLength(1)
    expect(statuses.filter((status) => status === 422)).toHaveLength(11)
  })

  test.each([
    [{ name: ' ' }, 'VALIDATION_ERROR', '/name'],
    [{ name: null }, 'VALIDATION_ERROR', '/name'],
    [{ name: 'a'.repeat(256) }, 'VALIDATION_ERROR', '/name'],
    [{ email: 'nonsense' }, 'INVALID_EMAIL', '/email'],
    [{ email: '' }, 'INVALID_EMAIL', '/email'],
    [{ email: 7 }, 'INVALID_EMAIL', '/email'],
    [{ email: `a@${'b'.repeat(260)}.com` }, 'VALIDATION_ERROR', '/email'],
    [{ email: 'TAKEN@example.com' }, 'EMAIL_ALREADY_EXISTS', '/email'],
    [{ phone: '1'.repeat(65) }, 'VALIDATION_ERROR', '/phone'],
    [{ company_id: 'nonsense' }, 'COMPANY_NOT_FOUND', '/company_id'],
    [{ company_id: '' }, 'COMPANY_NOT_FOUND', '/company_id'],
    [{ notes: 'n'.repeat(10_001) }, 'VALIDATION_ERROR', '/notes'],
    [{ name: '', email: 'nonsense' }, 'VALIDATION_ERROR', '/name'],
  ])('a wrong field is refused: %j', async (fields, code, path) => {
    const { agent } = await createOrganization()
    await createContact(agent, { email: 'taken@example.com' })
    const contact = await createContact(agent)
    for (const answer of [
      await agent.post('/contacts', { name: 'A', email: 'a@b.com', ...fields }),
      await agent.patch(`/contacts/${contact.id}`, { phone: '2', ...fields }),
    ]) {
      expectError(answer, 422, code)
      expect(answer.body.error.details.errors[0].path).toBe(path)
    }
    expect((await agent.get('/contacts')).body.meta.total).toBe(2)
    expect((await agent.get(`/contacts/${contact.id}`)).body.data).toEqual(contact)
  })

  test('fields as long as allowed are accepted, counted in code points', async () => {
    const { agent } = await createOrganization()
    const email = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(59)}.c`
    expect(`${email}m`).toHaveLength(255)
    const fields = { name: '😀'.repeat(255), phone: '1'.repeat(64), notes: 'n'.repeat(10_000) }
    const contact = await createContact(agent, { ...fields, email: `${email.slice(0, -3)}.com`.slice(0, 254) })
    expect(contact).toMatchObject(fields)
  })
})

describe('the company of a contact', () => {
  test('is found by the domain of the email', async () => {
    const { agent } = await createOrganization()
    const acme = await createCompany(agent, { domains: ['acme.com'] })
    const europe = await createCompany(agent, { domains: ['eu.acme.com'] })
    const companyOf = async (email: string) => (await createContact(agent, { email })).company?.id
    expect(await companyOf('a@ACME.com')).toBe(acme.id)
    expect(await companyOf('a@us.acme.com')).toBe(acme.id)
    expect(await companyOf('a@paris.eu.acme.com')).toBe(europe.id)
    expect(await companyOf('a@notacme.com')).toBeUndefined()
  })

  test('of another organization is never found', async () => {
    const { agent } = await createOrganization()
    const other = await createOrganization()
    await createCompany(other.agent, { domains: ['acme.com'] })
    expect((await createContact(agent, { email: 'a@acme.com' })).company).toBeNull()
  })

  test('is the given one, and none when null is given', async () => {
    const { agent } = await createOrganization()
    await createCompany(agent, { domains: ['acme.com'] })
    const chosen = await createCompany(agent)
    const contact = await createContact(agent, { email: 'a@acme.com', company_id: chosen.id.toUpperCase() })
    expect(contact.company.id).toBe(chosen.id)
    expect((await createContact(agent, { email: 'b@acme.com', company_id: null })).company).toBeNull()
  })

  test('is not looked for in an update', async () => {
    const { agent } = await createOrganization()
    await createCompany(agent, { domains: ['acme.com'] })
    const contact = await createContact(agent)
    const answer = await agent.patch(`/contacts/${contact.id}`, { email: 'a@acme.com' })
    expect(answer.body.data).toMatchObject({ email: 'a@acme.com', company: null })
  })

  test('given later goes to those of its tickets that have none', async () => {
    const { agent, scope } = await createOrganization()
    const [company, older] = [await createCompany(agent), await createCompany(agent)]
    const contact = await createContact(agent)
    const without = await insertTicketOf(scope, { contact_id: contact.id })
    const kept = await insertTicketOf(scope, { contact_id: contact.id, company_id: older.id })
    const unrelated = await insertTicketOf(scope, {})
    await hearEvents(scope)
    await agent.patch(`/contacts/${contact.id}`, { company_id: company.id })

    const tickets = await scope.sql<{ id: string; company_id: string | null }[]>`
      select id, company_id from tickets where organization_id = ${scope.organization_id} order by id`
    expect(tickets.map((ticket) => ({ ...ticket }))).toEqual([
      { id: without.id, company_id: company.id },
      { id: kept.id, company_id: older.id },
      { id: unrelated.id, company_id: null },
    ])
    const change = { field: 'company', from: null, to: { id: company.id, name: company.name } }
    expect(Array.from(await activityOf(scope, without.id))).toEqual([{ type: 'changed', data: change }])
    expect(await activityOf(scope, kept.id)).toHaveLength(0)
    expect((await writtenEvents(scope)).map((event) => event.event)).toEqual(['contact.updated'])
  })
})

describe('the list', () => {
  test('is newest first, in pages', async () => {
    const { agent } = await createOrganization()
    const made = []
    for (let i = 0; i < 5; i++) made.unshift((await createContact(agent)).id)
    const first = await agent.get('/contacts?per_page=2')
    const last = await agent.get('/contacts?per_page=2&page=3')
    expect(first.body.meta).toEqual({ total: 5, page: 1, per_page: 2, next_cursor: expect.any(String) })
    expect(first.body.data.map((contact: { id: string }) => contact.id)).toEqual(made.slice(0, 2))
    expect(last.body.data.map((contact: { id: string }) => contact.id)).toEqual(made.slice(4))
    expect((await agent.get('/contacts?per_page=500')).body.meta.per_page).toBe(100)
  })

  test('finds parts of name or email without regard to case and accents, and takes wildcards literally', async () => {
    const { agent } = await createOrganization()
    const names = ['Zoë Müller', 'Łukasz Straße', '100% Genuine', 'under_score', 'back\\slash']
    for (const [i, name] of names.entries()) await createContact(agent, { name, email: `c${i}@example.com` })
    const found = async (search: string) => {
      const answer = await agent.get(`/contacts?search=${encodeURIComponent(search)}`)
      expect(answer.body.meta.total).toBe(answer.body.data.length)
      return answer.body.data.map((contact: { name: string }) => contact.name)
    }
    expect(await found('ZOE')).toEqual(['Zoë Müller'])
    expect(await found('oë mü')).toEqual(['Zoë Müller'])
    expect(await found('lukasz')).toEqual(['Łukasz Straße'])
    expect(await found('STRASSE')).toEqual(['Łukasz Straße'])
    expect(await found('C3@EXAMPLE')).toEqual(['under_score'])
    expect(await found('100%')).toEqual(['100% Genuine'])
    expect(await found('%')).toEqual(['100% Genuine'])
    expect(await found('_')).toEqual(['under_score'])
    expect(await found('\\')).toEqual(['back\\slash'])
    expect(await found('Ül')).toEqual(['Zoë Müller'])
    expect(await found('Z')).toEqual(['Łukasz Straße', 'Zoë Müller'])
    expect(await found('nobody')).toEqual([])
    expect(await found('  ')).toHaveLength(5)
  })

  test('a name that is far longer when folded can be stored and is found by its beginning', async () => {
    const { agent } = await createOrganization()
    const contact = await createContact(agent, { name: `Zoe ${'\ufdfa'.repeat(251)}` })
    expect((await agent.get('/contacts?search=zoe')).body.data).toMatchObject([{ id: contact.id }])
    expect((await agent.get('/contacts?search=ZO')).body.data).toMatchObject([{ id: contact.id }])
  })

  test('a search follows a change of the name', async () => {
    const { agent } = await createOrganization()
    const contact = await createContact(agent, { name: 'Before' })
    await agent.patch(`/contacts/${contact.id}`, { name: 'Äfter' })
    expect((await agent.get('/contacts?search=before')).body.data).toEqual([])
    expect((await agent.get('/contacts?search=after')).body.data).toHaveLength(1)
  })

  test('filters by company and by exact email', async () => {
    const { agent } = await createOrganization()
    const company = await createCompany(agent)
    const member = await createContact(agent, { company_id: company.id, email: 'ann@example.com' })
    await createContact(agent, { email: 'joann@example.com' })
    const ids = async (query: string) =>
      (await agent.get(`/contacts?${query}`)).body.data.map((contact: { id: string }) => contact.id)
    expect(await ids(`company_id=${company.id}`)).toEqual([member.id])
    expect(await ids('email=ANN@example.com')).toEqual([member.id])
    expect(await ids('email=nn@example.com')).toEqual([])
    expect(await ids(`company_id=${NOBODY}`)).toEqual([])
  })
})

test('tickets are counted and the 10 newest shown, without deleted ones', async () => {
  const { agent, scope } = await createOrganization()
  const contact = await createContact(agent)
  const tickets = []
  for (let i = 0; i < 12; i++) {
    tickets.unshift(await insertTicketOf(scope, { contact_id: contact.id, subject: `Number ${i}` }))
  }
  await scope.sql`update tickets set deleted_at = now() where id = ${tickets[3]!.id}`
  const visible = tickets.filter((_, i) => i !== 3)
  const { data } = (await agent.get(`/contacts/${contact.id}`)).body
  expect(data).toMatchObject({ ticket_count: 11, total_tickets: 11, recent_tickets: visible.slice(0, 10) })
  expect((await agent.get('/contacts')).body.data[0].ticket_count).toBe(11)
})

describe('updating', () => {
  test('changes only what is given, and null clears what may be empty', async () => {
    const { agent } = await createOrganization()
    const company = await createCompany(agent)
    const contact = await createContact(agent, { phone: '1', notes: 'n', company_id: company.id })
    const renamed = await agent.patch(`/contacts/${contact.id}`, { name: 'New', email: 'new@example.com' })
    expect(renamed.status).toBe(200)
    const { updated_at, ...rest } = contact
    expect(renamed.body.data).toMatchObject({
      ...rest,
      name: 'New',
      email: 'new@example.com',
      emails: ['new@example.com'],
    })
    const cleared = await agent.patch(`/contacts/${contact.id}`, { phone: null, notes: null, company_id: null })
    expect(cleared.body.data).toMatchObject({ phone: null, notes: null, company: null, name: 'New' })
  })

  test('the case of its own email may change', async () => {
    const { agent } = await createOrganization()
    const contact = await createContact(agent, { email: 'ann@example.com' })
    const answer = await agent.patch(`/contacts/${contact.id}`, { email: 'Ann@example.com' })
    expect(answer.body.data.email).toBe('Ann@example.com')
  })
})

describe('deleting', () => {
  test('waits for a ticket without keeping who adds the contact to it', async () => {
    const { agent, scope } = await createOrganization()
    const { organization_id } = scope
    const contact = await createContact(agent)
    const ticket = await insertTicketOf(scope, { contact_id: contact.id })
    let deleting: Promise<Answer> | undefined
    await transact(connection(), async ({ sql }) => {
      await sql`select from tickets where organization_id = ${organization_id} and id = ${ticket.id} for no key update`
      deleting = agent.delete(`/contacts/${contact.id}`)
      await someoneWaits()
      await sql`
        select from contacts where organization_id = ${organization_id} and id = ${contact.id} for key share nowait`
    })
    expect((await deleting!).status).toBe(204)
  })

  test('keeps tickets, messages and participants, and frees the email', async () => {
    const { agent, scope } = await createOrganization()
    const { sql, organization_id } = scope
    const contact = await createContact(agent, { email: 'ann@example.com' })
    const ticket = await insertTicketOf(scope, { contact_id: contact.id })
    await sql`
      insert into messages (organization_id, id, ticket_id, body, body_html, direction, sender_name, sender_email)
      values (${organization_id}, ${newId()}, ${ticket.id}, 'x', 'x', 'inbound', 'Ann', 'ann@example.com')`
    await sql`
      insert into participants (organization_id, id, ticket_id, email, email_key, contact_id)
      values (${organization_id}, ${newId()}, ${ticket.id}, 'ann@example.com', 'ann@example.com', ${contact.id})`
    const answer = await agent.delete(`/contacts/${contact.id}`)
    expect([answer.status, answer.text]).toEqual([204, ''])

    const [left] = await sql`
      select t.contact_id, m.sender_name, m.sender_email, p.contact_id as participant, p.email
      from tickets t
      join messages m on m.organization_id = ${organization_id} and m.ticket_id = t.id
      join participants p on p.organization_id = ${organization_id} and p.ticket_id = t.id
      where t.organization_id = ${organization_id} and t.id = ${ticket.id}`
    expect({ ...left }).toEqual({
      contact_id: null,
      sender_name: 'Ann',
      sender_email: 'ann@example.com',
      participant: null,
      email: 'ann@example.com',
    })
    const from = { id: contact.id, name: contact.name, email: contact.email }
    expect(Array.from(await activityOf(scope, ticket.id))).toEqual([
      { type: 'changed', data: { field: 'contact', from, to: null } },
    ])
    await createContact(agent, { email: 'ann@example.com' })
  })
})

describe('events', () => {
  test('tell of creation, change and deletion with the contact as it is returned', async () => {
    const { agent, scope } = await createOrganization()
    await hearEvents(scope)
    const created = await createContact(agent)
    const updated = (await agent.patch(`/contacts/${created.id}`, { name: 'New' })).body.data
    await agent.delete(`/contacts/${created.id}`)
    expect((await writtenEvents(scope)).map(({ event, data }) => [event, data])).toEqual([
      ['contact.created', created],
      ['contact.updated', updated],
      ['contact.deleted', updated],
    ])
  })

  test('no change, no event; no event of a refused request', async () => {
    const { agent, scope } = await createOrganization()
    const contact = await createContact(agent, { phone: '1' })
    await hearEvents(scope)
    const { name, email, phone } = contact
    const same = await agent.patch(`/contacts/${contact.id}`, { name, email, phone, notes: null })
    expect([same.status, same.body.data]).toEqual([200, contact])
    await agent.patch(`/contacts/${contact.id}`, {})
    await agent.post('/contacts', { name, email })
    await agent.patch(`/contacts/${contact.id}`, { name: 'New', company_id: NOBODY })
    expect(await writtenEvents(scope)).toEqual([])
  })
})

describe('the contact of a sender', () => {
  const findOrCreateContact = async (scope: Scope, sender: { name: string; email: string }) =>
    (await findOrCreateContacts(scope, [sender]))[0]!

  test('is the one with the address in any case', async () => {
    const { agent, scope } = await createOrganization()
    const contact = await createContact(agent, { email: 'Ann@example.com' })
    const found = await findOrCreateContact(scope, { name: 'Other', email: 'ann@EXAMPLE.com' })
    expect({ ...found }).toEqual({ id: contact.id, name: contact.name, email: 'Ann@example.com', company_id: null })
  })

  test('is created, linked and told of when there is none', async () => {
    const { agent, scope } = await createOrganization()
    const company = await createCompany(agent, { domains: ['acme.com'] })
    await hearEvents(scope)
    const made = await findOrCreateContact(scope, { name: '', email: 'jo.doe@acme.com' })
    expect(made).toMatchObject({ name: 'jo.doe', email: 'jo.doe@acme.com', company_id: company.id })
    const long = await findOrCreateContact(scope, { name: '😀'.repeat(300), email: 'long@acme.com' })
    expect(long.name).toBe('😀'.repeat(255))
    expect((await writtenEvents(scope)).map(({ event, data }) => [event, data.id])).toEqual([
      ['contact.created', made.id],
      ['contact.created', long.id],
    ])
  })

  test('is one contact however many messages come at once', async () => {
    const { agent, scope } = await createOrganization()
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        inTransaction(scope, (scope) =>
          findOrCreateContact(scope, { name: 'Ann', email: i % 2 ? 'ann@example.com' : 'ANN@example.com' }),
        ),
      ),
    )
    expect(new Set(results.map((result) => result.id)).size).toBe(1)
    expect((await agent.get('/contacts')).body.meta.total).toBe(1)
  })
})

test.each([
  ['a@b.co', true],
  ["o'brien+tag@mail.example.com", true],
  ['jörg@münchen.de', true],
  ['用户@例え.jp', true],
  ['a@xn--mnchen-3ya.de', true],
  [`${'a'.repeat(64)}@b.com`, true],
  [`${'a'.repeat(65)}@b.com`, false],
  [`${'ü'.repeat(33)}@b.com`, false],
  [`a@${'b'.repeat(63)}.com`, true],
  [`a@${'b'.repeat(64)}.com`, false],
  ['a', false],
  ['@b.com', false],
  ['a@', false],
  ['a@b', false],
  ['a@b.', false],
  ['a@.b.com', false],
  ['a@b..com', false],
  ['a@-b.com', false],
  ['a@b_c.com', false],
  ['a@b.c', false],
  ['a@1.2.3.4', false],
  ['a@[1.2.3.4]', false],
  ['a b@c.com', false],
  ['a@b c.com', false],
  ['.a@b.com', false],
  ['a.@b.com', false],
  ['a..b@c.com', false],
  ['a@b@c.com', false],
  ['"a b"@c.com', false],
  ['a<b>@c.com', false],
  ['a,b@c.com', false],
  ['a@b.com\r\nBcc: x@y.com', false],
  ['a\u200bb@c.com', false],
  ['Ann <a@b.com>', false],
  ['mailto:a@b.com', false],
  ['a@b.com/x', false],
  ['a@b%2ecom', false],
])('%s is an email address: %p', (text, expected) => {
  expect(isEmailAddress(text)).toBe(expected)
})

test.each([
  ['ÉCOLE', 'ecole'],
  ['Ｆｕｌｌ', 'full'],
  ['Straße', 'strasse'],
  ['Øre Łódź', 'ore lodz'],
  ['İstanbul', 'istanbul'],
  ['ΟΔΟΣ', 'οδοσ'],
  ['Ёлка', 'елка'],
  ['한국어', '한국어'],
  ['हिन्दी', 'हिन्दी'],
  ['ﬁn', 'fin'],
])('%s is compared as %s', (text, expected) => {
  expect(fold(text)).toBe(expected)
})
