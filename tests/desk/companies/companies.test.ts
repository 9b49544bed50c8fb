import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createOrganization, expectError, startApi, stopApi } from '../../support/api'
import {
  activityOf,
  createCompany,
  createContact,
  hearEvents,
  insertTicketOf,
  writtenEvents,
} from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)

describe('creating', () => {
  test('a company is returned with every field', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.post('/companies', {
      name: ' Acme ',
      domains: [' Acme.COM', 'münchen.de', 'acme.com'],
      hourly_rate: 19.99,
      currency: 'EUR',
      ticket_prefix: 'ACME',
      notes: 'Pays late',
    })
    expect(answer.status).toBe(201)
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'Acme',
      domains: ['acme.com', 'xn--mnchen-3ya.de'],
      hourly_rate: 19.99,
      currency: 'EUR',
      ticket_prefix: 'ACME',
      notes: 'Pays late',
      external_id: null,
      custom: {},
      contact_count: 0,
      ticket_count: 0,
      contacts: [],
      recent_tickets: [],
      total_tickets: 0,
      total_time_minutes: 0,
      created_at: TIME,
      updated_at: TIME,
    })
    expect((await agent.get(`/companies/${answer.body.data.id}`)).body.data).toEqual(answer.body.data)
  })

  test('only a name is needed; the currency is then that of the organization', async () => {
    const { agent, scope } = await createOrganization()
    await scope.sql`update organizations set currency = 'GBP' where id = ${scope.organization_id}`
    const company = await createCompany(agent, { hourly_rate: null })
    expect(company).toMatchObject({ domains: [], hourly_rate: null, currency: 'GBP', ticket_prefix: null, notes: null })
  })

  test.each([0, 0.01, 19.99, 0.29, 1.1, 100, 999_999.99, 1_000_000])('the rate may be %p', async (hourly_rate) => {
    const { agent } = await createOrganization()
    expect((await createCompany(agent, { hourly_rate })).hourly_rate).toBe(hourly_rate)
  })

  test.each([
    [{ name: null }, 'VALIDATION_ERROR', '/name'],
    [{ name: ' ' }, 'VALIDATION_ERROR', '/name'],
    [{ name: 'n'.repeat(256) }, 'VALIDATION_ERROR', '/name'],
    [{ domains: 'acme.com' }, 'INVALID_DOMAIN', '/domains'],
    [{ domains: ['acme.com', 'nonsense'] }, 'INVALID_DOMAIN', '/domains/1'],
    [{ domains: ['acme.com', 5] }, 'INVALID_DOMAIN', '/domains/1'],
    [{ domains: [''] }, 'INVALID_DOMAIN', '/domains/0'],
    [{ domains: [`${'a'.repeat(300)}.com`] }, 'INVALID_DOMAIN', '/domains/0'],
    [{ domains: Array.from({ length: 21 }, (_, i) => `a${i}.com`) }, 'VALIDATION_ERROR', '/domains'],
    [{ hourly_rate: -1 }, 'VALIDATION_ERROR', '/hourly_rate'],
    [{ hourly_rate: 1_000_000.01 }, 'VALIDATION_ERROR', '/hourly_rate'],
    [{ hourly_rate: 1.001 }, 'VALIDATION_ERROR', '/hourly_rate'],
    [{ hourly_rate: 1e-7 }, 'VALIDATION_ERROR', '/hourly_rate'],
    [{ currency: 'usd' }, 'VALIDATION_ERROR', '/currency'],
    [{ currency: ' USD' }, 'VALIDATION_ERROR', '/currency'],
    [{ currency: 'QQQ' }, 'VALIDATION_ERROR', '/currency'],
    [{ ticket_prefix: 'acme' }, 'VALIDATION_ERROR', '/ticket_prefix'],
    [{ ticket_prefix: '1A' }, 'VALIDATION_ERROR', '/ticket_prefix'],
    [{ ticket_prefix: 'A'.repeat(11) }, 'VALIDATION_ERROR', '/ticket_prefix'],
    [{ ticket_prefix: 'ACME-' }, 'VALIDATION_ERROR', '/ticket_prefix'],
    [{ notes: 'n'.repeat(10_001) }, 'VALIDATION_ERROR', '/notes'],
    [{ domains: ['nonsense'], hourly_rate: -1 }, 'INVALID_DOMAIN', '/domains/0'],
  ])('a wrong field is refused: %j', async (fields, code, path) => {
    const { agent } = await createOrganization()
    const company = await createCompany(agent)
    for (const answer of [
      await agent.post('/companies', { name: 'A', ...fields }),
      await agent.patch(`/companies/${company.id}`, { notes: 'new', ...fields }),
    ]) {
      expectError(answer, 422, code)
      expect(answer.body.error.details.errors[0].path).toBe(path)
    }
    expect((await agent.get('/companies')).body.meta.total).toBe(1)
    expect((await agent.get(`/companies/${company.id}`)).body.data).toEqual(company)
  })

  test('a company may have 20 domains', async () => {
    const { agent } = await createOrganization()
    const domains = Array.from({ length: 20 }, (_, i) => `a${i}.com`)
    expect((await createCompany(agent, { domains })).domains).toEqual(domains)
  })
})

test('the list is newest first, paged, with counts', async () => {
  const { agent, scope } = await createOrganization()
  const companies = [await createCompany(agent), await createCompany(agent), await createCompany(agent)]
  const company_id = companies[1].id
  await createContact(agent, { company_id })
  await insertTicketOf(scope, { company_id })
  const hidden = await insertTicketOf(scope, { company_id })
  await scope.sql`update tickets set deleted_at = now() where id = ${hidden.id}`
  const answer = await agent.get('/companies?per_page=2')
  expect(answer.body.meta).toEqual({ total: 3, page: 1, per_page: 2, next_cursor: expect.any(String) })
  expect(answer.body.data).toMatchObject([
    { id: companies[2].id, contact_count: 0, ticket_count: 0 },
    { id: company_id, name: 'Customer Ltd', domains: [], contact_count: 1, ticket_count: 1 },
  ])
  expect((await agent.get('/companies?page=2&per_page=2')).body.data).toMatchObject([{ id: companies[0].id }])
})

test('a company shows its contacts, recent tickets and all the time that was logged for it', async () => {
  const { agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const company_id = (await createCompany(agent)).id
  const people = [await createContact(agent, { company_id }), await createContact(agent, { company_id })]
  await createContact(agent)
  const tickets = []
  for (let i = 0; i < 12; i++) tickets.unshift(await insertTicketOf(scope, { company_id, subject: `Number ${i}` }))
  const hidden = tickets.shift()!
  await sql`update tickets set deleted_at = now() where id = ${hidden.id}`
  for (const ticket of [hidden, tickets[0]!, await insertTicketOf(scope, {})]) {
    await sql`
      insert into time_entries (organization_id, id, ticket_id, user_id, duration_minutes, currency, date)
      values (${organization_id}, ${Bun.randomUUIDv7()}, ${ticket.id}, ${agent.user_id}, 45, 'USD', '2026-01-31')`
  }
  const { data } = (await agent.get(`/companies/${company_id}`)).body
  expect(data).toMatchObject({
    contacts: people.reverse().map(({ id, name, email }) => ({ id, name, email })),
    recent_tickets: tickets.slice(0, 10),
    contact_count: 2,
    ticket_count: 11,
    total_tickets: 11,
    total_time_minutes: 90,
  })
})

describe('updating', () => {
  test('changes only what is given, and null clears what may be empty', async () => {
    const { agent } = await createOrganization()
    const fields = { domains: ['a.com'], hourly_rate: 5, currency: 'EUR', ticket_prefix: 'A', notes: 'n' }
    const company = await createCompany(agent, fields)
    const path = `/companies/${company.id}`
    const changed = await agent.patch(path, { hourly_rate: 7.5, domains: ['B.com', 'b.com', 'c.com'] })
    expect(changed.status).toBe(200)
    expect(changed.body.data).toMatchObject({
      ...fields,
      name: company.name,
      hourly_rate: 7.5,
      domains: ['b.com', 'c.com'],
    })
    const nulls = { hourly_rate: null, currency: null, ticket_prefix: null, notes: null }
    const cleared = await agent.patch(path, { ...nulls, domains: [] })
    expect(cleared.body.data).toMatchObject({ ...nulls, currency: 'USD', domains: [] })
  })
})

test('deleting a company keeps its contacts and tickets, unlinked, and tells of no ticket', async () => {
  const { agent, scope } = await createOrganization()
  const company = await createCompany(agent)
  const contact = await createContact(agent, { company_id: company.id })
  const ticket = await insertTicketOf(scope, { company_id: company.id, contact_id: contact.id })
  const hidden = await insertTicketOf(scope, { company_id: company.id })
  await scope.sql`update tickets set deleted_at = now() where id = ${hidden.id}`
  await hearEvents(scope)
  const shown = (await agent.get(`/companies/${company.id}`)).body.data
  const answer = await agent.delete(`/companies/${company.id}`)
  expect([answer.status, answer.text]).toEqual([204, ''])

  expect((await agent.get(`/companies/${company.id}`)).body.error.code).toBe('COMPANY_NOT_FOUND')
  const left = (await agent.get(`/contacts/${contact.id}`)).body.data
  expect(left).toMatchObject({ company: null, total_tickets: 1 })
  const tickets = await scope.sql`select company_id from tickets where organization_id = ${scope.organization_id}`
  expect(tickets.map((row) => row.company_id)).toEqual([null, null])
  const from = { id: company.id, name: company.name }
  expect(Array.from(await activityOf(scope, ticket.id))).toEqual([
    { type: 'changed', data: { field: 'company', from, to: null } },
  ])
  const events = await writtenEvents(scope)
  expect(events.map(({ event, data }) => [event, data])).toEqual([
    ['contact.updated', left],
    ['company.deleted', shown],
  ])
})

describe('linking contacts', () => {
  test('links those without a company that belong to it, with their tickets', async () => {
    const { agent, scope } = await createOrganization()
    const other = await createOrganization()
    const make = async (email: string, company_id: string | null = null) =>
      (await createContact(agent, { email, company_id })).id
    const elsewhere = await createCompany(agent)
    const ids = {
      match: await make('a@acme.com'),
      below: await make('b@mail.acme.com'),
      near: await make('c@notacme.com'),
      linked: await make('d@acme.com', elsewhere.id),
      europe: await make('e@eu.acme.com'),
    }
    await createContact(other.agent, { email: 'a@acme.com' })
    const ticket = await insertTicketOf(scope, { contact_id: ids.match })
    const company = await createCompany(agent, { domains: ['acme.com'] })
    await createCompany(agent, { domains: ['eu.acme.com', 'acme.com'] })
    await hearEvents(scope)

    const answer = await agent.post(`/companies/${company.id}/link-contacts`)
    expect([answer.status, answer.body]).toEqual([200, { data: { linked: 2 } }])
    const companyOf = async (id: string) => (await agent.get(`/contacts/${id}`)).body.data.company?.id
    expect(await Promise.all(Object.values(ids).map(companyOf))).toEqual([
      company.id,
      company.id,
      undefined,
      elsewhere.id,
      undefined,
    ])
    const [row] = await scope.sql`select company_id from tickets where id = ${ticket.id}`
    expect(row!.company_id).toBe(company.id)
    expect(await activityOf(scope, ticket.id)).toHaveLength(1)
    const events = await writtenEvents(scope)
    expect(events.map(({ event, data }) => [event, data.id, data.company.id])).toEqual([
      ['contact.updated', ids.match, company.id],
      ['contact.updated', ids.below, company.id],
    ])
    expect((await agent.post(`/companies/${company.id}/link-contacts`)).body).toEqual({ data: { linked: 0 } })
  })

  test('reaches every contact, however many there are', async () => {
    const { agent, scope } = await createOrganization()
    const { sql, organization_id } = scope
    const rows = Array.from({ length: 4500 }, (_, i) => ({ id: Bun.randomUUIDv7(), email: `c${i}@acme.com` }))
    await sql`
      insert into contacts (organization_id, id, name, email, email_key, search)
      select ${organization_id}, id, email, email, email, email
      from json_to_recordset(${JSON.stringify(rows)}::json) as x (id uuid, email text)`
    const company = await createCompany(agent, { domains: ['acme.com'] })
    const answer = await agent.post(`/companies/${company.id}/link-contacts`)
    expect(answer.body).toEqual({ data: { linked: 4500 } })
    const single = (await agent.get(`/companies/${company.id}`)).body.data
    expect([single.contact_count, single.contacts.length]).toEqual([4500, 1000])
  })
})

describe('searching', () => {
  test('finds a part of the name or of a domain, without regard to case, and counts it', async () => {
    const { agent } = await createOrganization()
    const { agent: other } = await createOrganization()
    await createCompany(other, { name: 'Acme of others' })
    await createCompany(agent, { name: 'Acme GmbH', domains: ['customer.example'] })
    await createCompany(agent, { name: '100 % Bäcker_', domains: ['acme.example'] })
    const found = async (search: string) => {
      const { data, meta } = (await agent.get(`/companies?search=${encodeURIComponent(search)}`)).body
      expect(meta.total).toBe(data.length)
      return data.map(({ name }: { name: string }) => name)
    }
    expect(await found('ACME')).toEqual(['100 % Bäcker_', 'Acme GmbH'])
    expect(await found('Customer.Example')).toEqual(['Acme GmbH'])
    expect(await found('bäcker')).toEqual(['100 % Bäcker_'])
    // These are no wildcards.
    expect(await found('%')).toEqual(['100 % Bäcker_'])
    expect(await found('_')).toEqual(['100 % Bäcker_'])
    expect(await found('of others')).toEqual([])
    expect((await agent.get(`/companies?search=${'a'.repeat(256)}`)).status).toBe(422)
  })
})
