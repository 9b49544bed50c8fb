/** Deliveries that wait: how many are sent at once, and what a change of the webhook does to them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { inTransaction } from '../../../src/base/scope'
import { KINDS } from '../../../src/delivery/outbox/kinds'
import { updateWebhook } from '../../../src/delivery/webhooks/commands'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { untilBlocked } from '../../support/drain-processes'
import {
  createWebhook,
  deliverDue,
  deliveriesOf,
  emit,
  queueOf,
  startTrustedReceiver,
  statusesOf,
} from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(stopApi)

test('an endpoint gets several deliveries at once, but never more than its limit', async () => {
  let under_way = 0
  let most = 0
  using receiver = await startTrustedReceiver(async () => {
    most = Math.max(most, ++under_way)
    await Bun.sleep(20)
    under_way--
    return 200
  })
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  for (let n = 0; n < 150; n++) await emit(scope, { n })
  await deliverDue()
  expect(receiver.requests).toHaveLength(150)
  expect(most).toBeGreaterThan(1)
  expect(most).toBeLessThanOrEqual(KINDS.webhook.lane_slots)
  expect(await queueOf(scope, webhook.id)).toEqual([])
})

test("one endpoint's backlog does not delay another endpoint of the same organization", async () => {
  const order: string[] = []
  using receiver = await startTrustedReceiver(async ({ path }) => {
    order.push(path)
    await Bun.sleep(5)
    return 200
  })
  const { admin, scope } = await createOrganization()
  await createWebhook(admin, { url: `${receiver.url}/busy`, events: ['ticket.deleted'] })
  await createWebhook(admin, { url: `${receiver.url}/calm` })
  for (let n = 0; n < 200; n++) await emit(scope, { n }, 'ticket.deleted')
  await emit(scope)
  await deliverDue()
  expect(order).toHaveLength(201)
  expect(order.indexOf('/hook/calm')).toBeWithin(0, 50)
})

test('switching a failed webhook off cancels what waits for it, and enabling it later sends nothing of that', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await scope.sql`update webhooks set status = 'failed' where id = ${webhook.id}`
  await emit(scope)
  await emit(scope)
  await admin.patch(`/webhooks/${webhook.id}`, { active: false })
  expect(await statusesOf(admin, webhook.id)).toEqual(['cancelled', 'cancelled'])
  const enabled = await admin.patch(`/webhooks/${webhook.id}`, { active: true })
  expect(enabled.body.data).toMatchObject({ active: true, status: 'active' })
  await emit(scope)
  await deliverDue()
  expect(await statusesOf(admin, webhook.id)).toEqual(['cancelled', 'cancelled', 'success'])
  expect(receiver.requests).toHaveLength(1)
})

test('a delivery of a webhook that is switched off is not sent again until it is on, then with the same id', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  await admin.patch(`/webhooks/${webhook.id}`, { active: false })
  const [delivery] = await deliveriesOf(admin, webhook.id)
  const retry = `/webhooks/${webhook.id}/deliveries/${delivery.id}/retry`
  const refused = await admin.post(retry)
  expect([refused.status, refused.body.error.code]).toEqual([422, 'WEBHOOK_DISABLED'])
  expect((await deliveriesOf(admin, webhook.id))[0]).toEqual(delivery)
  await admin.patch(`/webhooks/${webhook.id}`, { active: true })
  const answer = await admin.post(retry)
  expect(answer.body.data).toMatchObject({ id: delivery.id, status: 'success', attempts: 1 })
  expect(receiver.requests[0]!.headers.get('x-service-delivery')).toBe(delivery.id)
})

test('a delivery that was not tried yet can be sent at once, and is not sent again', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  const [delivery] = await deliveriesOf(admin, webhook.id)
  const answer = await admin.post(`/webhooks/${webhook.id}/deliveries/${delivery.id}/retry`)
  expect(answer.body.data).toMatchObject({ id: delivery.id, status: 'success', attempts: 1, next_attempt_at: null })
  await deliverDue()
  expect(receiver.requests).toHaveLength(1)
})

test('a retry does not wait for an attempt that is just being recorded, which may wait for the webhook', async () => {
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin)
  await emit(scope)
  const [delivery] = await deliveriesOf(admin, webhook.id)
  await inTransaction(scope, async ({ sql }) => {
    await sql`
      select from outbox where organization_id = ${scope.organization_id} and id = ${delivery.id} for update`
    const answer = await admin.post(`/webhooks/${webhook.id}/deliveries/${delivery.id}/retry`)
    expect(answer).toMatchObject({ status: 200, body: { data: delivery } })
    await sql`
      select from webhooks
      where organization_id = ${scope.organization_id} and id = ${webhook.id} for no key update`
  })
})

test('a delivery that is cancelled while its retry waits for the webhook is sent again', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  const [delivery] = await deliveriesOf(admin, webhook.id)
  const { retry } = await inTransaction(scope, async (inner) => {
    await updateWebhook(inner, webhook.id, { active: false })
    const retry = admin.post(`/webhooks/${webhook.id}/deliveries/${delivery.id}/retry`)
    await untilBlocked(scope, 'for no key update')
    await updateWebhook(inner, webhook.id, { active: true })
    return { retry }
  })
  expect((await retry).body.data).toMatchObject({ id: delivery.id, status: 'success', attempts: 1 })
  expect(await queueOf(scope, webhook.id)).toEqual([])
})

test('events that a webhook is subscribed to no more are not sent from then on', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope, { id: 'before' })
  await admin.patch(`/webhooks/${webhook.id}`, { events: ['ticket.deleted'] })
  await emit(scope, { id: 'after' })
  await emit(scope, { id: 'wanted' }, 'ticket.deleted')
  await deliverDue()
  expect(receiver.requests.map((request) => request.json().data.id).toSorted()).toEqual(['before', 'wanted'])
})
