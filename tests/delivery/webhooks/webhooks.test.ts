/** The webhook endpoints. Sending is in webhook-delivery.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { decrypt } from '../../../src/base/secrets'
import { createOrganization, expectError, startApi, stopApi } from '../../support/api'
import {
  createWebhook,
  deliverDue,
  deliveriesOf,
  emit,
  makeDue,
  queueOf,
  startTrustedReceiver,
} from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(stopApi)

const WEBHOOK = { url: 'https://receiver.example/hook', events: ['ticket.created'] }

describe('creating', () => {
  test('a webhook has its fields, defaults, and no secret in sight', async () => {
    const { admin, scope } = await createOrganization()
    const events = ['ticket.created', 'test.ping', 'ticket.created']
    const answer = await admin.post('/webhooks', { url: 'https://user.example:8443/a?b=c', events, secret: ' s3cret ' })
    expect(answer.status).toBe(201)
    expect(answer.body.data).toEqual({
      id: expect.any(String),
      url: 'https://user.example:8443/a?b=c',
      events: ['ticket.created', 'test.ping'],
      active: true,
      status: 'active',
      has_secret: true,
      failure_count: 0,
      filter: null,
      ordered: false,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    expect((await admin.get(`/webhooks/${answer.body.data.id}`)).body).toEqual(answer.body)
    const [row] = await scope.sql`select secret from webhooks where id = ${answer.body.data.id}`
    expect(row!.secret).not.toContain('s3cret')
    expect(
      decrypt(row!.secret, {
        column: 'webhooks.secret',
        organization_id: scope.organization_id,
        id: answer.body.data.id,
      }),
    ).toBe(' s3cret ')
  })

  test('a webhook can be created switched off and without a secret', async () => {
    const { admin } = await createOrganization()
    const webhook = await createWebhook(admin, { active: false, secret: null })
    expect(webhook).toMatchObject({ active: false, status: 'active', has_secret: false })
  })

  test.each([
    ['http is refused', { url: 'http://receiver.example/' }, 'INVALID_URL', '/url'],
    ['credentials are refused', { url: 'https://me:pw@receiver.example/' }, 'INVALID_URL', '/url'],
    ['another scheme is refused', { url: 'file:///etc/passwd' }, 'INVALID_URL', '/url'],
    ['what is no URL is refused', { url: 'receiver' }, 'INVALID_URL', '/url'],
    ['an empty URL is refused', { url: '' }, 'INVALID_URL', '/url'],
    ['2,049 characters', { url: `https://a.example/${'x'.repeat(2031)}` }, 'VALIDATION_ERROR', '/url'],
    ['one event at least', { events: [] }, 'VALIDATION_ERROR', '/events'],
    ['unknown events', { events: ['ticket.created', 'ticket.eaten'] }, 'INVALID_EVENTS', '/events/1'],
    ['events are a list', { events: 'ticket.created' }, 'INVALID_EVENTS', '/events'],
    ['events are names', { events: [7] }, 'INVALID_EVENTS', '/events/0'],
    ['an empty secret', { secret: '' }, 'VALIDATION_ERROR', '/secret'],
    ['256 characters of secret', { secret: 'x'.repeat(256) }, 'VALIDATION_ERROR', '/secret'],
    ['whsec_ alone', { secret: 'whsec_' }, 'VALIDATION_ERROR', '/secret'],
    ['whsec_ and no base64', { secret: `whsec_${'!'.repeat(40)}` }, 'VALIDATION_ERROR', '/secret'],
    ['whsec_ and 23 bytes', { secret: `whsec_${btoa('x'.repeat(23))}` }, 'VALIDATION_ERROR', '/secret'],
    ['whsec_ and cut base64', { secret: `whsec_${btoa('x'.repeat(25)).slice(0, -1)}` }, 'VALIDATION_ERROR', '/secret'],
  ])('%s', async (_name, fields, code, path) => {
    const { admin } = await createOrganization()
    const webhook = await createWebhook(admin)
    for (const answer of [
      await admin.post('/webhooks', { ...WEBHOOK, ...fields }),
      await admin.patch(`/webhooks/${webhook.id}`, { active: false, ...fields }),
    ]) {
      expectError(answer, 422, code)
      expect(answer.body.error.details.errors[0].path).toBe(path)
    }
    expect((await admin.get('/webhooks')).body.data).toEqual([webhook])
  })

  test('2,048 characters of URL and 255 of secret are accepted', async () => {
    const { admin } = await createOrganization()
    const url = `https://a.example/${'x'.repeat(2030)}`
    expect((await createWebhook(admin, { url, secret: '🔑'.repeat(255) })).url).toBe(url)
  })
})

describe('listing', () => {
  test('webhooks are listed newest first, in pages', async () => {
    const { admin, agent } = await createOrganization()
    const ids = []
    for (let n = 0; n < 3; n++) ids.unshift((await createWebhook(admin)).id)
    const { body } = await agent.get('/webhooks?per_page=2')
    expect(body.meta).toEqual({ total: 3, page: 1, per_page: 2, next_cursor: expect.any(String) })
    expect(body.data.map((webhook: { id: string }) => webhook.id)).toEqual(ids.slice(0, 2))
    const second = await agent.get('/webhooks?per_page=2&page=2')
    expect(second.body.data.map((webhook: { id: string }) => webhook.id)).toEqual(ids.slice(2))
  })
})

describe('changing', () => {
  test('each field can be changed alone', async () => {
    const { admin } = await createOrganization()
    const webhook = await createWebhook(admin, { secret: 'secret' })
    const patch = async (changes: unknown) => (await admin.patch(`/webhooks/${webhook.id}`, changes)).body.data
    expect(await patch({ url: 'https://new.example/' })).toMatchObject({
      url: 'https://new.example/',
      has_secret: true,
    })
    expect((await patch({ events: ['message.created', 'message.created'] })).events).toEqual(['message.created'])
    expect((await patch({ secret: null })).has_secret).toBe(false)
    expect((await patch({ secret: 'another' })).has_secret).toBe(true)
    expect((await patch({ secret: `whsec_${btoa('x'.repeat(24))}` })).has_secret).toBe(true)
    expect((await patch({ active: false })).active).toBe(false)
    expect(await patch({})).toMatchObject({ url: 'https://new.example/', active: false })
  })
})

describe('deleting', () => {
  test('a deleted webhook is gone with its deliveries, and what is queued is cancelled', async () => {
    const { admin, scope } = await createOrganization()
    const webhook = await createWebhook(admin)
    await emit(scope)
    const answer = await admin.delete(`/webhooks/${webhook.id}`)
    expect(answer.status).toBe(204)
    expect(answer.text).toBe('')
    const again = await admin.delete(`/webhooks/${webhook.id}`)
    expect([again.status, again.body.error.code]).toEqual([404, 'WEBHOOK_NOT_FOUND'])
    expect((await admin.get(`/webhooks/${webhook.id}/deliveries`)).body.error.code).toBe('WEBHOOK_NOT_FOUND')
    expect((await admin.get('/webhooks')).body.meta.total).toBe(0)
    expect(await queueOf(scope, webhook.id)).toEqual([])
    const [delivery] = await scope.sql`select status from deliveries where webhook_id = ${webhook.id}`
    expect(delivery!.status).toBe('cancelled')
    await emit(scope)
    expect(await queueOf(scope, webhook.id)).toEqual([])
  })
})

describe('deliveries', () => {
  test('deliveries are listed newest first, in pages, by status and event', async () => {
    using receiver = await startTrustedReceiver([200, 500, 200])
    const { admin, agent, scope } = await createOrganization()
    const events = ['ticket.created', 'ticket.deleted']
    const webhook = await createWebhook(admin, { url: receiver.url, events })
    for (const event of ['ticket.created', 'ticket.created', 'ticket.deleted'] as const) {
      await emit(scope, {}, event)
      await deliverDue()
    }
    const list = async (query: string) => (await agent.get(`/webhooks/${webhook.id}/deliveries?${query}`)).body
    const all = await list('')
    expect(all.meta).toEqual({ total: 3, page: 1, per_page: 20, next_cursor: null })
    expect(all.data.map((delivery: { event: string }) => delivery.event)).toEqual([
      'ticket.deleted',
      'ticket.created',
      'ticket.created',
    ])
    expect((await list('per_page=1&page=3')).data).toEqual([all.data[2]])
    expect(await list('status=retrying')).toMatchObject({ data: [all.data[1]], meta: { total: 1 } })
    expect(await list('status=success&event=ticket.created')).toMatchObject({ data: [all.data[2]], meta: { total: 1 } })
    expect(await list('status=cancelled')).toMatchObject({ data: [], meta: { total: 0 } })
    for (const query of ['status=lost', 'event=ticket.eaten', 'per_page=x']) {
      expect((await list(query)).error.code).toBe('VALIDATION_ERROR')
    }
  })

  test('the detail of a delivery that was not tried yet has no answer', async () => {
    const { admin, agent, scope, id: organization_id } = await createOrganization()
    const webhook = await createWebhook(admin)
    await emit(scope, { n: 1 })
    const [delivery] = await deliveriesOf(admin, webhook.id)
    const answer = await agent.get(`/webhooks/${webhook.id}/deliveries/${delivery.id}`)
    expect(answer.status).toBe(200)
    const { request_body, response_head, attempt_log, ...fields } = answer.body.data
    expect(fields).toEqual(delivery)
    expect(fields).toMatchObject({ status: 'pending', attempts: 0, response_code: null, response_time_ms: null })
    expect(JSON.parse(request_body)).toMatchObject({ event: 'ticket.created', organization_id, data: { n: 1 } })
    expect([response_head, attempt_log]).toEqual([null, []])
  })

  test('a delivery of another webhook is unknown', async () => {
    const { admin, scope } = await createOrganization()
    const webhook = await createWebhook(admin)
    const other = await createWebhook(admin, { events: ['ticket.deleted'] })
    await emit(scope)
    const [delivery] = await deliveriesOf(admin, webhook.id)
    for (const path of [`${other.id}/deliveries/${delivery.id}`, `${webhook.id}/deliveries/${newId()}`]) {
      const answer = await admin.get(`/webhooks/${path}`)
      expect([answer.status, answer.body.error.code]).toEqual([404, 'DELIVERY_NOT_FOUND'])
      expect((await admin.post(`/webhooks/${path}/retry`)).body.error.code).toBe('DELIVERY_NOT_FOUND')
    }
  })
})

describe('test', () => {
  test('a test sends test.ping at once and answers its delivery', async () => {
    using receiver = await startTrustedReceiver()
    const { id, admin, scope } = await createOrganization()
    const webhook = await createWebhook(admin, { url: receiver.url, secret: 'secret' })
    const answer = await admin.post(`/webhooks/${webhook.id}/test`)
    expect(answer.status).toBe(200)
    expect(answer.body.data).toMatchObject({ event: 'test.ping', status: 'success', attempts: 1, response_code: 200 })
    const [request] = receiver.requests
    expect(request!.json()).toMatchObject({ event: 'test.ping', organization_id: id, data: { webhook_id: webhook.id } })
    expect(request!.headers.get('x-service-delivery')).toBe(answer.body.data.id)
    expect(receiver.verify(request!, 'secret')).toBe(true)
    expect(await deliveriesOf(admin, webhook.id)).toEqual([answer.body.data])
    expect(await queueOf(scope, webhook.id)).toEqual([])
  })

  test('a test that fails is not repeated and leaves the webhook as it is', async () => {
    using receiver = await startTrustedReceiver(500)
    const { admin, scope } = await createOrganization()
    const webhook = await createWebhook(admin, { url: receiver.url })
    const answer = await admin.post(`/webhooks/${webhook.id}/test`)
    expect(answer.status).toBe(200)
    expect(answer.body.data).toMatchObject({ status: 'failed', attempts: 1, response_code: 500, error: 'status' })
    await deliverDue()
    expect(receiver.requests).toHaveLength(1)
    expect(await queueOf(scope, webhook.id)).toEqual([])
    expect((await admin.get(`/webhooks/${webhook.id}`)).body.data).toEqual(webhook)
  })

  test('a webhook that is switched off or failed cannot be tested', async () => {
    using receiver = await startTrustedReceiver()
    const { admin, scope } = await createOrganization()
    const webhook = await createWebhook(admin, { url: receiver.url, active: false })
    const off = await admin.post(`/webhooks/${webhook.id}/test`)
    expect([off.status, off.body.error.code]).toEqual([422, 'WEBHOOK_DISABLED'])
    await scope.sql`update webhooks set active = true, status = 'failed' where id = ${webhook.id}`
    const failed = await admin.post(`/webhooks/${webhook.id}/test`)
    expect([failed.status, failed.body.error.code]).toEqual([422, 'WEBHOOK_DISABLED'])
    expect(receiver.requests).toHaveLength(0)
    expect(await deliveriesOf(admin, webhook.id)).toEqual([])
  })
})

describe('retry', () => {
  test('a failed delivery is sent again at once, with the same id and bytes', async () => {
    using receiver = await startTrustedReceiver(500)
    const { admin, scope } = await createOrganization()
    const webhook = await createWebhook(admin, { url: receiver.url })
    await emit(scope)
    await scope.sql`update outbox set attempts = 4 where lane_id = ${webhook.id}`
    await deliverDue()
    const [delivery] = await deliveriesOf(admin, webhook.id)
    expect(delivery.status).toBe('failed')
    const retry = `/webhooks/${webhook.id}/deliveries/${delivery.id}/retry`
    expect((await admin.post(retry)).body.error.code).toBe('WEBHOOK_DISABLED')
    await admin.patch(`/webhooks/${webhook.id}`, { active: true })

    const failed_again = await admin.post(retry)
    expect(failed_again.status).toBe(200)
    expect(failed_again.body.data).toMatchObject({ id: delivery.id, status: 'failed', attempts: 2 })
    expect((await admin.get(`/webhooks/${webhook.id}`)).body.data).toMatchObject({ status: 'active', failure_count: 1 })

    receiver.answer = 204
    const answer = await admin.post(retry)
    expect(answer.body.data).toMatchObject({ id: delivery.id, status: 'success', attempts: 3, response_code: 204 })
    expect((await admin.get(`/webhooks/${webhook.id}`)).body.data.failure_count).toBe(0)
    expect(await queueOf(scope, webhook.id)).toEqual([])
    expect(receiver.requests).toHaveLength(3)
    expect(new Set(receiver.requests.map((request) => request.headers.get('x-service-delivery'))).size).toBe(1)
    expect(new Set(receiver.requests.map((request) => Buffer.from(request.body).toString())).size).toBe(1)
  })

  test('a delivery that waits for its next attempt goes on with its schedule', async () => {
    using receiver = await startTrustedReceiver(500)
    const { admin, scope } = await createOrganization()
    const webhook = await createWebhook(admin, { url: receiver.url })
    await emit(scope)
    await deliverDue()
    const [delivery] = await deliveriesOf(admin, webhook.id)
    const answer = await admin.post(`/webhooks/${webhook.id}/deliveries/${delivery.id}/retry`)
    expect(answer.body.data).toMatchObject({ status: 'retrying', attempts: 2 })
    const [queued] = await queueOf(scope, webhook.id)
    expect(queued!.attempts).toBe(2)
    expect(queued!.due_in_s).toBeGreaterThan(60 * 1.1)
    receiver.answer = 200
    await makeDue(scope)
    await deliverDue()
    expect((await deliveriesOf(admin, webhook.id))[0]).toMatchObject({ status: 'success', attempts: 3 })
  })

  test('a delivery that is being sent just now is not sent twice', async () => {
    const { admin, scope } = await createOrganization()
    let retry = ''
    let meanwhile: { status: number; body: { data: unknown } } | undefined
    using receiver = await startTrustedReceiver(async () => {
      meanwhile ??= await admin.post(retry)
      return 200
    })
    const webhook = await createWebhook(admin, { url: receiver.url })
    await emit(scope)
    const [delivery] = await deliveriesOf(admin, webhook.id)
    retry = `/webhooks/${webhook.id}/deliveries/${delivery.id}/retry`
    await deliverDue()
    expect(meanwhile).toMatchObject({ status: 200, body: { data: delivery } })
    expect(receiver.requests).toHaveLength(1)
  })

  test('a success can be sent again', async () => {
    using receiver = await startTrustedReceiver()
    const { admin, scope } = await createOrganization()
    const webhook = await createWebhook(admin, { url: receiver.url })
    await emit(scope)
    await deliverDue()
    const [delivery] = await deliveriesOf(admin, webhook.id)
    const answer = await admin.post(`/webhooks/${webhook.id}/deliveries/${delivery.id}/retry`)
    expect(answer.body.data).toMatchObject({ id: delivery.id, status: 'success', attempts: 2 })
    expect(receiver.requests).toHaveLength(2)
  })
})
