/** GET /events: every event of an organization, in one order. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { jobConnection } from '../../../src/base/db/pool'
import { inTransaction, type Scope } from '../../../src/base/scope'
import { removeOldEvents } from '../../../src/delivery/events/event-retention'
import { publish } from '../../../src/delivery/webhooks/publish'
import { purgeDeliveries } from '../../../src/delivery/webhooks/upkeep'
import { type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createContact, createTicket } from '../../support/factories'
import { createWebhook, emit } from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(stopApi)

type Shown = { id: string; event: string; data: { id: string; n?: number; text?: string; ticket?: { id: string } } }
type Meta = { per_page: number; next_cursor: string; has_more: boolean; complete_until: string }

async function read(client: Client, query = '') {
  const answer = await client.get(`/events?${query}`)
  expect(answer.status).toBe(200)
  return answer.body as { data: Shown[]; meta: Meta }
}

const aboutOf = ({ data }: { data: Shown[] }) => data.map((one) => one.data.id)

/** So many events, each of a transaction. */
async function tell(scope: Scope, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, newId)
  for (const id of ids) await emit(scope, { id }, 'ticket.updated')
  return ids
}

test('an item is the body that webhooks get, the same bytes, with the id of the event in front', async () => {
  const { admin, scope } = await createOrganization()
  await createWebhook(admin, { events: ['ticket.created'] })
  await createTicket(admin, { subject: 'Grüße 🎉', description: 'It smokes' })
  const text = (await admin.get('/events?per_page=100')).text
  const rows = await scope.sql<{ id: string; body: string; type: string }[]>`
    select id, body, type from events where organization_id = ${scope.organization_id} order by id`
  expect(rows.map(({ type }) => type)).toEqual(['contact.created', 'ticket.created', 'message.created'])
  for (const { id, body } of rows) expect(text).toContain(`{"id":"${id}",${body.slice(1)}`)
})

test('a walk by cursors shows each event once, in order, and goes on with what comes later', async () => {
  const { admin, scope } = await createOrganization()
  const ids = await tell(scope, 7)
  let page = await read(admin, 'per_page=3')
  const seen = aboutOf(page)
  expect([page.meta.has_more, page.meta.per_page]).toEqual([true, 3])
  while (page.meta.has_more) {
    page = await read(admin, `per_page=2&cursor=${page.meta.next_cursor}`)
    seen.push(...aboutOf(page))
  }
  expect(seen).toEqual(ids)
  const later = await tell(scope, 2)
  page = await read(admin, `cursor=${page.meta.next_cursor}`)
  expect(aboutOf(page)).toEqual(later)
  const end = await read(admin, `cursor=${page.meta.next_cursor}`)
  expect([end.data, end.meta.has_more]).toEqual([[], false])
  expect(aboutOf(await read(admin, `cursor=${end.meta.next_cursor}`))).toEqual([])
})

test('what is not committed is not there, is shown after what committed before it, and is missed by nobody', async () => {
  const { admin, scope } = await createOrganization()
  const [slow, quick] = [newId(), newId()]
  let cursor = ''
  await inTransaction(scope, async (inner) => {
    await publish(inner, [{ type: 'ticket.updated', data: { id: slow } }])
    await emit(scope, { id: quick })
    const page = await read(admin)
    expect(aboutOf(page)).toEqual([quick])
    expect(Date.parse(page.meta.complete_until)).toBeLessThanOrEqual(Date.now() - 4000)
    cursor = page.meta.next_cursor
  })
  expect(aboutOf(await read(admin, `cursor=${cursor}`))).toEqual([slow])
})

test('complete_until is not after the begin of a transaction that is open', async () => {
  const { admin, scope } = await createOrganization()
  await inTransaction(scope, async ({ sql }) => {
    const [begin] = await sql<[{ ms: number }]>`
      select pg_current_xact_id()::text as id, (extract(epoch from now()) * 1000)::float8 as ms`
    await sql`select pg_sleep(6.5)`
    const { meta } = await read(admin)
    expect(Date.parse(meta.complete_until)).toBeLessThanOrEqual(begin.ms)
  })
})

test('start is the oldest, now, or a time', async () => {
  const { admin, scope } = await createOrganization()
  const [old] = await tell(scope, 1)
  await Bun.sleep(20)
  const time = new Date().toISOString()
  await Bun.sleep(20)
  const later = await tell(scope, 2)
  expect(aboutOf(await read(admin, 'start=oldest'))).toEqual([old!, ...later])
  const now = await read(admin, 'start=now')
  expect(now.data).toEqual([])
  expect(aboutOf(await read(admin, `start=${time}`))).toEqual(later)
  expect(aboutOf(await read(admin, 'start=2099-01-01T00:00:00Z'))).toEqual([])
  const week = new Date(Date.now() - 7 * 86_400_000).toISOString()
  expect(aboutOf(await read(admin, `start=${week}`))).toEqual([old!, ...later])
  const last = await tell(scope, 1)
  expect(aboutOf(await read(admin, `cursor=${now.meta.next_cursor}`))).toEqual(last)
})

test.each([
  ['start=yesterday', 'VALIDATION_ERROR', '/query/start'],
  ['start=2026-01-01', 'VALIDATION_ERROR', '/query/start'],
  ['types=ticket.created,ticket.exploded', 'INVALID_EVENTS', '/query/types'],
  ['types=test.ping', 'INVALID_EVENTS', '/query/types'],
  ['resource_ids=', 'VALIDATION_ERROR', '/query/resource_ids'],
  [`resource_ids=${Array.from({ length: 51 }, newId)}`, 'VALIDATION_ERROR', '/query/resource_ids'],
  ['cursor=abc', 'VALIDATION_ERROR', '/query/cursor'],
])('%p is %s', async (query, code, path) => {
  const { admin } = await createOrganization()
  const answer = await admin.get(`/events?${query}`)
  expectError(answer, 422, code as 'VALIDATION_ERROR')
  expect(answer.body.error.details.errors[0].path).toBe(path)
})

test.each(['/events', '/events/stream'])('start and cursor together are refused at %s', async (path) => {
  const { admin } = await createOrganization()
  const { next_cursor } = (await read(admin, 'start=now')).meta
  for (const start of ['now', 'oldest', '2026-01-01T00:00:00Z']) {
    const answer = await admin.get(`${path}?start=${start}&cursor=${next_cursor}`)
    expectError(answer, 422, 'VALIDATION_ERROR')
    const fault = { path: '/query/start', message: 'must stand without cursor' }
    expect(answer.body.error.details.errors).toEqual([fault])
  }
})

test('filters leave out the rest, and the cursor passes it', async () => {
  const { admin, scope } = await createOrganization()
  const [one, other] = [newId(), newId()]
  await emit(scope, { id: one }, 'ticket.created')
  await emit(scope, { id: newId(), ticket: { id: one } }, 'message.created')
  await emit(scope, { id: other }, 'ticket.created')
  await tell(scope, 30)
  const types = await read(admin, 'types=message.created, ticket.created')
  expect(types.data.map(({ event }) => event)).toEqual(['ticket.created', 'message.created', 'ticket.created'])
  const about = await read(admin, `resource_ids=${one},${other}&per_page=2`)
  expect([about.data.length, about.meta.has_more]).toEqual([2, true])
  const rest = await read(admin, `resource_ids=${other},${one}&per_page=2&cursor=${about.meta.next_cursor}`)
  expect([aboutOf(rest), rest.meta.has_more]).toEqual([[other], false])
  expect((await read(admin, `resource_ids=${newId()}`)).data).toEqual([])
})

test('a cursor is bound to organization and filters, not to the caller', async () => {
  const [own, other] = [await createOrganization(), await createOrganization()]
  const ids = await tell(own.scope, 3)
  const { next_cursor } = (await read(own.admin, 'per_page=1')).meta
  expect(aboutOf(await read(own.agent, `cursor=${next_cursor}`))).toEqual(ids.slice(1))
  const program = await createProgram(own.admin, ['tickets:read'])
  expect(aboutOf(await read(program, `cursor=${next_cursor}`))).toEqual(ids.slice(1))
  for (const [client, query] of [
    [other.admin, ''],
    [own.admin, '&types=ticket.updated'],
    [own.admin, `&resource_ids=${ids[0]}`],
  ] as const) {
    expectError(await client.get(`/events?cursor=${next_cursor}${query}`), 422, 'VALIDATION_ERROR')
  }
  expect((await read(other.admin)).data).toEqual([])
})

test('a key sees what it may read, and is refused what it names beyond that', async () => {
  const { admin } = await createOrganization()
  const contact = await createContact(admin)
  await createTicket(admin, { contact_id: contact.id, description: 'It smokes' })
  const events = async (...permissions: string[]) => {
    const client = await createProgram(admin, permissions)
    return { client, seen: (await client.get('/events')).body.data?.map(({ event }: { event: string }) => event) }
  }
  expect((await events('tickets:read')).seen).toEqual(['ticket.created'])
  expect((await events('messages:read', 'contacts:write')).seen).toEqual(['contact.created', 'message.created'])
  expect((await events('*:read')).seen).toEqual(['contact.created', 'ticket.created', 'message.created'])
  const { client } = await events('tickets:read')
  const refused = await client.get('/events?types=ticket.created,message.created')
  expectError(refused, 403, 'FORBIDDEN')
  expect(refused.body.error.details).toEqual({ required: 'messages:read' })
  const none = await createProgram(admin, ['webhooks:write', 'audit_log:read'])
  expectError(await none.get('/events'), 403, 'FORBIDDEN')
})

test('what is older than the retention goes with its cursors; deliveries keep what they need', async () => {
  const { admin, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const first = (await read(admin)).meta.next_cursor
  await tell(scope, 3)
  const { next_cursor } = (await read(admin, 'per_page=2')).meta
  const behind = (await read(admin)).meta.next_cursor
  await createWebhook(admin, { events: ['ticket.updated'] })
  const [wanted] = await tell(scope, 1)
  await sql`
    update event_places set happened_at = now() - interval '31 days' where organization_id = ${organization_id}`
  const kept = await tell(scope, 2)
  await removeOldEvents(jobConnection(), 30)
  await purgeDeliveries(jobConnection(), 30, 30)
  expect(aboutOf(await read(admin))).toEqual(kept)
  for (const query of [`cursor=${first}`, `cursor=${next_cursor}`, `cursor=${behind}`, 'start=2026-01-01T00:00:00Z']) {
    const gone = await admin.get(`/events?${query}`)
    expectError(gone, 410, 'CURSOR_EXPIRED')
    expect(gone.body.error.details).toEqual({ oldest: expect.stringMatching(/^\d{4}-.*Z$/) })
  }
  const left = await sql<
    { body: string }[]
  >`select body from events where organization_id = ${organization_id} order by id`
  expect(left.map(({ body }) => JSON.parse(body).data.id)).toEqual([wanted!, ...kept])
  // With all gone, new events still come after the old ones.
  await sql`update event_places set happened_at = now() - interval '31 days' where organization_id = ${organization_id}`
  const cursor = (await read(admin)).meta.next_cursor
  await removeOldEvents(jobConnection(), 30)
  const next = await tell(scope, 1)
  expect(aboutOf(await read(admin, `cursor=${cursor}`))).toEqual(next)
  await sql`update event_places set happened_at = now() - interval '31 days' where organization_id = ${organization_id}`
  await removeOldEvents(jobConnection(), 30)
  const gone = await admin.get(`/events?cursor=${first}`)
  expect(gone.body.error.details).toEqual({ oldest: null })
})

test('cursors of before a restore are over', async () => {
  const { admin, scope } = await createOrganization()
  await tell(scope, 1)
  const { next_cursor } = (await read(admin)).meta
  await scope.sql`insert into event_feeds (organization_id, epoch) values (${scope.organization_id}, ${newId()})`
  expectError(await admin.get(`/events?cursor=${next_cursor}`), 410, 'CURSOR_EXPIRED')
  const again = (await read(admin)).meta.next_cursor
  expect((await read(admin, `cursor=${again}`)).data).toEqual([])
})

test('an erased event stays in its place, with ids only', async () => {
  const { admin } = await createOrganization()
  const contact = await createContact(admin, { name: 'Carla Secret' })
  const ticket = await createTicket(admin, { contact_id: contact.id, description: 'Confidential' })
  const before = await read(admin)
  expect((await admin.post(`/contacts/${contact.id}/erase`)).status).toBe(200)
  const after = await read(admin)
  expect(after.data.slice(0, 3).map(({ id, event }) => [id, event])).toEqual(
    before.data.map(({ id, event }) => [id, event]),
  )
  expect(after.data[1]!.data).toEqual({ id: ticket.id })
  expect(after.data[2]!.data).toEqual({ id: before.data[2]!.data.id, ticket: { id: ticket.id } })
  expect(JSON.stringify(after)).not.toMatch(/Carla|Confidential/)
})

test('a page of large bodies comes in steps', async () => {
  const { admin, scope } = await createOrganization()
  const text = 'x'.repeat(900_000)
  await inTransaction(scope, async (inner) => {
    for (let n = 0; n < 6; n++) await publish(inner, [{ type: 'ticket.updated', data: { id: newId(), text, n } }])
  })
  const page = await read(admin)
  expect(page.data.map(({ data }) => [data.n, data.text!.length])).toEqual([0, 1, 2, 3, 4, 5].map((n) => [n, 900_000]))
  expect(page.meta).toMatchObject({ has_more: false, per_page: 20 })
})
