/** Notices of a stream: who has a ticket open, drafts and read marks. They are in no feed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { connection } from '../../../src/base/db/pool'
import { removeOldViewers } from '../../../src/desk/viewing/commands'
import { type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createCustomer } from '../../support/customers'
import { templateUrl } from '../../support/database'
import { openReader } from '../../support/event-reader'
import { createMessage, insertTicket } from '../../support/factories'
import { runOnServer } from '../../support/on-server'
import { until } from '../../support/service'
import { emit } from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(stopApi)

const view = (client: Client, ticket: { id: string }, writing = false) =>
  client.send('PUT', `/tickets/${ticket.id}/viewing`, { writing })
const PROMISE = { event: 'notices', data: '{}' }
const told = (event: string, ticket: { id: string }, by: string, more: object = {}) => ({
  event,
  data: JSON.stringify({ ticket: { id: ticket.id }, ...more, by }),
})

/** A notice of presence: the names of those who have the ticket open, with a star for one who writes. */
function seen({ event, data }: { event?: string; data?: string }) {
  const { ticket, users, by } = JSON.parse(data!)
  const names = users.map(({ user, writing }: { user: { name: string }; writing: boolean }) => {
    return writing ? `${user.name} *` : user.name
  })
  return { event, ticket_id: ticket.id, names, by }
}

/** A reader that was told its place, and that notices come. */
async function openWithNotices(client: Client & { key?: string }, query = '') {
  const reader = await openReader(client, `notices=true&${query}`)
  const [one, other] = await reader.next(2)
  expect([one, other]).toContainEqual(PROMISE)
  return reader
}

/** The next one, behind events and places. */
async function nextNotice(
  reader: Awaited<ReturnType<typeof openReader>>,
  isWanted = (one: { event?: string; data?: string }) => one.event === 'draft',
) {
  for (;;) {
    const [one] = await reader.next(1)
    if (['draft', 'viewing'].includes(one!.event!) && isWanted(one!)) return one!
  }
}

test('a stream that asks for them hears who comes, writes and leaves, and no cursor moves', async () => {
  const { admin, agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  await using reader = await openWithNotices(admin)
  for (const [act, names] of [
    [() => view(agent, ticket), ['Alan Agent']],
    [() => view(agent, ticket, true), ['Alan Agent *']],
    [() => agent.delete(`/tickets/${ticket.id}/viewing`), []],
  ] as const) {
    await act()
    const [one] = await reader.next(1)
    expect(seen(one!)).toEqual({ event: 'viewing', ticket_id: ticket.id, names: [...names], by: agent.user_id })
  }
  // A deed that changes nothing is not told.
  await agent.delete(`/tickets/${ticket.id}/viewing`)
  await view(admin, ticket)
  await view(admin, ticket)
  expect(seen((await reader.next(1))[0]!)).toMatchObject({ names: ['Ada Admin'], by: admin.user_id })
  await emit(scope, { id: ticket.id }, 'ticket.updated')
  expect((await reader.next(1))[0]).toMatchObject({ event: 'ticket.updated', id: expect.any(String) })
  expect((await admin.get('/events')).body.data.map(({ event }: { event: string }) => event)).toEqual([
    'ticket.updated',
  ])
})

test('a stream is told when time alone ends that somebody has a ticket open', async () => {
  const { admin, agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const ticket = await insertTicket(scope)
  await view(agent, ticket)
  await view(admin, ticket)
  await using reader = await openWithNotices(admin)
  await sql`
    update viewers set seen_at = now() - interval '61 seconds'
    where organization_id = ${organization_id} and user_id = ${agent.user_id}`
  await removeOldViewers(connection())
  const one = await nextNotice(reader, ({ data }) => JSON.parse(data!).by === null)
  expect(seen(one)).toEqual({ event: 'viewing', ticket_id: ticket.id, names: ['Ada Admin'], by: null })
})

test('a read mark is told to the streams of its person alone', async () => {
  const { admin, agent, scope } = await createOrganization()
  const [ticket, other] = [await insertTicket(scope), await insertTicket(scope)]
  await createMessage(admin, ticket.id)
  await using one = await openWithNotices(agent)
  await using device = await openWithNotices(agent, `types=ticket.created&resource_ids=${other.id}`)
  await using stranger = await openWithNotices(admin)
  await agent.send('PUT', `/tickets/${ticket.id}/read`)
  for (const reader of [one, device]) expect(await reader.next(1)).toEqual([told('read', ticket, agent.user_id)])
  // A mark that stays as it is tells nothing.
  await agent.send('PUT', `/tickets/${ticket.id}/read`)
  await agent.delete(`/tickets/${ticket.id}/read`)
  expect(await one.next(1)).toEqual([told('read', ticket, agent.user_id)])
  await view(agent, ticket)
  expect((await one.next(1))[0]!.event).toBe('viewing')
  expect((await stranger.next(1))[0]!.event).toBe('viewing')
})

test('a draft is told to all people, with the number that the ticket has', async () => {
  const { admin, agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const key = await createProgram(admin, ['drafts:write', 'tickets:read', 'messages:write'])
  await using own = await openWithNotices(agent)
  await using other = await openWithNotices(admin)
  const drafts = (draft_count: number, by = agent.user_id) => told('draft', ticket, by, { draft_count })
  const { data: draft } = (await agent.post(`/tickets/${ticket.id}/drafts`, { body: 'mine' })).body
  expect(await own.next(1)).toEqual([drafts(1)])
  await agent.patch(`/drafts/${draft.id}`, { body: 'more' })
  expect(await own.next(1)).toEqual([drafts(1)])
  await agent.post(`/drafts/${draft.id}/send`, {})
  expect(await nextNotice(own)).toEqual(drafts(0))
  for (const count of [1, 1, 0]) expect(await nextNotice(other)).toEqual(drafts(count))
  const { data: prepared } = (await key.post(`/tickets/${ticket.id}/drafts`, { body: 'prepared' })).body
  expect(await nextNotice(other)).toEqual(drafts(1, key.id))
  await admin.delete(`/drafts/${prepared.id}`)
  expect(await nextNotice(other)).toEqual(drafts(0, admin.user_id))
})

test('others hear nothing: another organization, keys, customers, refused changes, streams that do not ask', async () => {
  const { admin, agent, scope } = await createOrganization()
  const stranger = await createOrganization()
  const [ticket, other] = [await insertTicket(scope), await insertTicket(scope)]
  const reading = await createProgram(admin, ['tickets:read'])
  const drafting = await createProgram(admin, ['tickets:read', 'drafts:write'])
  const customer = await createCustomer(admin)
  const readers = {
    foreign: await openWithNotices(stranger.admin),
    silent: await openReader(admin),
    drafting: await openReader(drafting),
  }
  for (const reader of [readers.silent, readers.drafting]) await reader.next(1)
  for (const key of [reading, drafting]) {
    const refused = await key.get('/events/stream?notices=true')
    expectError(refused, 422, 'VALIDATION_ERROR')
    expect(refused.body.error.details.errors[0].path).toBe('/query/notices')
  }
  expectError(await customer.get('/events/stream?notices=true'), 401, 'INVALID_TOKEN')
  expectError(await view(customer, ticket), 401, 'INVALID_TOKEN')
  expectError(await view(stranger.admin, ticket), 404, 'TICKET_NOT_FOUND')
  expectError(await view(reading, ticket), 403, 'FORBIDDEN')
  expectError(await agent.patch(`/drafts/${ticket.id}`, { body: 'x' }), 404, 'DRAFT_NOT_FOUND')
  await using witness = await openWithNotices(admin, `resource_ids=${other.id}`)
  await view(agent, ticket, true)
  await agent.post(`/tickets/${ticket.id}/drafts`, { body: 'mine' })
  await drafting.post(`/tickets/${ticket.id}/drafts`, { body: 'prepared' })
  expect((await witness.next(2)).map(({ event }) => event)).toEqual(['viewing', 'draft'])
  // An event ends what each was told.
  await emit(scope, { id: other.id }, 'ticket.updated')
  await emit(stranger.scope, { id: other.id }, 'ticket.updated')
  const heard: Record<string, unknown> = {}
  for (const [name, reader] of Object.entries(readers)) {
    const events: (string | undefined)[] = []
    while (events.at(-1) !== 'ticket.updated') events.push((await reader.next(1))[0]!.event)
    heard[name] = events.slice(0, -1)
    await reader[Symbol.asyncDispose]()
  }
  expect(heard).toEqual({ foreign: [], drafting: [], silent: [] })
  expectError(await admin.get('/events/stream?notices=yes'), 422, 'VALIDATION_ERROR')
})

test('a person who lost the organization hears no more', async () => {
  const { admin, agent, scope, addMember } = await createOrganization()
  const ticket = await insertTicket(scope)
  const zoe = await addMember('agent', 'Zoe Agent')
  await using reader = await openWithNotices(zoe)
  await admin.delete(`/users/${zoe.user_id}`)
  const rest = reader.rest()
  await rest
  await view(agent, ticket)
  expect(await rest).toEqual([{ event: 'end', data: '{"code":"FORBIDDEN"}' }])
})

test('whenever some may have been missed, a stream is told to read again', async () => {
  const { admin, scope } = await createOrganization()
  await using reader = await openWithNotices(admin)
  const [here] = await scope.sql<{ name: string }[]>`select current_database() as name`
  // With policies the product's own role may not end it.
  const end = (server: Sql) => server`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = ${here!.name} and query ilike 'listen %deskwire_notices%'`
  await until('the connection is ended', async () => (await runOnServer(templateUrl(), end)).length > 0)
  expect(await reader.next(1)).toEqual([PROMISE])
})
