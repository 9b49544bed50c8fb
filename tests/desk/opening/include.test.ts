/** A ticket with what is shown beside it, in one answer. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, createOrganization, expectError, type Organization, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createCompany, createContact, createMessage, createTicket } from '../../support/factories'
import { type StatementCounter, startCountedApi, type Traffic } from '../../support/statement-counter'

const ALL = ['contact', 'company', 'participants', 'drafts', 'viewing', 'recipients', 'other_tickets', 'activity']

let counter: StatementCounter

beforeAll(async () => {
  counter = await startCountedApi(1, true)
})
afterAll(async () => {
  await stopApi()
  counter.stop()
})

const open = (client: Client, id: string, include: string, headers?: Record<string, string>) =>
  client.get(`/tickets/${id}?include=${include}`, headers)

/** A ticket with one of everything beside it. */
async function createFull({ admin, agent }: Organization) {
  const company = await createCompany(agent)
  const contact = await createContact(agent, { company_id: company.id })
  const other = await createTicket(agent, { contact_id: contact.id, subject: 'Other' })
  const ticket = await createTicket(agent, { contact_id: contact.id })
  const path = `/tickets/${ticket.id}`
  await createMessage(agent, ticket.id)
  await agent.post(`${path}/participants`, { email: 'kim@x.example', name: 'Kim' })
  await agent.post(`${path}/drafts`, { body: 'Not yet' })
  await admin.send('PUT', `${path}/viewing`, { writing: true })
  return { company, contact, other, ticket, path }
}

test('each part is what its own endpoint gives it', async () => {
  const organization = await createOrganization()
  const { agent, admin } = organization
  const { company, contact, other, ticket, path } = await createFull(organization)
  const answer = await open(agent, ticket.id, ALL.join(','))
  expect(answer.status).toBe(200)
  const dataOf = async (path: string) => (await agent.get(path)).body.data
  expect(answer.body).toEqual({
    data: await dataOf(path),
    included: {
      contact: await dataOf(`/contacts/${contact.id}`),
      company: await dataOf(`/companies/${company.id}`),
      participants: await dataOf(`${path}/participants`),
      drafts: await dataOf(`/drafts?ticket_id=${ticket.id}`),
      viewing: [{ user: { id: admin.user_id, name: 'Ada Admin' }, writing: true, seen_at: expect.any(String) }],
      recipients: await dataOf(`${path}/recipients`),
      other_tickets: (await dataOf(`/tickets?contact_id=${contact.id}`)).filter(
        ({ id }: { id: string }) => id !== ticket.id,
      ),
      activity: (await dataOf(`${path}/activity`)).toReversed(),
    },
  })
  const { included } = answer.body
  expect(included.other_tickets.map(({ id }: { id: string }) => id)).toEqual([other.id])
  for (const name of ['participants', 'drafts', 'viewing']) expect([name, included[name].length]).toEqual([name, 1])
})

test('only what is asked for is there, in any order, with blanks and twice', async () => {
  const organization = await createOrganization()
  const { ticket } = await createFull(organization)
  const { body } = await open(organization.agent, ticket.id, 'viewing,%20contact,viewing')
  expect(Object.keys(body.included).toSorted()).toEqual(['contact', 'viewing'])
  expect((await organization.agent.get(`/tickets/${ticket.id}`)).body).toEqual({ data: body.data })
})

test.each(['', ',', 'contact,', 'messages', 'contact,secrets', 'constructor', 'Contact'])(
  '%j is refused',
  async (include) => {
    const organization = await createOrganization()
    const ticket = await createTicket(organization.agent)
    const answer = await open(organization.agent, ticket.id, include)
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors).toMatchObject([{ path: '/query/include' }])
  },
)

test('a ticket without contact and company has null and no other tickets', async () => {
  const { agent } = await createOrganization()
  const ticket = await createTicket(agent)
  await createTicket(agent)
  await agent.delete(`/contacts/${ticket.contact.id}`)
  const { body } = await open(agent, ticket.id, 'contact,company,other_tickets,recipients')
  expect(body.included).toEqual({
    contact: null,
    company: null,
    other_tickets: [],
    recipients: { from: null, to: [], cc: [], quote: 'none' },
  })
})

test('lists end at their first page, the newest 50 of the activity and 10 other tickets', async () => {
  const { agent } = await createOrganization()
  const contact = await createContact(agent)
  const ticket = await createTicket(agent, { contact_id: contact.id })
  for (let n = 0; n < 12; n++) await createTicket(agent, { contact_id: contact.id, subject: `Other ${n}` })
  for (let n = 0; n < 22; n++) await agent.post(`/tickets/${ticket.id}/participants`, { email: `p${n}@x.example` })
  for (let n = 0; n < 40; n++) {
    await agent.patch(`/tickets/${ticket.id}`, { priority: n % 2 === 0 ? 'high' : 'low' })
  }
  const { included } = (await open(agent, ticket.id, 'participants,other_tickets,activity')).body
  expect(included.participants.map(({ email }: { email: string }) => email)).toEqual(
    Array.from({ length: 20 }, (_, n) => `p${n}@x.example`),
  )
  expect(included.other_tickets.map(({ subject }: { subject: string }) => subject)).toEqual(
    Array.from({ length: 10 }, (_, n) => `Other ${11 - n}`),
  )
  const whole = (await agent.get(`/tickets/${ticket.id}/activity?per_page=100`)).body.data
  expect(included.activity).toEqual(whole.toReversed().slice(0, 50))
})

test('viewing is read without entering', async () => {
  const { admin, agent } = await createOrganization()
  const ticket = await createTicket(agent)
  expect((await open(agent, ticket.id, 'viewing')).body.included).toEqual({ viewing: [] })
  expect((await open(admin, ticket.id, 'viewing')).body.included).toEqual({ viewing: [] })
  await agent.send('PUT', `/tickets/${ticket.id}/viewing`, {})
  expect((await open(agent, ticket.id, 'viewing')).body.included).toEqual({ viewing: [] })
  expect((await open(admin, ticket.id, 'viewing')).body.included.viewing).toHaveLength(1)
})

test('a key gets what it may read, and 403 for the rest', async () => {
  const { agent, admin } = await createOrganization()
  const ticket = await createTicket(agent)
  const needs = {
    contact: 'contacts:read',
    company: 'companies:read',
    participants: 'tickets:read',
    drafts: 'drafts:read',
    recipients: 'messages:read',
    other_tickets: 'tickets:read',
    activity: 'tickets:read',
  }
  const least = await createProgram(admin, ['tickets:read'])
  for (const [name, permission] of Object.entries(needs)) {
    const answer = await open(least, ticket.id, name)
    if (permission === 'tickets:read') expect([name, answer.status]).toEqual([name, 200])
    else expectError(answer, 403, 'FORBIDDEN')
    if (answer.status === 403) expect(answer.body.error.details).toEqual({ required: permission })
  }
  const reader = await createProgram(admin, ['*:read'])
  expect((await open(reader, ticket.id, Object.keys(needs).join(','))).status).toBe(200)
  expectError(await open(reader, ticket.id, 'contact,viewing'), 403, 'FORBIDDEN')
})

test('a ticket of another organization, an unknown and a deleted one are 404', async () => {
  const [mine, other] = [await createOrganization(), await createOrganization()]
  const [foreign, deleted] = [await createTicket(other.agent), await createTicket(mine.agent)]
  await mine.agent.delete(`/tickets/${deleted.id}`)
  for (const id of [foreign.id, deleted.id, crypto.randomUUID(), 'x']) {
    expectError(await open(mine.agent, id, ALL.join(',')), 404, 'TICKET_NOT_FOUND')
  }
})

test('a merged source reads with its own activity, and nobody would get an answer', async () => {
  const organization = await createOrganization()
  const { agent } = organization
  const { ticket } = await createFull(organization)
  const target = await createTicket(agent)
  await agent.post(`/tickets/${target.id}/merge`, { source_ids: [ticket.id] })
  const { body } = await open(agent, ticket.id, 'recipients,activity,drafts')
  expect(body.included).toMatchObject({ recipients: { to: [], cc: [] }, drafts: [] })
  expect(body.included.activity.map(({ type }: { type: string }) => type)).toContain('merged')
})

test('the tag for 304 covers all that is shown', async () => {
  const organization = await createOrganization()
  const { agent, admin } = organization
  const { ticket, path, contact, other } = await createFull(organization)
  const changes: [name: string, change: () => Promise<unknown>][] = [
    ['contact', () => agent.patch(`/contacts/${contact.id}`, { phone: '1' })],
    ['participants', () => agent.post(`${path}/participants`, { email: 'new@x.example' })],
    ['drafts', () => agent.post(`${path}/drafts`, { body: 'A note', is_internal: true })],
    ['viewing', () => admin.send('PUT', `${path}/viewing`, { writing: false })],
    ['other_tickets', () => agent.patch(`/tickets/${other.id}`, { subject: 'Changed' })],
  ]
  for (const [name, change] of changes) {
    const tag = (await open(agent, ticket.id, name)).headers.get('etag')!
    expect([name, (await open(agent, ticket.id, name, { 'if-none-match': tag })).status]).toEqual([name, 304])
    await change()
    expect([name, (await open(agent, ticket.id, name, { 'if-none-match': tag })).status]).toEqual([name, 200])
  }
})

test('all of it takes few statements, which run together', async () => {
  const organization = await createOrganization()
  const { ticket } = await createFull(organization)
  const work = async () => void (await open(organization.agent, ticket.id, ALL.join(',')))
  await work()
  const isFew = ({ statements, waits }: Traffic) => statements.length <= 11 && waits <= 4
  let traffic = await counter.during(work)
  // A busy machine may answer a statement before those beside it are sent.
  for (let n = 0; n < 10 && !isFew(traffic); n++) traffic = await counter.during(work)
  expect(isFew(traffic) ? [] : traffic).toEqual([])
})
