/** The rights of an API key on webhooks: never the data of an event that it may not read itself. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { EVENTS } from '../../../src/base/db/schema'
import { permissionFor } from '../../../src/delivery/webhooks/rights'
import { permissionsOf } from '../../../src/http/request/permissions'
import { type Answer, createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createContact } from '../../support/factories'
import type { Receiver } from '../../support/receiver'
import { createWebhook, deliverDue, deliveriesOf, startTrustedReceiver } from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(stopApi)

let organization: Organization
let receiver: Receiver

beforeEach(async () => {
  organization = await createOrganization()
})
beforeAll(async () => {
  receiver = await startTrustedReceiver((request) => new Response(`I got ${JSON.stringify(request.json())}`))
})
afterAll(() => receiver[Symbol.dispose]())

const READS: Record<string, string | undefined> = {
  ticket: 'tickets:read',
  message: 'messages:read',
  contact: 'contacts:read',
  company: 'companies:read',
  label: 'labels:read',
  time_entry: 'time_entries:read',
  inbound_message: 'inbound_messages:read',
  organization: 'organization:read',
  test: undefined,
}

function expectLacking(answer: Answer, required: string) {
  expect([answer.status, answer.body?.error]).toEqual([
    403,
    { code: 'FORBIDDEN', message: expect.any(String), details: { required } },
  ])
}

/** A webhook of the admin that has sent one event about a contact. */
async function sentContact() {
  const { admin } = organization
  const webhook = await createWebhook(admin, { url: receiver.url, events: ['contact.created'] })
  await createContact(admin, { name: 'Secret Name' })
  await deliverDue()
  const [delivery] = await deliveriesOf(admin, webhook.id)
  return { webhook, delivery, path: `/webhooks/${webhook.id}/deliveries/${delivery.id}` }
}

describe('an API key', () => {
  test.each([...EVENTS])('subscribes to %s only with the permission to read what it is about', async (event) => {
    const { admin } = organization
    const needed = READS[event.split('.')[0]!]
    expect(permissionFor(event)).toBe(needed as ReturnType<typeof permissionFor>)
    const url = receiver.url
    const others = Object.values(READS).filter((one) => one !== undefined && one !== needed) as string[]
    const few = await createProgram(admin, ['webhooks:write', ...others])
    const enough = await createProgram(admin, ['webhooks:write', ...(needed ? [needed] : [])])
    const created = await enough.post('/webhooks', { url, events: [event] })
    expect(created.status).toBe(201)
    const own = (await few.post('/webhooks', { url, events: ['test.ping'] })).body.data
    const attempts = [
      await few.post('/webhooks', { url, events: ['test.ping', event] }),
      await few.patch(`/webhooks/${own.id}`, { events: [event] }),
      await few.patch(`/webhooks/${created.body.data.id}`, { url: `${url}/mine` }),
      await few.post(`/webhooks/${created.body.data.id}/test`),
    ]
    if (!needed) return void expect(attempts.map(({ status }) => status)).toEqual([201, 200, 200, 200])
    for (const answer of attempts) expectLacking(answer, needed)
    expect((await admin.get(`/webhooks/${own.id}`)).body.data.events).toEqual(['test.ping'])
    expect((await admin.get(`/webhooks/${created.body.data.id}`)).body.data.url).toBe(url)
  })

  test('changes nothing of a webhook whose events it may not read, not even to events that it may', async () => {
    const { admin } = organization
    const webhook = await createWebhook(admin, { events: ['contact.created', 'ticket.created'] })
    const program = await createProgram(admin, ['webhooks:write', 'tickets:read'])
    const changes = [{ events: ['ticket.created'] }, { url: receiver.url }, { secret: 'mine' }, { active: true }, {}]
    for (const change of changes) {
      expectLacking(await program.patch(`/webhooks/${webhook.id}`, change), 'contacts:read')
    }
    expect((await program.delete(`/webhooks/${webhook.id}`)).status).toBe(204)
  })

  test('points no webhook at another server while events wait that it may not read', async () => {
    const { admin } = organization
    const webhook = await createWebhook(admin, { events: ['contact.created'] })
    await createContact(admin)
    await admin.patch(`/webhooks/${webhook.id}`, { events: ['ticket.created'] })
    const program = await createProgram(admin, ['webhooks:write', 'tickets:read'])
    expectLacking(await program.patch(`/webhooks/${webhook.id}`, { url: receiver.url }), 'contacts:read')
    expectLacking(await program.patch(`/webhooks/${webhook.id}`, { active: true }), 'contacts:read')
    await deliverDue()
    await admin.patch(`/webhooks/${webhook.id}`, { active: false })
    expect((await program.patch(`/webhooks/${webhook.id}`, { url: receiver.url })).status).toBe(200)
  })

  test('sends a delivery again only when it may read its event, whatever the webhook wants by now', async () => {
    const { admin } = organization
    const { webhook, path } = await sentContact()
    await admin.patch(`/webhooks/${webhook.id}`, { events: ['ticket.created'] })
    const program = await createProgram(admin, ['webhooks:write', 'tickets:read'])
    const requests = receiver.requests.length
    await program.patch(`/webhooks/${webhook.id}`, { url: `${receiver.url}/mine` })
    expectLacking(await program.post(`${path}/retry`), 'contacts:read')
    expect(receiver.requests).toHaveLength(requests)
    const enough = await createProgram(admin, ['webhooks:write', 'tickets:read', 'contacts:read'])
    expect((await enough.post(`${path}/retry`)).status).toBe(200)
  })

  test('sees neither the request of a delivery nor what was answered, without the right to read its event', async () => {
    const { admin } = organization
    const { path } = await sentContact()
    const few = await createProgram(admin, ['webhooks:write', 'tickets:read', 'messages:write'])
    const shown = await few.get(path)
    expect(shown.body.data).toMatchObject({ status: 'success', request_body: null, response_head: null })
    expect(shown.body.data.attempt_log).toMatchObject([{ attempt: 1, response_code: 200, response_head: null }])
    expect(shown.text).not.toContain('Secret')
    const enough = await createProgram(admin, ['webhooks:read', 'contacts:read'])
    for (const client of [enough, admin, organization.agent]) {
      const { data } = (await client.get(path)).body
      expect(data.request_body).toContain('Secret Name')
      for (const head of [data.response_head, data.attempt_log[0].response_head]) expect(head).toContain('Secret Name')
    }
  })

  test('that lost a right patches its own webhook no more', async () => {
    const { admin } = organization
    const program = await createProgram(admin, ['webhooks:write', 'tickets:read'])
    const webhook = await createWebhook(program, { events: ['ticket.created'] })
    await admin.patch(`/api-keys/${program.id}`, { permissions: ['webhooks:write'] })
    expectLacking(await program.patch(`/webhooks/${webhook.id}`, { url: receiver.url }), 'tickets:read')
  })

  test('with all permissions, like an admin, subscribes to everything', async () => {
    const { admin } = organization
    expect(permissionsOf(['*:write']).size).toBeGreaterThan(20)
    for (const client of [
      admin,
      await createProgram(admin, ['*:write']),
      await createProgram(admin, ['webhooks:write', '*:read']),
    ]) {
      const webhook = await createWebhook(client, { events: [...EVENTS], url: receiver.url })
      expect((await client.patch(`/webhooks/${webhook.id}`, { active: false })).status).toBe(200)
    }
  })
})
