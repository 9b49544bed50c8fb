/** Read marks: how far each person has read a ticket. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { inTransaction } from '../../../src/base/scope'
import { firstIdAt } from '../../../src/base/shapes/ids'
import { addMessages } from '../../../src/desk/messages/add-messages'
import { lockConversation, nextMessageId } from '../../../src/desk/messages/conversation'
import { type Client, createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createMessage, hearEvents, insertTicket, writtenEvents } from '../../support/factories'
import { fingerprint } from '../../support/world'

beforeAll(() => startApi())
afterAll(stopApi)

const mark = (client: Client, ticket: { id: string }, body?: unknown) =>
  client.send('PUT', `/tickets/${ticket.id}/read`, body)
const unmark = (client: Client, ticket: { id: string }) => client.delete(`/tickets/${ticket.id}/read`)

async function stateOf(client: Client, ticket: { id: string }) {
  const { unread, read_to } = (await client.get(`/tickets/${ticket.id}`)).body.data
  return { unread, read_to }
}

/** A message of the customer, as mail brings it. */
function write(scope: Organization['scope'], { id: ticket_id }: { id: string }): Promise<string> {
  return inTransaction(scope, async (scope) => {
    const answered = await lockConversation(scope, ticket_id)
    const id = nextMessageId(answered)
    const text = { body: 'Help', format: 'text' as const, body_html: 'Help', text: 'Help' }
    const sender = { sender_name: 'Carla', sender_email: 'carla@customer.example' }
    const draft = { id, ...text, ...sender, is_internal: false, direction: 'inbound' as const }
    const actor = { type: 'system' as const, id: null, name: 'Deskwire' }
    await addMessages(scope, [{ ticket_id, actor, draft, answered }])
    return id
  })
}

test('a mark goes to the newest message or to a given one, is of one person, and never goes back', async () => {
  const { admin, agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const [first, second] = [await write(scope, ticket), await write(scope, ticket)]
  expect(await stateOf(agent, ticket)).toEqual({ unread: true, read_to: null })
  const answer = await mark(agent, ticket, { message_id: first.toUpperCase() })
  expect([answer.status, answer.text]).toEqual([204, ''])
  expect(await stateOf(agent, ticket)).toEqual({ unread: true, read_to: first })
  expect((await mark(agent, ticket)).status).toBe(204)
  expect(await stateOf(agent, ticket)).toEqual({ unread: false, read_to: second })
  await mark(agent, ticket, { message_id: first })
  expect(await stateOf(agent, ticket)).toEqual({ unread: false, read_to: second })
  const third = await write(scope, ticket)
  expect(await stateOf(agent, ticket)).toEqual({ unread: true, read_to: second })
  await mark(agent, ticket, { message_id: second })
  expect(await stateOf(agent, ticket)).toEqual({ unread: true, read_to: second })
  await mark(agent, ticket, { message_id: third })
  expect(await stateOf(agent, ticket)).toEqual({ unread: false, read_to: third })
  expect(await stateOf(admin, ticket)).toEqual({ unread: true, read_to: null })
})

test('messages and notes of others make a ticket unread, own ones mark, other acts do not', async () => {
  const { admin, agent, scope } = await createOrganization()
  const key = await createProgram(admin, ['*:write'])
  const ticket = await insertTicket(scope)
  await write(scope, ticket)
  const own = await createMessage(agent, ticket.id)
  expect(await stateOf(agent, ticket)).toEqual({ unread: false, read_to: own.id })
  await agent.patch(`/tickets/${ticket.id}`, { priority: 'high' })
  await admin.patch(`/tickets/${ticket.id}`, { priority: 'low' })
  expect(await stateOf(agent, ticket)).toEqual({ unread: false, read_to: own.id })
  expect(await stateOf(admin, ticket)).toEqual({ unread: true, read_to: null })
  await createMessage(admin, ticket.id, { is_internal: true })
  expect(await stateOf(agent, ticket)).toEqual({ unread: true, read_to: own.id })
  const note = await createMessage(agent, ticket.id, { is_internal: true })
  expect(await stateOf(agent, ticket)).toEqual({ unread: false, read_to: note.id })
  await createMessage(key, ticket.id)
  expect([(await stateOf(agent, ticket)).unread, (await stateOf(admin, ticket)).unread]).toEqual([true, true])
  const { data: draft } = (await agent.post(`/tickets/${ticket.id}/drafts`, { body: 'mine' })).body
  expect((await stateOf(agent, ticket)).unread).toBe(true)
  await agent.post(`/drafts/${draft.id}/send`, {})
  expect((await stateOf(agent, ticket)).unread).toBe(false)
  expect((await stateOf(admin, ticket)).unread).toBe(true)
})

test('it is unread again from the newest message of somebody else on', async () => {
  const { admin, agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const first = await write(scope, ticket)
  const second = await write(scope, ticket)
  const own = await createMessage(agent, ticket.id)
  expect((await unmark(agent, ticket)).status).toBe(204)
  expect(await stateOf(agent, ticket)).toEqual({ unread: true, read_to: first })
  expect((await unmark(agent, ticket)).status).toBe(204)
  await mark(agent, ticket, { message_id: second })
  expect(await stateOf(agent, ticket)).toEqual({ unread: false, read_to: second })
  await mark(agent, ticket)
  expect(await stateOf(agent, ticket)).toEqual({ unread: false, read_to: own.id })
  // A mark that stands further back stays.
  await mark(admin, ticket, { message_id: first })
  await unmark(admin, ticket)
  expect(await stateOf(admin, ticket)).toEqual({ unread: true, read_to: first })
  const alone = await insertTicket(scope)
  const only = await createMessage(agent, alone.id)
  expect((await unmark(agent, alone)).status).toBe(204)
  expect(await stateOf(agent, alone)).toEqual({ unread: false, read_to: only.id })
  const empty = await insertTicket(scope)
  expect([(await unmark(agent, empty)).status, (await mark(agent, empty)).status]).toEqual([204, 204])
  expect(await stateOf(agent, empty)).toEqual({ unread: false, read_to: null })
})

test('without a mark a ticket is unread when it is mine or nobody’s and its newest message is new', async () => {
  const { admin, agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const ticket = await insertTicket(scope)
  const unread = async () => [(await stateOf(admin, ticket)).unread, (await stateOf(agent, ticket)).unread]
  expect(await unread()).toEqual([false, false])
  await write(scope, ticket)
  expect(await unread()).toEqual([true, true])
  const given = await agent.post(`/tickets/${ticket.id}/assign`, { assignee_id: admin.user_id })
  expect(given.body.data).toMatchObject({ unread: false, read_to: null })
  expect(await unread()).toEqual([true, false])
  expect((await agent.post(`/tickets/${ticket.id}/unassign`, {})).body.data.unread).toBe(true)
  const age = async (days: number) => {
    const { data } = (await admin.get(`/tickets/${ticket.id}/messages`)).body
    const id = firstIdAt(Date.now() - days * 86_400_000).replace('-0000-0000-', '-7000-8000-')
    await sql`update messages set id = ${id} where organization_id = ${organization_id} and id = ${data[0].id}`
    await sql`update tickets set last_message_id = ${id} where organization_id = ${organization_id} and id = ${ticket.id}`
  }
  await age(89)
  expect(await unread()).toEqual([true, true])
  await age(91)
  expect(await unread()).toEqual([false, false])
  // Somebody makes it unread all the same.
  await unmark(agent, ticket)
  expect(await unread()).toEqual([false, true])
})

test('what comes by a merge is unread, and goes with its messages', async () => {
  const { admin, agent, scope } = await createOrganization()
  const [target, source] = [await insertTicket(scope), await insertTicket(scope)]
  await write(scope, source)
  const newest = await write(scope, target)
  await mark(agent, target)
  await mark(agent, source)
  const merged = await admin.post(`/tickets/${target.id}/merge`, { source_ids: [source.id] })
  expect(merged.body.data).toMatchObject({ unread: true, read_to: null })
  expect(await stateOf(agent, target)).toEqual({ unread: true, read_to: newest })
  expect((await stateOf(agent, source)).unread).toBe(false)
  expectError(await mark(agent, source), 422, 'TICKET_MERGED')
  expectError(await unmark(agent, source), 422, 'TICKET_MERGED')
  await mark(agent, target, { message_id: newest })
  expect(await stateOf(agent, target)).toEqual({ unread: false, read_to: newest })
  await unmark(agent, target)
  await admin.post(`/tickets/${source.id}/unmerge`, {})
  expect((await stateOf(agent, source)).unread).toBe(false)
  // Own messages that come are not news.
  const mine = await insertTicket(scope)
  await createMessage(agent, mine.id)
  await mark(agent, target)
  await mark(admin, target)
  await admin.post(`/tickets/${target.id}/merge`, { source_ids: [mine.id] })
  expect([(await stateOf(agent, target)).unread, (await stateOf(admin, target)).unread]).toEqual([false, true])
  await admin.post(`/tickets/${mine.id}/unmerge`, {})
  expect((await stateOf(admin, target)).unread).toBe(false)
})

test('when the news are deleted or split off, nothing is unread', async () => {
  const { admin, agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  await write(scope, ticket)
  await mark(agent, ticket)
  const [second, third] = [await write(scope, ticket), await write(scope, ticket)]
  await admin.post(`/tickets/${ticket.id}/split`, { message_ids: [second] })
  expect((await stateOf(agent, ticket)).unread).toBe(true)
  await admin.delete(`/tickets/${ticket.id}/messages/${third}`)
  expect((await stateOf(agent, ticket)).unread).toBe(false)
})

test('of marks and messages that come at once none is lost, and no mark goes back', async () => {
  const { admin, agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const ids: string[] = []
  for (let n = 0; n < 8; n++) ids.push(await write(scope, ticket))
  await Promise.all(ids.toReversed().map((message_id) => mark(agent, ticket, { message_id })))
  expect(await stateOf(agent, ticket)).toEqual({ unread: false, read_to: ids.at(-1)! })
  for (let n = 0; n < 10; n++) {
    const [id] = await Promise.all([write(scope, ticket), mark(agent, ticket), mark(admin, ticket)])
    const { unread, read_to } = await stateOf(agent, ticket)
    expect(unread).toBe(read_to !== id)
    await mark(agent, ticket)
  }
})

test('no event, activity or audit entry tells of marks, and events and API keys are shown none', async () => {
  const { admin, agent, scope } = await createOrganization()
  const key = await createProgram(admin, ['*:write'])
  const ticket = await insertTicket(scope)
  await write(scope, ticket)
  await hearEvents(scope)
  const audited = async () => (await admin.get('/audit-log')).body.meta.total
  const before = {
    audited: await audited(),
    activity: (await agent.get(`/tickets/${ticket.id}/activity`)).body.meta.total,
  }
  await mark(agent, ticket)
  await unmark(agent, ticket)
  await agent.send('PUT', `/tickets/${ticket.id}/viewing`, {})
  expect(await writtenEvents(scope)).toEqual([])
  expect({
    audited: await audited(),
    activity: (await agent.get(`/tickets/${ticket.id}/activity`)).body.meta.total,
  }).toEqual(before)
  expect(await stateOf(key, ticket)).toEqual({ unread: null, read_to: null })
  expect((await agent.patch(`/tickets/${ticket.id}`, { priority: 'high' })).body.data.unread).toBe(true)
  const events = (await admin.get('/events?types=ticket.updated')).body.data
  expect(events.map(({ data }: { data: object }) => data)).toMatchObject([{ unread: null, read_to: null }])
  const { data: created } = (
    await agent.post('/tickets', { subject: 'New', description: 'Help', contact_id: ticket.contact.id })
  ).body
  expect(created).toMatchObject({ unread: true, read_to: null })
  expect(await stateOf(agent, created)).toEqual({ unread: true, read_to: null })
})

test('many people who ask at once are each shown their own', async () => {
  const { admin, agent, scope } = await createOrganization()
  const key = await createProgram(admin, ['tickets:read', 'messages:read'])
  const ticket = await insertTicket(scope)
  const id = await write(scope, ticket)
  await mark(agent, ticket)
  const asked = await Promise.all(Array.from({ length: 30 }, (_, n) => stateOf([admin, agent, key][n % 3]!, ticket)))
  const expected = [
    { unread: true, read_to: null },
    { unread: false, read_to: id },
    { unread: null, read_to: null },
  ]
  for (const [n, state] of asked.entries()) expect(state).toEqual(expected[n % 3]!)
})

test('viewing marks too', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const id = await write(scope, ticket)
  const view = (body: object) => agent.send('PUT', `/tickets/${ticket.id}/viewing`, body)
  await view({})
  expect((await stateOf(agent, ticket)).unread).toBe(true)
  expect((await view({ read_to: id })).body).toEqual({ data: [] })
  expect(await stateOf(agent, ticket)).toEqual({ unread: false, read_to: id })
  const refused = await view({ read_to: ticket.id })
  expectError(refused, 422, 'MESSAGE_NOT_FOUND')
  expect(refused.body.error.details.errors[0].path).toBe('/read_to')
})

test('a wrong body, an API key, other tickets and other organizations change nothing', async () => {
  const { admin, agent, scope, id } = await createOrganization()
  const stranger = await createOrganization()
  const [ticket, other, gone] = [await insertTicket(scope), await insertTicket(scope), await insertTicket(scope)]
  const [here, elsewhere] = [await write(scope, ticket), await write(scope, other)]
  const foreign = await insertTicket(stranger.scope)
  const strange = await write(stranger.scope, foreign)
  await agent.delete(`/tickets/${gone.id}`)
  const key = await createProgram(admin, ['*:write'])
  const before = await fingerprint(id)
  for (const message_id of [1, null, true, {}]) {
    expectError(await mark(agent, ticket, { message_id }), 422, 'VALIDATION_ERROR')
  }
  for (const message_id of [elsewhere, strange, ticket.id, 'none', '']) {
    const refused = await mark(agent, ticket, { message_id })
    expectError(refused, 422, 'MESSAGE_NOT_FOUND')
    expect(refused.body.error.details).toMatchObject({ errors: [{ path: '/message_id' }], ids: [message_id] })
  }
  for (const [client, ticket_id] of [
    [agent, gone.id],
    [agent, 'none'],
    [agent, foreign.id],
    [stranger.admin, ticket.id],
  ] as const) {
    expectError(await mark(client, { id: ticket_id }, { message_id: here }), 404, 'TICKET_NOT_FOUND')
    expectError(await unmark(client, { id: ticket_id }), 404, 'TICKET_NOT_FOUND')
  }
  expect(await fingerprint(id)).toEqual(before)
  // The refusals of a key are in the audit log.
  expectError(await mark(key, ticket), 403, 'FORBIDDEN')
  expectError(await unmark(key, ticket), 403, 'FORBIDDEN')
  expect((await fingerprint(id)).read_marks).toBe(before.read_marks!)
})

test('one mark is kept of each ticket, while the ticket and the membership last', async () => {
  const { admin, scope, addMember } = await createOrganization()
  const { sql, organization_id } = scope
  const ticket = await insertTicket(scope)
  await write(scope, ticket)
  const zoe = await addMember('agent', 'Zoe Agent')
  const count = async () => (await sql`select from read_marks where organization_id = ${organization_id}`).length
  await Promise.all(Array.from({ length: 20 }, () => mark(zoe, ticket)))
  await mark(admin, ticket)
  expect(await count()).toBe(2)
  await admin.patch(`/users/${zoe.user_id}`, { active: false })
  expect((await mark(zoe, ticket)).status).toBeGreaterThanOrEqual(401)
  expect(await count()).toBe(2)
  await admin.delete(`/users/${zoe.user_id}`)
  expect(await count()).toBe(1)
  await sql`delete from messages where organization_id = ${organization_id}`
  await sql`delete from tickets where organization_id = ${organization_id} and id = ${ticket.id}`
  expect(await count()).toBe(0)
})
