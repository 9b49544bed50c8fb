/** Shows who has a ticket open. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { removeOldViewers } from '../../../src/desk/viewing/commands'
import { type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { hearEvents, insertTicket, writtenEvents } from '../../support/factories'
import { fingerprint } from '../../support/world'

beforeAll(() => startApi())
afterAll(stopApi)

const view = (client: Client, ticket: { id: string }, body?: unknown) =>
  client.send('PUT', `/tickets/${ticket.id}/viewing`, body)

test('viewing a ticket shows the others who have it open, by name, and who writes', async () => {
  const { admin, agent, scope, addMember } = await createOrganization()
  const [ticket, other] = [await insertTicket(scope), await insertTicket(scope)]
  const zoe = await addMember('agent', 'Zoe Agent')
  const first = await view(agent, ticket)
  expect([first.status, first.body]).toEqual([200, { data: [] }])
  await view(zoe, ticket, { writing: true })
  await view(zoe, other, {})
  const seen_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  expect((await view(admin, ticket, { writing: true })).body.data).toEqual([
    { user: { id: agent.user_id, name: 'Alan Agent' }, writing: false, seen_at },
    { user: { id: zoe.user_id, name: 'Zoe Agent' }, writing: true, seen_at },
  ])
  await view(zoe, ticket)
  const { data } = (await view(agent, ticket)).body
  expect(data).toMatchObject([
    { user: { name: 'Ada Admin' }, writing: true },
    { user: { name: 'Zoe Agent' }, writing: false },
  ])
})

test('it counts for 60 seconds, or until it is ended, and the row is removed', async () => {
  const { admin, agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const ticket = await insertTicket(scope)
  const seen = async () => (await view(admin, ticket)).body.data.length
  const leave = () => agent.delete(`/tickets/${ticket.id}/viewing`)
  const age = (seconds: number) => sql`
    update viewers set seen_at = now() - make_interval(secs => ${seconds})
    where organization_id = ${organization_id} and user_id = ${agent.user_id}`
  await view(agent, ticket)
  await age(50)
  expect(await seen()).toBe(1)
  await age(61)
  expect(await seen()).toBe(0)
  await removeOldViewers(connection())
  const rows = await sql`select user_id from viewers where organization_id = ${organization_id}`
  expect([...rows]).toEqual([{ user_id: admin.user_id }])
  await view(agent, ticket)
  expect(await seen()).toBe(1)
  expect([(await leave()).status, (await leave()).status, await seen()]).toEqual([204, 204, 0])
})

test('it tells no event and leaves the ticket as it is', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  await hearEvents(scope)
  const before = await agent.get(`/tickets/${ticket.id}`)
  await view(agent, ticket, { writing: true })
  await agent.delete(`/tickets/${ticket.id}/viewing`)
  expect(await writtenEvents(scope)).toEqual([])
  expect((await agent.get(`/tickets/${ticket.id}`)).headers.get('etag')).toBe(before.headers.get('etag'))
  expect((await agent.get(`/tickets/${ticket.id}/activity`)).body.meta.total).toBe(0)
})

test('a wrong body, an API key, an unknown, deleted or foreign ticket change nothing', async () => {
  const { admin, agent, scope, id } = await createOrganization()
  const stranger = await createOrganization()
  const [ticket, gone] = [await insertTicket(scope), await insertTicket(scope)]
  await agent.delete(`/tickets/${gone.id}`)
  const key = await createProgram(admin, ['*:write'])
  const before = await fingerprint(id)
  for (const body of [{ writing: 'yes' }, { writing: null }, { writing: 1 }]) {
    expectError(await view(agent, ticket, body), 422, 'VALIDATION_ERROR')
  }
  expect(await fingerprint(id)).toEqual(before)
  for (const [client, id] of [
    [agent, gone.id],
    [agent, 'none'],
    [stranger.admin, ticket.id],
  ] as const) {
    expectError(await view(client, { id }), 404, 'TICKET_NOT_FOUND')
    expectError(await client.delete(`/tickets/${id}/viewing`), 404, 'TICKET_NOT_FOUND')
  }
  expect(await fingerprint(id)).toEqual(before)
  expectError(await view(key, ticket), 403, 'FORBIDDEN')
  expectError(await key.delete(`/tickets/${ticket.id}/viewing`), 403, 'FORBIDDEN')
  expect((await view(admin, ticket)).body.data).toEqual([])
})

test('one who is removed is not shown, and two at once of one person are one', async () => {
  const { admin, scope, addMember } = await createOrganization()
  const ticket = await insertTicket(scope)
  const zoe = await addMember('agent', 'Zoe Agent')
  await Promise.all([view(zoe, ticket), view(zoe, ticket), view(zoe, ticket, { writing: true })])
  expect((await view(admin, ticket)).body.data.length).toBe(1)
  await admin.delete(`/users/${zoe.user_id}`)
  expect((await view(admin, ticket)).body.data).toEqual([])
})
