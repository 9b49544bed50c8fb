/** Every change is an event with a place in the one order of its organization. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { inTransaction, type Scope } from '../../../src/base/scope'
import { publish } from '../../../src/delivery/webhooks/publish'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { createContact, createTicket } from '../../support/factories'
import { createWebhook, emit } from '../../support/webhooks'

beforeAll(() => startApi(10))
afterAll(stopApi)

/** The events of an organization in its order: types and ids of what they are about. */
async function ordered({ sql, organization_id }: Scope) {
  const rows = await sql<{ type: string; resource_id: string | null; ticket_id: string | null; n: number }[]>`
    select p.type, p.resource_id, p.ticket_id, p.nth as n from event_places p
    join events e on e.organization_id = ${organization_id} and e.id = p.event_id and e.type = p.type
    where p.organization_id = ${organization_id} order by p.place, p.nth`
  return [...rows]
}

const names = async (scope: Scope) => (await ordered(scope)).map(({ resource_id }) => resource_id)

test('a change is an event although no webhook wants it', async () => {
  const { admin, agent, scope } = await createOrganization()
  const contact = await createContact(admin)
  const ticket = await createTicket(admin, {
    contact_id: contact.id,
    description: 'It smokes',
    assignee_id: agent.user_id,
  })
  const note = await admin.post(`/tickets/${ticket.id}/messages`, { body: 'Looking', is_internal: true })
  await admin.patch(`/tickets/${ticket.id}`, { status: 'pending' })
  await admin.post('/tickets/bulk', { ids: [ticket.id], changes: { priority: 'high' } })
  const of_ticket = { resource_id: ticket.id, ticket_id: null }
  const message = { resource_id: expect.any(String), ticket_id: ticket.id }
  expect(await ordered(scope)).toEqual([
    { type: 'contact.created', resource_id: contact.id, ticket_id: null, n: 0 },
    { type: 'ticket.created', ...of_ticket, n: 0 },
    { type: 'ticket.assigned', ...of_ticket, n: 1 },
    { type: 'message.created', ...message, n: 2 },
    { type: 'message.created', ...message, resource_id: note.body.data.id, n: 0 },
    { type: 'ticket.updated', ...of_ticket, n: 0 },
    { type: 'ticket.status_changed', ...of_ticket, n: 1 },
    { type: 'ticket.updated', ...of_ticket, n: 0 },
  ])
})

test('the test of a webhook has no place', async () => {
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: 'https://127.0.0.1:1/' })
  expect((await admin.post(`/webhooks/${webhook.id}/test`)).status).toBe(200)
  expect(await ordered(scope)).toEqual([])
})

test('events stand in the order of the commits, those of one transaction together', async () => {
  const { scope } = await createOrganization()
  const [first, second, third, slow, last] = Array.from({ length: 5 }, newId)
  const tell = (scope: Scope, id?: string) => publish(scope, [{ type: 'ticket.updated', data: { id } }])
  await inTransaction(scope, async (inner) => {
    await tell(inner, slow)
    await emit(scope, { id: first })
    await inTransaction(scope, async (other) => {
      await tell(other, second)
      await emit(scope, { id: newId() }, 'contact.deleted')
      await tell(other, third)
    })
    await tell(inner, last)
  })
  expect(await names(scope)).toEqual([first!, expect.any(String), second!, third!, slow!, last!])
})

test('commits at the same moment keep their events apart, and each organization counts for itself', async () => {
  const [one, other] = [await createOrganization(), await createOrganization()]
  const write = ({ scope }: typeof one, id: string) =>
    inTransaction(scope, async (inner) => {
      for (let n = 0; n < 3; n++) await publish(inner, [{ type: 'ticket.updated', data: { id } }])
    })
  const ids = Array.from({ length: 40 }, newId)
  await Promise.all(ids.flatMap((id) => [write(one, id), write(other, id)]))
  for (const { scope } of [one, other]) {
    const found = await ordered(scope)
    expect(found.map(({ n }) => n)).toEqual(ids.flatMap(() => [0, 1, 2]))
    for (let n = 0; n < found.length; n += 3) {
      expect(new Set(found.slice(n, n + 3).map(({ resource_id }) => resource_id)).size).toBe(1)
    }
    expect(new Set(found.map(({ resource_id }) => resource_id))).toEqual(new Set(ids))
  }
})

test('an event of a process of the release before gets its place, too, and the ids of its body', async () => {
  const { scope } = await createOrganization()
  const { sql, organization_id } = scope
  const [resource_id, ticket_id] = [newId(), newId()]
  const data = { id: resource_id, ticket: { id: ticket_id } }
  const body = JSON.stringify({ event: 'message.created', timestamp: '2026-01-02T03:04:05Z', organization_id, data })
  await sql`
    insert into events (organization_id, id, type, body)
    values (${organization_id}, ${newId()}, 'message.created', ${body})`
  expect(await ordered(scope)).toEqual([{ type: 'message.created', resource_id, ticket_id, n: 0 }])
  const [place] = await sql`select happened_at from event_places where organization_id = ${organization_id}`
  expect(place!.happened_at).toBe('2026-01-02T03:04:05Z')
})
