/** Replays of webhooks, and what the admins hear of one that fails. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { HANDLERS } from '../../../src/operate/start/outbox-handlers'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createContact, createTicket, insertMailbox } from '../../support/factories'
import type { Receiver } from '../../support/receiver'
import { withSettings } from '../../support/settings'
import {
  createWebhook,
  deliverDue,
  deliveriesOf,
  emit,
  makeDue,
  startTrustedReceiver,
  statusesOf,
} from '../../support/webhooks'

beforeAll(async () => {
  // The handlers name who writes to the admins.
  expect(HANDLERS.webhook).toBeDefined()
  await startApi()
})
afterAll(stopApi)

let own: Organization
let receiver: Receiver
beforeEach(async () => {
  own = await createOrganization()
  receiver = await startTrustedReceiver()
})

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString()
const replay = (id: string, body: Record<string, unknown> = {}, client = own.admin) =>
  client.post(`/webhooks/${id}/replay`, { since: ago(60), ...body })
const bodies = () => receiver.requests.map(({ body }) => Buffer.from(body).toString())

/** A webhook of which two deliveries have failed for good, and one was cancelled. */
async function failed() {
  const webhook = await createWebhook(own.admin, { url: receiver.url })
  await emit(own.scope)
  await emit(own.scope)
  await emit(own.scope)
  const [first, second] = await deliveriesOf(own.admin, webhook.id)
  await own.scope.sql`
    update deliveries set status = 'failed', attempts = 5 where organization_id = ${own.id}
      and id = any(${[first.id, second.id]}::uuid[])`
  await own.scope.sql`
    update deliveries set status = 'cancelled' where organization_id = ${own.id} and status = 'pending'`
  await own.scope.sql`delete from outbox where organization_id = ${own.id}`
  return webhook
}

test('by default what failed or was cancelled goes once more, with the same ids and bytes, and is audited', async () => {
  using _ = receiver
  const webhook = await failed()
  const before = await deliveriesOf(own.admin, webhook.id)
  const answer = await replay(webhook.id)
  expect([answer.status, answer.body]).toEqual([200, { data: { queued: 3 } }])
  await deliverDue()
  const ids = receiver.requests.map(({ headers }) => headers.get('x-service-delivery'))
  expect(ids.toSorted()).toEqual(before.map(({ id }: { id: string }) => id).toSorted())
  expect(await statusesOf(own.admin, webhook.id)).toEqual(Array(3).fill('success'))
  expect((await replay(webhook.id)).body.data).toEqual({ queued: 0 })
  const { data } = (await own.admin.get('/audit-log?action=webhook.replayed')).body
  expect(data[1]).toMatchObject({ resource: { type: 'webhook', id: webhook.id }, changes: { queued: { to: 3 } } })
})

test('all events of a time come as new deliveries, in their order, those of before the webhook too', async () => {
  using _ = receiver
  const old = await createTicket(own.agent)
  const webhook = await createWebhook(own.admin, { url: receiver.url, ordered: true })
  await own.admin.post(`/webhooks/${webhook.id}/test`)
  const fresh = await createTicket(own.agent)
  await deliverDue()
  const sent = receiver.requests.length
  expect((await replay(webhook.id, { only: 'all' })).body.data).toEqual({ queued: 2 })
  await deliverDue()
  const again = receiver.requests.slice(sent)
  expect(again.map((request) => request.json().data.id)).toEqual([old.id, fresh.id])
  expect(new Set(receiver.requests.map(({ headers }) => headers.get('x-service-delivery'))).size).toBe(sent + 2)
  expect(bodies().at(-1)).toBe(bodies()[sent - 1]!)
})

test('all is what the events and the filter choose, as it was at the change', async () => {
  using _ = receiver
  const { agent } = own
  const high = await createTicket(agent, { priority: 'high' })
  await createTicket(agent, { priority: 'low' })
  await agent.patch(`/tickets/${high.id}`, { priority: 'low' })
  await agent.patch(`/tickets/${high.id}`, { subject: 'No more' })
  const filter = { priority: ['high'] }
  const events = ['ticket.created', 'ticket.updated']
  const webhook = await createWebhook(own.admin, { url: receiver.url, events, filter })
  expect((await replay(webhook.id, { only: 'all' })).body.data).toEqual({ queued: 2 })
  await deliverDue()
  expect(receiver.requests.map((request) => [request.json().event, request.json().data.id])).toEqual([
    ['ticket.created', high.id],
    ['ticket.updated', high.id],
  ])
})

test('what waits is not doubled: of two replays at once one queues', async () => {
  using _ = receiver
  const webhook = await createWebhook(own.admin, { url: receiver.url })
  await emit(own.scope)
  expect((await replay(webhook.id, { only: 'all' })).body.data).toEqual({ queued: 0 })
  await deliverDue()
  const answers = await Promise.all([1, 2, 3].map(() => replay(webhook.id, { only: 'all' })))
  expect(answers.map(({ body }) => body.data.queued).toSorted()).toEqual([0, 0, 1])
  await deliverDue()
  expect(receiver.requests).toHaveLength(2)
})

test('since counts, until does not', async () => {
  using _ = receiver
  const webhook = await createWebhook(own.admin, { url: receiver.url })
  await emit(own.scope)
  await deliverDue()
  const { timestamp } = receiver.requests[0]!.json()
  const after = new Date(Date.parse(timestamp) + 1000).toISOString()
  const queued = async (body: object) => (await replay(webhook.id, { only: 'all', ...body })).body.data.queued
  expect(await queued({ since: after })).toBe(0)
  expect(await queued({ until: timestamp })).toBe(0)
  expect(await queued({ since: timestamp, until: after })).toBe(1)
})

test('goes back as far as the feed, whatever becomes of deliveries', async () => {
  using _ = receiver
  const webhook = await createWebhook(own.admin, { url: receiver.url })
  using __ = withSettings({ EVENT_RETENTION_DAYS: 60, DELIVERY_RETENTION_DAYS: 1 })
  await emit(own.scope)
  await own.scope.sql`
    update event_places set happened_at = now() - interval '45 days' where organization_id = ${own.id}`
  await own.scope.sql`delete from outbox where organization_id = ${own.id}`
  const answer = await replay(webhook.id, { only: 'all', since: ago(50 * 86_400) })
  expect([answer.status, answer.body]).toEqual([200, { data: { queued: 1 } }])
  expect((await replay(webhook.id, { since: ago(61 * 86_400) })).status).toBe(422)
})

test.each([
  ['without since', {}, '/since'],
  ['a day without time', { since: '2026-01-31' }, '/since'],
  ['a since that is not kept any more', { since: ago(31 * 86_400) }, '/since'],
  ['another word', { since: ago(1), only: 'some' }, '/only'],
  ['a wrong until', { since: ago(1), until: 'now' }, '/until'],
])('%s is refused', async (_, body, path) => {
  using __ = receiver
  const webhook = await failed()
  const answer = await own.admin.post(`/webhooks/${webhook.id}/replay`, body)
  expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  expect(answer.body.error.details.errors[0].path).toBe(path)
  expect(await statusesOf(own.admin, webhook.id)).toEqual(['failed', 'failed', 'cancelled'])
})

test('more than 10,000 are refused, and nothing is queued', async () => {
  using _ = receiver
  const webhook = await createWebhook(own.admin, { url: receiver.url })
  const { sql } = own.scope
  const body = JSON.stringify({ event: 'ticket.created', timestamp: ago(1), data: {} })
  await sql`
    insert into events (organization_id, id, type, body)
    select ${own.id}, gen_random_uuid(), 'ticket.created', ${body} from generate_series(1, 10001)`
  const answer = await replay(webhook.id, { only: 'all' })
  expect([answer.status, answer.body.error.details.errors[0].path]).toEqual([422, '/since'])
  expect(await deliveriesOf(own.admin, webhook.id)).toEqual([])
})

test('a webhook that is failed, inactive, or of others is not replayed, nor is one by an agent or a key that may not read', async () => {
  using _ = receiver
  const webhook = await createWebhook(own.admin, { url: receiver.url, events: ['contact.created'] })
  await createContact(own.agent)
  await own.admin.patch(`/webhooks/${webhook.id}`, { active: false })
  expect((await replay(webhook.id)).body.error.code).toBe('WEBHOOK_DISABLED')
  await own.admin.patch(`/webhooks/${webhook.id}`, { active: true, events: ['ticket.created'] })
  const other = await createOrganization()
  expect((await replay(webhook.id, {}, other.admin)).body.error.code).toBe('WEBHOOK_NOT_FOUND')
  expect((await replay(webhook.id, {}, own.agent)).status).toBe(403)
  const few = await createProgram(own.admin, ['webhooks:write', 'tickets:read'])
  const refused = await replay(webhook.id, {}, few)
  expect([refused.status, refused.body.error.details]).toEqual([403, { required: 'contacts:read' }])
  const enough = await createProgram(own.admin, ['webhooks:write', 'tickets:read', 'contacts:read'])
  expect((await replay(webhook.id, {}, enough)).body.data).toEqual({ queued: 1 })
  await own.scope.sql`update webhooks set status = 'failed' where id = ${webhook.id}`
  expect((await replay(webhook.id)).body.error.code).toBe('WEBHOOK_DISABLED')
})

test('a webhook that fails is in the audit log, and each active admin gets a letter, once a day', async () => {
  using _ = receiver
  const { admin, scope } = own
  const { sql } = scope
  await insertMailbox(scope)
  const webhook = await createWebhook(admin, { url: `${receiver.url}/secret-path` })
  receiver.answer = 500
  const fail = async () => {
    await emit(scope, { id: newId(), subject: 'private' })
    for (let time = 0; time < 5; time++) {
      await deliverDue()
      await makeDue(scope)
    }
    await admin.patch(`/webhooks/${webhook.id}`, { active: true })
  }
  const recipients = async () =>
    (await sql<{ recipient: string }[]>`select recipient from letters where organization_id = ${own.id}`).map(
      ({ recipient }) => recipient,
    )
  const { email } = (await admin.get('/auth/me')).body
  await fail()
  expect(await recipients()).toEqual([email ?? (await admin.get('/auth/me')).body.user.email])
  await fail()
  expect(await recipients()).toHaveLength(1)
  await sql`update webhooks set failure_told_at = now() - interval '25 hours' where id = ${webhook.id}`
  await fail()
  expect(await recipients()).toHaveLength(2)
  const { data } = (await admin.get('/audit-log?action=webhook.failed')).body
  expect(data).toHaveLength(3)
  expect(data[0]).toMatchObject({ actor: { type: 'system' }, resource: { type: 'webhook', id: webhook.id } })
})
