/** The messages of all tickets of an organization, for those who keep a copy. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { createMessage, hearEvents, insertTicket, writtenEvents } from '../../support/factories'
import { walk } from '../../support/walk'

beforeAll(() => startApi())
afterAll(stopApi)

test('GET /messages has all messages of the organization, oldest first, as events have them', async () => {
  const { agent, admin, scope } = await createOrganization()
  const stranger = await createOrganization()
  await createMessage(stranger.agent, (await insertTicket(stranger.scope)).id)
  await hearEvents(scope)
  const tickets = [await insertTicket(scope), await insertTicket(scope, { subject: 'Fax on fire' })]
  for (let n = 0; n < 5; n++) {
    await createMessage(n % 2 ? admin : agent, tickets[n % 2]!.id, { body: `Message ${n}`, is_internal: n === 3 })
  }
  const { status, body } = await agent.get('/messages')
  expect([status, body.meta]).toEqual([200, { total: 5, page: 1, per_page: 20, next_cursor: null }])
  expect(body.data).toEqual((await writtenEvents(scope)).map(({ data }) => data))
  expect(body.data[1]).toMatchObject({ body: 'Message 1', ticket: { id: tickets[1]!.id, subject: 'Fax on fire' } })
  const { rows } = await walk(agent, '/messages?per_page=2')
  expect(rows).toEqual(body.data)
  expect((await stranger.agent.get('/messages')).body.meta.total).toBe(1)
})

test('the messages of a deleted ticket are in no page and not counted', async () => {
  const { agent, scope } = await createOrganization()
  const [gone, kept] = [await insertTicket(scope), await insertTicket(scope)]
  await createMessage(agent, gone.id)
  const { id } = await createMessage(agent, kept.id)
  await createMessage(agent, gone.id)
  await agent.delete(`/tickets/${gone.id}`)
  const { data, meta } = (await agent.get('/messages?per_page=1')).body
  expect([data.map((message: { id: string }) => message.id), meta.total, meta.next_cursor]).toEqual([[id], 1, null])
})

test('messages too large to be held at once come in one answer all the same', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  for (let n = 0; n < 4; n++) await createMessage(agent, ticket.id, { body: `${n}`.repeat(600_000) })
  const { data, meta } = (await agent.get('/messages?per_page=3')).body
  expect(data.map(({ body }: { body: string }) => [body[0], body.length])).toEqual(
    ['0', '1', '2'].map((digit) => [digit, 600_000]),
  )
  expect([data[2].ticket.id, meta.total]).toEqual([ticket.id, 4])
})
