/** Deliveries: the request that receivers get, and the status that is recorded. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { register } from 'prom-client'
import { config } from '../../../src/base/config'
import { connection } from '../../../src/base/db/pool'
import { inTransaction } from '../../../src/base/scope'
import { publish } from '../../../src/delivery/webhooks/publish'
import { sweepDeliveries } from '../../../src/delivery/webhooks/upkeep'
import { createOrganization, startApi, stopApi } from '../../support/api'
import {
  createWebhook,
  deliverDue,
  deliveriesOf,
  emit,
  makeDue,
  queueOf,
  startTrustedReceiver,
  statusesOf,
} from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(stopApi)

/** The figure that the alert of failed webhooks looks at. */
async function exhaustedDeliveries(): Promise<number> {
  const figure = await register.getSingleMetric('deskwire_webhook_deliveries_exhausted_total')!.get()
  return figure.values[0]!.value
}

test('a delivery is a signed POST of the event', async () => {
  using receiver = await startTrustedReceiver()
  const { id, admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' })
  const happened_at = new Date('2026-03-04T05:06:07.890Z')
  await inTransaction(scope, (scope) =>
    publish(scope, [{ type: 'ticket.created', data: { code: 'ACME-1', subject: 'Grüße 🎉' } }], { happened_at }),
  )
  await deliverDue()

  const [request] = receiver.requests
  expect(request!.method).toBe('POST')
  expect(request!.json()).toEqual({
    event: 'ticket.created',
    timestamp: '2026-03-04T05:06:07Z',
    organization_id: id,
    data: { code: 'ACME-1', subject: 'Grüße 🎉' },
  })
  const [delivery] = await deliveriesOf(admin, webhook.id)
  expect(request!.headers.get('content-type')).toBe('application/json')
  expect(request!.headers.get('x-service-event')).toBe('ticket.created')
  expect(request!.headers.get('x-service-event-id')).toBe(delivery.event_id)
  expect(request!.headers.get('x-service-delivery')).toBe(delivery.id)
  expect(request!.headers.get('x-service-timestamp')).toBe('2026-03-04T05:06:07Z')
  expect(receiver.verify(request!, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')).toBe(true)
  expect(delivery).toEqual({
    id: delivery.id,
    event_id: expect.any(String),
    event: 'ticket.created',
    status: 'success',
    response_code: 200,
    response_time_ms: expect.any(Number),
    attempts: 1,
    next_attempt_at: null,
    error: null,
    created_at: expect.any(String),
  })
  expect(await queueOf(scope, webhook.id)).toEqual([])
})

test('without a secret there is no signature', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  await deliverDue()
  expect(receiver.requests).toHaveLength(1)
  expect(receiver.requests[0]!.headers.get('x-service-signature')).toBeNull()
  expect(receiver.requests[0]!.headers.get('webhook-signature')).toBeNull()
})

test('only subscribed events of the own organization are sent, and only what happens after the creation', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const other = await createOrganization()
  await createWebhook(other.admin, { events: ['ticket.deleted'] })
  await emit(scope, { id: 'too early' })
  await createWebhook(admin, { url: receiver.url, events: ['ticket.created', 'contact.created'] })
  await emit(scope, { id: 'not subscribed' }, 'ticket.deleted')
  await emit(other.scope, { id: 'of another organization' })
  await emit(scope, { id: 'wanted' })
  await emit(scope, { id: 'wanted, too' }, 'contact.created')
  await deliverDue()
  expect(receiver.requests.map((request) => request.json().data.id).sort()).toEqual(['wanted', 'wanted, too'])
})

test('a rolled back command delivers nothing', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await inTransaction(scope, async (scope) => {
    await publish(scope, [{ type: 'ticket.created', data: {} }])
    throw new Error('roll back')
  }).catch(() => {})
  await deliverDue()
  expect(receiver.requests).toHaveLength(0)
  expect(await deliveriesOf(admin, webhook.id)).toEqual([])
})

test('a failed attempt is repeated after 1 minute, 5 minutes, 30 minutes and 2 hours, same id and bytes', async () => {
  using receiver = await startTrustedReceiver(500)
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  for (const [attempts, delay_s] of [60, 300, 1800, 7200].entries()) {
    await deliverDue()
    const [delivery] = await deliveriesOf(admin, webhook.id)
    const [queued] = await queueOf(scope, webhook.id)
    expect(delivery).toMatchObject({ status: 'retrying', attempts: attempts + 1, response_code: 500, error: 'status' })
    expect(queued!.attempts).toBe(attempts + 1)
    expect(queued!.due_in_s).toBeGreaterThan(delay_s - 10)
    expect(queued!.due_in_s).toBeLessThanOrEqual(delay_s * 1.1)
    const due_at = Date.now() + queued!.due_in_s! * 1000
    expect(Math.abs(Date.parse(delivery.next_attempt_at) - due_at)).toBeLessThan(5000)
    await makeDue(scope)
  }
  await deliverDue()
  expect((await deliveriesOf(admin, webhook.id))[0]).toMatchObject({
    status: 'failed',
    attempts: 5,
    next_attempt_at: null,
  })
  expect(await queueOf(scope, webhook.id)).toEqual([])
  expect(receiver.requests).toHaveLength(5)
  expect(new Set(receiver.requests.map((request) => request.headers.get('x-service-delivery'))).size).toBe(1)
  expect(new Set(receiver.requests.map((request) => Buffer.from(request.body).toString('hex'))).size).toBe(1)
})

test('the fifth failure of a delivery makes the webhook failed; its deliveries wait until it is enabled again', async () => {
  using receiver = await startTrustedReceiver(500)
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope, { id: 'first' })
  for (let attempt = 1; attempt <= 4; attempt++) {
    await deliverDue()
    await makeDue(scope)
  }
  await emit(scope, { id: 'second' })
  await scope.sql`update outbox set run_at = now() + interval '1 hour' where lane_id = ${webhook.id} and attempts = 0`
  const before = await exhaustedDeliveries()
  await deliverDue()
  expect(await exhaustedDeliveries()).toBe(before + 1)
  await emit(scope, { id: 'third' })
  receiver.answer = 200
  await deliverDue()

  expect((await admin.get(`/webhooks/${webhook.id}`)).body.data).toMatchObject({
    active: true,
    status: 'failed',
    failure_count: 1,
  })
  expect((await queueOf(scope, webhook.id)).map((row) => row.due_in_s)).toEqual([null, null])
  expect(await statusesOf(admin, webhook.id)).toEqual(['failed', 'pending', 'pending'])

  const enabled = await admin.patch(`/webhooks/${webhook.id}`, { active: true })
  expect(enabled.body.data).toMatchObject({ active: true, status: 'active', failure_count: 1 })
  await deliverDue()
  expect(await statusesOf(admin, webhook.id)).toEqual(['failed', 'success', 'success'])
  expect((await admin.get(`/webhooks/${webhook.id}`)).body.data.failure_count).toBe(0)
  expect(receiver.requests).toHaveLength(7)
})

test('ten deliveries that fail for the last time at once fail the webhook once, and each is counted', async () => {
  using receiver = await startTrustedReceiver(503)
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  for (let n = 1; n <= 10; n++) await emit(scope, { n })
  await scope.sql`update outbox set attempts = 4 where lane_id = ${webhook.id}`
  await deliverDue()
  const { status, failure_count } = (await admin.get(`/webhooks/${webhook.id}`)).body.data
  const failed = (await statusesOf(admin, webhook.id)).filter((delivery) => delivery === 'failed')
  expect(status).toBe('failed')
  expect(failure_count).toBe(failed.length)
  expect(failed.length).toBeGreaterThan(0)
  expect(await queueOf(scope, webhook.id)).toHaveLength(10 - failed.length)
  expect(receiver.requests).toHaveLength(failed.length)
})

test('switching a webhook off cancels what is queued and queues nothing more', async () => {
  using receiver = await startTrustedReceiver(500)
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  await deliverDue()
  await emit(scope)
  expect((await admin.patch(`/webhooks/${webhook.id}`, { active: false })).body.data.active).toBe(false)
  await emit(scope)
  await deliverDue()

  expect(await statusesOf(admin, webhook.id)).toEqual(['cancelled', 'cancelled'])
  expect((await deliveriesOf(admin, webhook.id))[0].next_attempt_at).toBeNull()
  expect(await queueOf(scope, webhook.id)).toEqual([])
  expect(receiver.requests).toHaveLength(1)

  await admin.patch(`/webhooks/${webhook.id}`, { active: true })
  await deliverDue()
  expect(receiver.requests).toHaveLength(1)
})

test('a webhook that is deleted between queueing and sending gets nothing', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  await scope.sql`update webhooks set deleted_at = now() where id = ${webhook.id}`
  await deliverDue()
  expect(receiver.requests).toHaveLength(0)
  const [delivery] = await scope.sql`select status from deliveries where webhook_id = ${webhook.id}`
  expect(delivery!.status).toBe('cancelled')
  expect(await queueOf(scope, webhook.id)).toEqual([])
})

test('an attempt that is under way when its webhook is switched off is the last one', async () => {
  const { admin, scope } = await createOrganization()
  let webhook_id = ''
  using receiver = await startTrustedReceiver(async () => {
    await admin.patch(`/webhooks/${webhook_id}`, { active: false })
    return 500
  })
  webhook_id = (await createWebhook(admin, { url: receiver.url })).id
  await emit(scope)
  await deliverDue()
  const cancelled = { status: 'cancelled', attempts: 1, response_code: 500, next_attempt_at: null }
  expect((await deliveriesOf(admin, webhook_id))[0]).toMatchObject(cancelled)
  expect(await queueOf(scope, webhook_id)).toEqual([])
})

test('what is queued although its webhook is off is cancelled by the sweep', async () => {
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin)
  await emit(scope)
  await scope.sql`update webhooks set active = false where id = ${webhook.id}`
  await sweepDeliveries(connection(), config.DELIVERY_HOLD_DAYS)
  expect((await deliveriesOf(admin, webhook.id))[0]).toMatchObject({ status: 'cancelled', next_attempt_at: null })
  expect(await queueOf(scope, webhook.id)).toEqual([])
})

test('a changed URL and secret hold from the next attempt on', async () => {
  using old = await startTrustedReceiver(500)
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: old.url, secret: 'the old secret' })
  await emit(scope)
  await deliverDue()
  await admin.patch(`/webhooks/${webhook.id}`, { url: receiver.url, secret: 'the new secret' })
  await makeDue(scope)
  await deliverDue()
  expect(old.requests).toHaveLength(1)
  expect(receiver.verify(receiver.requests[0]!, 'the new secret')).toBe(true)
})

test('each attempt is kept with its time, answer and error', async () => {
  using receiver = await startTrustedReceiver([
    { status: 500, body: 'x'.repeat(5000) },
    { status: 302, headers: { location: 'https://elsewhere.example/' } },
    { status: 202, body: 'thank\u0000you' },
  ])
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope, { id: 'a ticket' })
  for (let attempt = 1; attempt <= 3; attempt++) {
    await deliverDue()
    await makeDue(scope)
  }
  const [{ id }] = await deliveriesOf(admin, webhook.id)
  const { body } = await admin.get(`/webhooks/${webhook.id}/deliveries/${id}`)
  expect(body.data).toMatchObject({
    id,
    status: 'success',
    attempts: 3,
    response_code: 202,
    error: null,
    request_body: new TextDecoder().decode(receiver.requests[0]!.body),
    response_head: 'thank\uFFFDyou',
  })
  expect(body.data.attempt_log).toMatchObject([
    { attempt: 1, response_code: 500, error: 'status', response_head: 'x'.repeat(4096) },
    { attempt: 2, response_code: 302, error: 'status' },
    { attempt: 3, response_code: 202, error: null, response_head: 'thank\uFFFDyou' },
  ])
})

test('a receiver that cannot be reached has no response code', async () => {
  const receiver = await startTrustedReceiver()
  const { url } = receiver
  receiver[Symbol.dispose]()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url })
  await emit(scope)
  await deliverDue()
  expect((await deliveriesOf(admin, webhook.id))[0]).toMatchObject({
    status: 'retrying',
    response_code: null,
    error: 'connect',
  })
})

test('a secret that cannot be decrypted is our own fault: it is tried again and never counted', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url, secret: 'secret' })
  await scope.sql`update webhooks set secret = 'AAAA' where id = ${webhook.id}`
  await emit(scope)
  for (let n = 1; n <= 12; n++) {
    await deliverDue()
    await makeDue(scope)
  }
  const [queued] = await queueOf(scope, webhook.id)
  expect(queued).toMatchObject({ attempts: 0, claims: 0 })
  expect((await deliveriesOf(admin, webhook.id))[0]).toMatchObject({ status: 'pending', attempts: 0 })
  expect((await admin.get(`/webhooks/${webhook.id}`)).body.data.status).toBe('active')
  expect(receiver.requests).toHaveLength(0)
})

test('a delivery that was leased again and again without an outcome fails with an internal error', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  await scope.sql`update outbox set claims = 25 where lane_id = ${webhook.id}`
  await deliverDue()
  expect((await deliveriesOf(admin, webhook.id))[0]).toMatchObject({ status: 'failed', error: 'internal' })
  expect(await queueOf(scope, webhook.id)).toEqual([])
  expect(receiver.requests).toHaveLength(0)
})

test('deliveries wait 7 days for a failed webhook, then they are cancelled', async () => {
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin)
  await scope.sql`update webhooks set status = 'failed' where id = ${webhook.id}`
  await emit(scope)
  await emit(scope)
  const [first, second] = await queueOf(scope, webhook.id)
  const old_id = Bun.randomUUIDv7('hex', Date.now() - 8 * 86_400_000)
  await scope.sql`
    update outbox set id = ${old_id}, queued_at = now() - interval '8 days' where id = ${first!.id}`
  await scope.sql`update deliveries set id = ${old_id} where id = ${first!.id}`
  await sweepDeliveries(connection(), config.DELIVERY_HOLD_DAYS)
  const deliveries = await deliveriesOf(admin, webhook.id)
  expect(deliveries).toMatchObject([
    { id: old_id, status: 'cancelled' },
    { id: second!.id, status: 'pending' },
  ])
  expect((await queueOf(scope, webhook.id)).map((row) => row.id)).toEqual([second!.id])
})

test('how long deliveries wait for a failed webhook is a setting', async () => {
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin)
  await scope.sql`update webhooks set status = 'failed' where id = ${webhook.id}`
  await emit(scope)
  const [row] = await queueOf(scope, webhook.id)
  const id = Bun.randomUUIDv7('hex', Date.now() - 8.5 * 86_400_000)
  await scope.sql`update outbox set id = ${id}, queued_at = now() - interval '8.5 days' where id = ${row!.id}`
  await scope.sql`update deliveries set id = ${id} where id = ${row!.id}`
  await sweepDeliveries(connection(), 9)
  expect((await deliveriesOf(admin, webhook.id))[0]).toMatchObject({ id, status: 'pending' })
  await sweepDeliveries(connection(), 8)
  expect((await deliveriesOf(admin, webhook.id))[0]).toMatchObject({ id, status: 'cancelled' })
})

test('what waits although its webhook is active is set free by the sweep', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  await scope.sql`update outbox set run_at = 'infinity' where lane_id = ${webhook.id}`
  await deliverDue()
  expect(receiver.requests).toHaveLength(0)
  await sweepDeliveries(connection(), config.DELIVERY_HOLD_DAYS)
  await deliverDue()
  expect(receiver.requests).toHaveLength(1)
})
