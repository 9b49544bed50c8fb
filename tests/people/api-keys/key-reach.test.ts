/**
 * How far each permission reaches: a key that has it alone calls everything, and sees only what its permission is
 * about.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { turns } from '../../../src/base/flow/turns'
import { permissionsOf } from '../../../src/http/request/permissions'
import { type Client, createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { type Endpoint, pathWith, readEndpoints } from '../../support/endpoints'
import {
  createCompany,
  createContact,
  createLabel,
  createMessage,
  createTicket,
  logTime,
} from '../../support/factories'
import type { Receiver } from '../../support/receiver'
import { sampled } from '../../support/sampled'
import { type ChangedSettings, withSettings } from '../../support/settings'
import { createWebhook, deliverDue, deliveriesOf, startTrustedReceiver } from '../../support/webhooks'
import { createWorld, goodBody, type World } from '../../support/world'

/**
 * Texts that stand in one kind of thing, and the resources whose permission shows them. A ticket comes with its
 * messages.
 */
const SEEN_BY: Record<string, string[]> = {
  'notes-of-contact': ['contacts'],
  'notes-of-company': ['companies'],
  'words-of-message': ['messages', 'tickets'],
  'words-of-note': ['messages', 'tickets'],
  'words-of-time': ['time_entries', 'tickets'],
  'words-of-label': ['labels'],
}

let settings: ChangedSettings
let receiver: Receiver
let organization: Organization
let world: World
let endpoints: Endpoint[]

beforeAll(async () => {
  await startApi()
  endpoints = await readEndpoints()
  settings = withSettings({ EMAIL_INLINE_WAIT_MS: 1 })
  receiver = await startTrustedReceiver((request) => new Response(JSON.stringify(request.json())))
  organization = await createOrganization()
  const { admin } = organization
  world = await createWorld(organization)
  const events = ['contact.created', 'message.created', 'time_entry.created', 'ticket.created']
  const webhook = await createWebhook(admin, { url: receiver.url, events })
  const company = await createCompany(admin, { notes: 'notes-of-company' })
  const contact = await createContact(admin, { notes: 'notes-of-contact', company_id: company.id })
  const label = await createLabel(admin, { name: 'Seen', description: 'words-of-label' })
  const ticket = await createTicket(admin, { contact_id: contact.id, label_ids: [label.id] })
  const message = await createMessage(admin, ticket.id, { body: 'words-of-message', send_email: false })
  await createMessage(admin, ticket.id, { body: 'words-of-note', is_internal: true })
  const entry = await logTime(admin, ticket.id, { description: 'words-of-time' })
  await deliverDue()
  const [delivery] = await deliveriesOf(admin, webhook.id)
  world = {
    ...world,
    ...{ ticket_id: ticket.id, message_id: message.id, contact_id: contact.id, company_id: company.id },
    ...{ label_id: label.id, time_entry_id: entry.id, webhook_id: webhook.id, delivery_id: delivery.id },
  }
})
afterAll(async () => {
  settings.restore()
  receiver[Symbol.dispose]()
  await stopApi()
})

test('an admin sees all of these texts', async () => {
  const reads = endpoints.filter(({ method, path }) => method === 'GET' && !path.includes('/auth/'))
  const answers = await Promise.all(reads.map(({ path }) => organization.admin.get(pathWith(path, world))))
  const unseen = Object.keys(SEEN_BY).filter((text) => !answers.some((answer) => answer.text.includes(text)))
  expect(unseen).toEqual([])
})

/** @returns the text of the answer to a good request */
async function call(program: Client, { name, method, path, body }: Endpoint): Promise<string> {
  // A password, a role and an email are what no key may set.
  const { password, role, email, ...others } = body ? goodBody(name, world) : {}
  const given = name === 'POST /users' ? { ...others, email: `${newId()}@b.example` } : others
  const answer = await program.send(method, pathWith(path, world), body && given)
  expect([name, answer.status < 500]).toEqual([name, true])
  return answer.text
}

test.each(sampled([...permissionsOf(['*:write'])], 4))(
  'a key with %s alone shows nothing of other kinds, whatever it calls',
  async (permission) => {
    const { admin, agent } = organization
    const program = await createProgram(admin, [permission])
    const before = receiver.requests.length
    const called = endpoints.filter(({ method, path }) => method !== 'DELETE' && path !== '/inbound-messages')
    const inTurn = turns(10)
    const shown = await Promise.all(called.map((endpoint) => inTurn(() => call(program, endpoint))))
    const mine = { url: `${receiver.url}/mine`, active: true }
    for (const path of [`/webhooks/${world.webhook_id}`, `/users/${agent.user_id}`, `/users/${admin.user_id}`]) {
      const changes = path.startsWith('/webhooks') ? mine : { email: `${newId()}@b.example` }
      expect((await program.patch(path, changes)).status).toBe(403)
    }
    await createContact(admin, { notes: 'notes-of-contact' })
    await deliverDue()
    const sent = receiver.requests.slice(before).filter(({ path }) => path.includes('mine'))
    expect(sent).toEqual([])
    const [resource] = permission.split(':')
    const leaked = Object.entries(SEEN_BY).filter(([text, by]) => {
      return !by.includes(resource!) && shown.some((answer) => answer.includes(text))
    })
    expect(leaked.map(([text]) => text)).toEqual([])
  },
)
