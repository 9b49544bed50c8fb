/** GET /events/stream: events as they happen. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { endStreams } from '../../../src/delivery/events/follow'
import { type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { openReader } from '../../support/event-reader'
import { createTicket } from '../../support/factories'
import { withSettings } from '../../support/settings'
import { emit } from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(stopApi)

const cursorOf = async (client: Client, query = 'start=now') =>
  (await client.get(`/events?${query}`)).body.meta.next_cursor as string

test('a stream has its place at once, and each event in order with its cursor, as pages have it', async () => {
  const { admin, agent, scope } = await createOrganization()
  await using reader = await openReader(admin)
  expect(Object.fromEntries(reader.headers)).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  })
  const [begin] = await reader.next(1)
  expect(begin).toEqual({ id: await cursorOf(agent) })
  const ids = [newId(), newId(), newId()]
  for (const id of ids) await emit(scope, { id, text: 'two\nlines' }, 'ticket.updated')
  const events = await reader.next(3)
  expect(events.map(({ event, data }) => [event, JSON.parse(data!).data.id])).toEqual(
    ids.map((id) => ['ticket.updated', id]),
  )
  const page = (await agent.get(`/events?cursor=${events[0]!.id}`)).text
  expect(page).toContain(`[${events[1]!.data},${events[2]!.data}]`)
})

test('it goes on behind a cursor, and Last-Event-ID goes before', async () => {
  const { admin, scope } = await createOrganization()
  const start = await cursorOf(admin)
  const ids = Array.from({ length: 150 }, newId)
  for (const id of ids) await emit(scope, { id }, 'ticket.updated')
  await using reader = await openReader(admin, `cursor=${start}`)
  const events = (await reader.next(151)).slice(1)
  expect(events.map(({ data }) => JSON.parse(data!).data.id)).toEqual(ids)
  await using again = await openReader(admin, `cursor=${start}`, { 'last-event-id': events[147]!.id! })
  const rest = (await again.next(3)).slice(1)
  expect(rest).toEqual(events.slice(148))
})

test('streams of one organization that begin at different places get each event once', async () => {
  const { admin, scope } = await createOrganization()
  const start = await cursorOf(admin)
  const ids = Array.from({ length: 300 }, newId)
  const readers = []
  const writing = (async () => {
    for (const id of ids) await emit(scope, { id }, 'ticket.updated')
  })()
  for (let n = 0; n < 6; n++) {
    readers.push(await openReader(admin, `cursor=${start}`))
    await Bun.sleep(15)
  }
  await writing
  for (const reader of readers) {
    const seen = (await reader.next(301)).slice(1).map(({ data }) => JSON.parse(data!).data.id)
    expect(seen).toEqual(ids)
    await reader[Symbol.asyncDispose]()
  }
})

test('it hides what filters and rights hide, and shows no other organization', async () => {
  const { admin, scope } = await createOrganization()
  const other = await createOrganization()
  const [ticket, message] = [newId(), newId()]
  const key = await createProgram(admin, ['messages:read'])
  await using about = await openReader(admin, `resource_ids=${ticket}`)
  await using permitted = await openReader(key)
  await using foreign = await openReader(other.admin)
  await Promise.all([about, permitted, foreign].map((reader) => reader.next(1)))
  await emit(scope, { id: newId() }, 'ticket.created')
  await emit(scope, { id: ticket }, 'ticket.created')
  await emit(scope, { id: message, ticket: { id: ticket } }, 'message.created')
  await emit(other.scope, { id: newId() }, 'contact.created')
  const idsOf = (events: { data?: string }[]) => events.map(({ data }) => JSON.parse(data!).data.id)
  expect(idsOf(await about.next(2))).toEqual([ticket, message])
  expect(idsOf(await permitted.next(1))).toEqual([message])
  expect((await foreign.next(1))[0]!.event).toBe('contact.created')
})

test('it is refused before it begins as a page is', async () => {
  const { admin } = await createOrganization()
  const key = await createProgram(admin, ['tickets:read'])
  expectError(await admin.get('/events/stream?types=x'), 422, 'INVALID_EVENTS')
  expectError(await admin.get('/events/stream?cursor=x'), 422, 'VALIDATION_ERROR')
  expectError(await admin.get('/events/stream', { 'last-event-id': 'x' }), 422, 'VALIDATION_ERROR')
  expectError(await key.get('/events/stream?types=message.created'), 403, 'FORBIDDEN')
  expectError(await admin.get('/events/stream', { authorization: '' }), 401, 'INVALID_TOKEN')
  expectError(await admin.get('/events/stream?start=2020-01-01T00:00:00Z'), 410, 'CURSOR_EXPIRED')
})

test('it goes on behind its last event, whatever start its address has', async () => {
  const { admin, scope } = await createOrganization()
  const place = await cursorOf(admin)
  const id = newId()
  await emit(scope, { id }, 'ticket.updated')
  await using reader = await openReader(admin, 'start=now', { 'last-event-id': place })
  const [, event] = await reader.next(2)
  expect(JSON.parse(event!.data!).data.id).toBe(id)
})

test('a user has ten streams at a time, an organization as many as the setting says', async () => {
  using _ = withSettings({ STREAMS_PER_ORGANIZATION: 11 })
  const { admin, agent } = await createOrganization()
  const readers = []
  for (let n = 0; n < 10; n++) readers.push(await openReader(admin))
  const refused = await admin.get('/events/stream')
  expectError(refused, 429, 'RATE_LIMITED')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  readers.push(await openReader(agent))
  expectError(await agent.get('/events/stream'), 429, 'RATE_LIMITED')
  for (const reader of readers) await reader[Symbol.asyncDispose]()
  await using again = await openReader(agent)
  expect(await again.next(1)).toHaveLength(1)
})

test.each([
  ['a key that is revoked', 'INVALID_TOKEN'],
  ['a key that may not read a type any more', 'FORBIDDEN'],
  ['a member who is removed', 'FORBIDDEN'],
  ['a token that has expired', 'TOKEN_EXPIRED'],
  ['a service that stops', 'SERVICE_UNAVAILABLE'],
])(
  '%s ends with %s, before the next event',
  async (what, code) => {
    const { admin, agent, addMember } = await createOrganization()
    const key = await createProgram(admin, ['tickets:read', 'contacts:read'])
    const member = await addMember('agent', 'Zoe Agent')
    const reader_of: Record<string, Client> = { 'a member who is removed': member, 'a key that is revoked': key }
    const is_named = what.includes('may not read')
    const client = reader_of[what] ?? (is_named ? key : agent)
    await using reader = await openReader(client, is_named ? 'types=ticket.created,contact.created' : '')
    await reader.next(1)
    if (what.includes('revoked')) await admin.delete(`/api-keys/${key.id}`)
    else if (is_named) await admin.patch(`/api-keys/${key.id}`, { permissions: ['tickets:read'] })
    else if (what.includes('removed')) await admin.delete(`/users/${member.user_id}`)
    else if (what.includes('expired')) reader.expire()
    else endStreams()
    if (!/expired|stops/.test(what)) await createTicket(admin)
    expect(await reader.rest()).toEqual([{ event: 'end', data: JSON.stringify({ code }) }])
  },
  15_000,
)

test('a reader with too much unread is cut, others are not', async () => {
  const { admin, scope } = await createOrganization()
  await using slow = await openReader(admin)
  await using quick = await openReader(admin)
  const begun = Promise.all([slow.next(2), quick.next(2)])
  // Until both have read what was there, they read at their own pace.
  await Bun.sleep(500)
  await emit(scope, { id: newId() }, 'ticket.updated')
  await begun
  const text = 'x'.repeat(200_000)
  for (let n = 0; n < 12; n++) {
    await emit(scope, { id: newId(), text }, 'ticket.updated')
    await quick.next(1)
  }
  expect(await slow.rest().catch(({ message }) => message)).toMatch(/too much is unread/)
})

test('the place is kept each 15 seconds, and what others hide is passed', async () => {
  const { admin, scope } = await createOrganization()
  await using reader = await openReader(admin, 'types=contact.created')
  const [begin] = await reader.next(1)
  await emit(scope, { id: newId() }, 'ticket.created')
  const [kept] = await reader.next(1)
  expect(kept).toEqual({ id: await cursorOf(admin, 'start=now&types=contact.created') })
  expect(kept).not.toEqual(begin)
})
