/** Rows of the interface that hold for all sections, so that no section's own tests prove them. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { postWebhook } from '../../src/delivery/webhooks/post'
import { type Client, createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { isForCustomers, manyCustomers } from '../support/customers'
import { type Endpoint, pathWith, readEndpoints } from '../support/endpoints'
import { createContact, createTicket } from '../support/factories'
import { LOOPBACK } from '../support/receiver'
import { createWebhook, deliverDue, startTrustedReceiver } from '../support/webhooks'
import { createWorld, type World } from '../support/world'

let organization: Organization
let world: World
let reads: Endpoint[]
let customers: Client

beforeAll(async () => {
  await startApi()
  organization = await createOrganization()
  world = await createWorld(organization)
  customers = await manyCustomers(organization, world.company_id, 4)
  const endpoints = await readEndpoints()
  reads = endpoints.filter(
    ({ name, path }) =>
      name.startsWith('GET /') && !/^\/auth|^\/identity-provider|raw$|content$|export$|transcript$/.test(path),
  )
})
afterAll(stopApi)

const clientFor = (path: string) => (isForCustomers({ path }) ? customers : organization.admin)

const FORMS: [RegExp, RegExp][] = [
  [/^id$|_id$/, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/],
  [/_at$/, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/],
  [/^(date|day)$/, /^\d{4}-\d\d-\d\d$/],
]

const NUMBERS =
  /^(hourly_rate|rate|amount|total_amount|billable_amount|size|total|page|per_page|attempts|.*_(count|ms|minutes))$/

test('ids, times, days and decimals look alike in every answer', async () => {
  const seen = new Set<string>()
  for (const { path } of reads) {
    const { body } = await clientFor(path).get(pathWith(path, world))
    for (const [name, value] of fieldsOf(body)) {
      if (value === null || typeof value === 'object') continue
      const form = /^(email_message|request|external)_id$/.test(name)
        ? undefined
        : FORMS.find(([names]) => names.test(name))?.[1]
      if (form) expect([path, name, value]).toEqual([path, name, expect.stringMatching(form)])
      if (NUMBERS.test(name)) expect([path, name, value]).toEqual([path, name, expect.any(Number)])
      if (form || NUMBERS.test(name)) seen.add(name)
    }
  }
  for (const name of ['id', 'created_at', 'updated_at', 'date', 'hourly_rate', 'amount']) expect(seen).toContain(name)
})

/** Lists that come whole. */
const UNPAGED = [
  ...['/labels', '/tickets/{ticket_id}/messages', '/time-entries/summary', '/domains/{domain_id}/records'],
  '/reports/tickets',
]

test('single objects come as data, pages as data and meta', async () => {
  for (const { path, ids } of reads) {
    const answer = await clientFor(path).get(pathWith(path, world))
    const { data, meta } = answer.body
    const named = { path, status: answer.status }
    expect(named).toEqual({ path, status: 200 })
    if (
      path.replace('/my/', '/') === `/${path.replace('/my/', '/').split('/')[1]}/{${ids[0]}}` ||
      ['/organization', '/retention', '/stats', '/timer/active', '/tickets/{ticket_id}/recipients'].includes(path) ||
      ids.length === 2
    ) {
      expect({ path, keys: Object.keys(answer.body) }).toEqual({ path, keys: ['data'] })
      expect([path, Array.isArray(data)]).toEqual([path, false])
    } else if (UNPAGED.includes(path)) {
      expect({ path, keys: Object.keys(answer.body) }).toEqual({ path, keys: ['data'] })
      expect([path, Array.isArray(data)]).toEqual([path, true])
    } else {
      expect({ path, keys: Object.keys(answer.body) }).toEqual({ path, keys: ['data', 'meta'] })
      expect([path, Array.isArray(data)]).toEqual([path, true])
      // The feed has cursors only.
      const shown = path === '/events' ? { has_more: false } : { total: expect.any(Number), page: 1 }
      expect(meta).toMatchObject({ ...shown, per_page: 20 })
    }
  }
})

test('a label may have each colour of the palette', async () => {
  for (const color of ['#EF4444', '#F97316', '#EAB308', '#22C55E', '#3B82F6', '#8B5CF6', '#6B7280']) {
    const answer = await organization.agent.post('/labels', { name: color, color })
    expect([answer.status, answer.body.data.color]).toEqual([201, color])
  }
})

/** Written down once more: the code's own list would always agree with itself. */
const EVENTS = [
  ...['ticket.created', 'ticket.updated', 'ticket.deleted', 'ticket.assigned', 'ticket.status_changed'],
  ...['ticket.merged', 'ticket.unmerged', 'ticket.split', 'ticket.rated', 'ticket.sla_due_soon', 'ticket.sla_breached'],
  ...['message.created', 'message.deleted', 'contact.created', 'contact.updated', 'contact.deleted'],
  ...['time_entry.created', 'time_entry.updated', 'time_entry.deleted', 'test.ping'],
  ...['company.created', 'company.updated', 'company.deleted', 'label.created', 'label.updated', 'label.deleted'],
  ...['message.email_sent', 'message.email_failed', 'message.email_bounced', 'inbound_message.filed'],
  ...['ticket.erased', 'message.erased', 'organization.imported'],
]

test('each event of the interface can be subscribed to, and no other', async () => {
  const { admin } = organization
  for (const event of EVENTS) expect((await createWebhook(admin, { events: [event] })).events).toEqual([event])
  for (const event of ['company', 'label.erased', 'ticket', '*', 'Ticket.created', 'ticket.created ']) {
    const answer = await admin.post('/webhooks', { url: 'https://receiver.example/', events: [event] })
    expect([event, answer.status, answer.body.error?.code]).toEqual([event, 422, 'INVALID_EVENTS'])
  }
})

test('ticket.created reaches the receiver with the ticket as it is', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, agent, id } = await createOrganization()
  await createWebhook(admin, { url: receiver.url, events: ['ticket.created'] })
  const contact = await createContact(agent)
  const ticket = await createTicket(agent, { contact_id: contact.id, priority: 'high' })
  await deliverDue()
  const [request] = receiver.requests
  const { event, timestamp, organization_id, data } = request!.json()
  expect({ event, timestamp, organization_id }).toEqual({
    event: 'ticket.created',
    timestamp: expect.stringMatching(FORMS[1]![1]),
    organization_id: id,
  })
  expect(data).toMatchObject({
    id: ticket.id,
    code: ticket.code,
    subject: 'Printer on fire',
    status: 'open',
    priority: 'high',
    contact: { id: contact.id, name: contact.name, email: contact.email },
    created_at: ticket.created_at,
  })
})

test('a receiver has 30 seconds unless told otherwise', async () => {
  using timer = spyOn(globalThis, 'setTimeout')
  await postWebhook({ url: 'https://127.0.0.1:1/', headers: {}, body: '{}', allowed: LOOPBACK })
  const delays = timer.mock.calls.map(([, delay_ms]) => delay_ms)
  expect(delays).toContain(30_000)
})

/** All fields of an answer, however deep, by name. */
function fieldsOf(value: unknown): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(fieldsOf)
  return Object.entries(value).flatMap(([name, inner]) => [[name, inner] as [string, unknown], ...fieldsOf(inner)])
}
