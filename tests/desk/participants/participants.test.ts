import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import type { Scope } from '../../../src/base/scope'
import { createOrganization, startApi, stopApi } from '../../support/api'
import {
  activityOf,
  createContact,
  hearEvents,
  insertMailbox,
  insertTicket,
  joinTicket,
  writtenEvents,
} from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

test('an agent adds a participant, who is confirmed, with activity and without events', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  await hearEvents(scope)
  const answer = await agent.post(`/tickets/${ticket.id}/participants`, {
    email: ' Bob@customer.example ',
    name: 'Bob',
  })
  expect(answer.status).toBe(201)
  const { data } = answer.body
  expect(data).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    name: 'Bob',
    email: 'Bob@customer.example',
    contact_id: null,
    confirmed: true,
  })
  const added = { type: 'participant_added', data: { participant_id: data.id, email: 'Bob@customer.example' } }
  expect([...(await activityOf(scope, ticket.id))]).toEqual([added])
  expect(await writtenEvents(scope)).toEqual([])
})

test('a participant who is a contact is linked to it and has its name unless another is given', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const contact = await createContact(agent, { name: 'Carl' })
  const other = await createContact(agent, { name: 'Dora' })
  const add = async (body: unknown) => (await agent.post(`/tickets/${ticket.id}/participants`, body)).body.data
  expect(await add({ email: contact.email.toUpperCase() })).toMatchObject({ contact_id: contact.id, name: 'Carl' })
  expect(await add({ email: other.email, name: 'Doro' })).toMatchObject({ contact_id: other.id, name: 'Doro' })
  expect(await add({ email: 'nobody@customer.example' })).toMatchObject({ contact_id: null, name: null })
})

test('adding someone twice gives the one that is there', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const first = await agent.post(`/tickets/${ticket.id}/participants`, { email: 'bob@customer.example', name: 'Bob' })
  const again = await agent.post(`/tickets/${ticket.id}/participants`, {
    email: 'BOB@customer.example',
    name: 'Robert',
  })
  expect([again.status, again.body]).toEqual([201, first.body])
  expect(await activityOf(scope, ticket.id)).toHaveLength(1)
})

test('participants are listed oldest first, with meta', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const add = async (email: string) => (await agent.post(`/tickets/${ticket.id}/participants`, { email })).body.data
  const [first, second] = [await add('one@customer.example'), await add('two@customer.example')]
  await joinTicket(scope, (await insertTicket(scope)).id, [{ name: null, email: 'x@customer.example' }], 'confirmed')
  const list = (query = '') => agent.get(`/tickets/${ticket.id}/participants${query}`)
  expect((await list()).body).toEqual({
    data: [first, second],
    meta: { total: 2, page: 1, per_page: 20, next_cursor: null },
  })
  expect((await list('?page=2&per_page=1')).body).toEqual({
    data: [second],
    meta: { total: 2, page: 2, per_page: 1, next_cursor: null },
  })
})

test.each([
  [{}, 'VALIDATION_ERROR', '/email'],
  [{ email: 'not an address' }, 'INVALID_EMAIL', '/email'],
  [{ email: 5 }, 'INVALID_EMAIL', '/email'],
  [{ email: `${'a'.repeat(250)}@x.example` }, 'VALIDATION_ERROR', '/email'],
  [{ email: 'bob@customer.example', name: '' }, 'VALIDATION_ERROR', '/name'],
  [{ email: 'bob@customer.example', name: 'x'.repeat(256) }, 'VALIDATION_ERROR', '/name'],
])('%j is %s', async (body, code, path) => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const answer = await agent.post(`/tickets/${ticket.id}/participants`, body)
  expect([answer.status, answer.body.error.code]).toEqual([422, code])
  expect(answer.body.error.details.errors[0].path).toBe(path)
})

test("the ticket's contact and the organization's mailboxes are no participants", async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const mailbox = await insertMailbox(scope)
  for (const email of [ticket.contact.email.toUpperCase(), mailbox.address, mailbox.address.replace('@', '+tag@')]) {
    const answer = await agent.post(`/tickets/${ticket.id}/participants`, { email })
    expect([email, answer.status, answer.body.error.code]).toEqual([email, 422, 'VALIDATION_ERROR'])
    expect(answer.body.error.details.errors[0].path).toBe('/email')
  }
  expect(await listed(scope, ticket.id)).toEqual([])
})

test("another organization's mailbox may take part", async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const mailbox = await insertMailbox((await createOrganization()).scope)
  expect((await agent.post(`/tickets/${ticket.id}/participants`, { email: mailbox.address })).status).toBe(201)
})

test('an agent removes a participant, with activity', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const { id } = (await agent.post(`/tickets/${ticket.id}/participants`, { email: 'bob@customer.example' })).body.data
  const answer = await agent.delete(`/tickets/${ticket.id}/participants/${id}`)
  expect([answer.status, answer.text]).toEqual([204, ''])
  expect(await listed(scope, ticket.id)).toEqual([])
  expect((await activityOf(scope, ticket.id)).at(-1)).toEqual({
    type: 'participant_removed',
    data: { participant_id: id, email: 'bob@customer.example' },
  })
  const again = await agent.delete(`/tickets/${ticket.id}/participants/${id}`)
  expect([again.status, again.body.error.code]).toEqual([404, 'PARTICIPANT_NOT_FOUND'])
})

test('a participant of another ticket is PARTICIPANT_NOT_FOUND', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const other = await insertTicket(scope)
  await joinTicket(scope, other.id, [{ name: null, email: 'bob@customer.example' }], 'confirmed')
  const [elsewhere] = (await agent.get(`/tickets/${other.id}/participants`)).body.data
  const answer = await agent.delete(`/tickets/${ticket.id}/participants/${elsewhere.id}`)
  expect([answer.status, answer.body.error.code]).toEqual([404, 'PARTICIPANT_NOT_FOUND'])
  expect(await listed(scope, other.id)).toHaveLength(1)
})

test('of those whom an email names, each takes part once; the contact and own mailboxes do not', async () => {
  const { scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const mailbox = await insertMailbox(scope)
  const candidates = [
    { name: 'Us', email: mailbox.address },
    { name: 'Carla', email: ticket.contact.email },
    { name: 'Bob', email: 'bob@customer.example' },
    { name: '', email: 'BOB@customer.example' },
    { name: '', email: 'eve@customer.example' },
  ]
  await joinTicket(scope, ticket.id, candidates, 'confirmed')
  expect(await listed(scope, ticket.id)).toEqual([
    { name: 'Bob', email: 'bob@customer.example', confirmed: true },
    { name: null, email: 'eve@customer.example', confirmed: true },
  ])
})

test('one email makes at most 100 participants', async () => {
  const { scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const crowd = Array.from({ length: 120 }, (_, index) => ({ name: null, email: `${index}@customer.example` }))
  await joinTicket(scope, ticket.id, crowd, 'confirmed')
  expect(await listed(scope, ticket.id)).toHaveLength(100)
})

test('who only wrote in is not confirmed until an agent adds them, and stays confirmed then', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const eve = { name: null, email: 'eve@elsewhere.example' }
  await joinTicket(scope, ticket.id, [eve], 'listed')
  await joinTicket(scope, ticket.id, [eve], 'listed')
  expect(await listed(scope, ticket.id)).toEqual([{ ...eve, confirmed: false }])
  await agent.post(`/tickets/${ticket.id}/participants`, { email: eve.email, name: 'Eve' })
  await joinTicket(scope, ticket.id, [eve], 'listed')
  expect(await listed(scope, ticket.id)).toEqual([{ name: 'Eve', email: eve.email, confirmed: true }])
  expect(await activityOf(scope, ticket.id)).toHaveLength(2)
})

test('two agents who add the same person at once add one', async () => {
  const { agent, admin, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const email = `bob.${newId()}@customer.example`
  const answers = await Promise.all(
    [agent, admin].map((client) => client.post(`/tickets/${ticket.id}/participants`, { email })),
  )
  expect(answers.map(({ status }) => status)).toEqual([201, 201])
  expect(answers[0]!.body).toEqual(answers[1]!.body)
  expect(await activityOf(scope, ticket.id)).toHaveLength(1)
})

async function listed({ sql, organization_id }: Scope, ticket_id: string) {
  const rows = await sql`
    select name, email, confirmed from participants
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} order by id`
  return [...rows]
}
