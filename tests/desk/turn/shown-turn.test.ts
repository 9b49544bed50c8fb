/** Tickets show their newest message, since when a customer waits, how many messages there are, and their mailbox. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { countUncounted } from '../../../src/desk/turn/turn'
import type { Client } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import {
  createContact,
  createMessage,
  createTicket,
  hearEvents,
  uploadFile,
  writtenEvents,
} from '../../support/factories'
import { createMailbox, importMail, rawMail } from '../../support/mail'

let desk: StartedDesk
beforeAll(async () => {
  desk = await startDesk({ smtp: smtpTo(NO_SERVER) })
})
afterAll(() => desk.stop())

async function read(client: Client, { id }: { id: string }) {
  const { messages: _, time_entries: __, ...ticket } = (await client.get(`/tickets/${id}`)).body.data
  const listed = (await client.get('/tickets?per_page=100')).body.data.find((one: { id: string }) => one.id === id)
  expect(listed).toEqual(ticket)
  return ticket
}

test('the newest public message is shown with its sender and beginning, whoever wrote it', async () => {
  const { agent } = await desk.createDesk()
  const contact = await createContact(agent)
  const ticket = await createTicket(agent, { contact_id: contact.id, description: `Help,\n\n  ${'🦒'.repeat(200)}` })
  expect(ticket.last_message).toEqual({
    ...{ id: expect.any(String), direction: 'inbound', sender: { name: contact.name, email: contact.email } },
    ...{ excerpt: `Help, ${'🦒'.repeat(154)}`, created_at: expect.any(String) },
  })
  const { created_at } = ticket.last_message
  expect(ticket).toMatchObject({ waiting_since: created_at, message_count: 1, attachment_count: 0 })
  expect(await read(agent, ticket)).toEqual(ticket)
  const body = '<p>Have you <b>tried</b> &lt;water&gt;?</p><ul><li>no</li></ul>'
  const { id } = await createMessage(agent, ticket.id, { body })
  await createMessage(agent, ticket.id, { body: 'A note', is_internal: true })
  expect(await read(agent, ticket)).toMatchObject({
    last_message: {
      id,
      direction: 'outbound',
      sender: { name: 'Alan Agent' },
      excerpt: 'Have you tried <water>? * no',
    },
    ...{ waiting_since: null, message_count: 2 },
  })
  await createMessage(agent, ticket.id, { body: `<p>${'<b>x</b>&amp;'.repeat(2000)}</p>` })
  expect((await read(agent, ticket)).last_message.excerpt).toBe('x&'.repeat(80))
  const apart = await createTicket(agent, { contact_id: contact.id, description: `Help${'\n'.repeat(900)}me` })
  expect(apart.last_message.excerpt).toBe('Help me')
})

test('of mail the new part is shown, and automatic replies let nobody wait', async () => {
  const { admin, address, mailbox_id } = await desk.createDesk()
  const mail = (fields: Record<string, string>, text: string) =>
    importMail(admin, mailbox_id, rawMail({ From: 'ann@c.example', To: address, Subject: 'Ink', ...fields }, text))
  const { ticket_id: id } = await mail({ Message_ID: '<1@c.example>' }, 'The  ink is\n\nout')
  const first = await read(admin, { id })
  expect(first).toMatchObject({
    mailbox: { id: mailbox_id, address },
    last_message: { direction: 'inbound', sender: { email: 'ann@c.example' }, excerpt: 'The ink is out' },
    ...{ waiting_since: first.last_message.created_at, message_count: 1 },
  })
  const answer = await createMessage(admin, id)
  const away = { In_Reply_To: `<${answer.email_message_id}>`, Auto_Submitted: 'auto-replied' }
  await mail(away, 'I am away')
  expect(await read(admin, { id })).toMatchObject({ last_message: { excerpt: 'I am away' }, waiting_since: null })
  const text = 'Thanks!\n\nOn Monday Alan wrote:\n> Have you tried water?'
  await mail({ In_Reply_To: `<${answer.email_message_id}>` }, text)
  const last = await read(admin, { id })
  expect(last).toMatchObject({ last_message: { excerpt: 'Thanks!' }, message_count: 4 })
  expect(last.waiting_since).toBe(last.last_message.created_at)
})

test('nobody waits while it is resolved or closed; opened again, the customer waits as before', async () => {
  const { admin, agent, scope } = await desk.createDesk()
  await hearEvents(scope)
  const ticket = await createTicket(agent, { description: 'Help' })
  const set = async (status: string) => (await agent.patch(`/tickets/${ticket.id}`, { status })).body.data
  for (const [status, waiting_since] of [
    ['pending', ticket.waiting_since],
    ['resolved', null],
    ['open', ticket.waiting_since],
    ['closed', null],
  ]) {
    const changed = await set(status)
    expect([status, changed.waiting_since]).toEqual([status, waiting_since])
    expect((await read(agent, ticket)).waiting_since).toBe(waiting_since)
  }
  const events = await writtenEvents(scope)
  expect(events.at(-1)!.data).toMatchObject({
    waiting_since: null,
    last_message: { excerpt: 'Help' },
    message_count: 1,
  })
  const told = events.flatMap(({ data }) => Object.keys(data.changes ?? {}))
  expect([...new Set(told)]).toEqual(['status'])
  expect((await admin.get(`/tickets/${ticket.id}/activity`)).body.data).toHaveLength(6)
})

test('files, drafts and messages are counted; a key without the right and events are told of no drafts', async () => {
  const { admin, agent, scope } = await desk.createDesk()
  await hearEvents(scope)
  const ticket = await createTicket(agent)
  const file = await uploadFile(agent)
  await createMessage(agent, ticket.id, { is_internal: true, attachment_ids: [file.id] })
  for (const client of [agent, admin]) await client.post(`/tickets/${ticket.id}/drafts`, { body: 'Maybe' })
  const counts = { message_count: 0, attachment_count: 1, last_message: null }
  expect(await read(agent, ticket)).toMatchObject({ ...counts, draft_count: 2 })
  const [without, reading] = await Promise.all([
    createProgram(admin, ['tickets:read', 'tickets:write']),
    createProgram(admin, ['tickets:read', 'drafts:read']),
  ])
  expect(await read(without, ticket)).toMatchObject({ ...counts, draft_count: null })
  expect(await read(reading, ticket)).toMatchObject({ ...counts, draft_count: 2 })
  const changed = await agent.patch(`/tickets/${ticket.id}`, { priority: 'high' })
  expect(changed.body.data.draft_count).toBe(2)
  expect((await writtenEvents(scope)).at(-1)!.data).toMatchObject({ ...counts, draft_count: null })
  const both = await Promise.all([agent, without].map((client) => client.get(`/tickets/${ticket.id}`)))
  expect(both.map(({ body }) => body.data.draft_count)).toEqual([2, null])
})

test('the mailbox is given at creation and changed; the change is told, and an unknown one is refused', async () => {
  const { admin, agent, scope } = await desk.createDesk()
  const other = await createMailbox(admin, { address: `o.${crypto.randomUUID()}@desk.example`, name: 'Others' })
  const shown = { id: other.id, address: other.address, name: 'Others' }
  await hearEvents(scope)
  const ticket = await createTicket(agent, { mailbox_id: other.id.toUpperCase() })
  expect(ticket.mailbox).toEqual(shown)
  expect(await read(agent, ticket)).toEqual(ticket)
  const path = `/tickets/${ticket.id}`
  expect((await agent.patch(path, { mailbox_id: null })).body.data.mailbox).toBe(null)
  expect((await agent.patch(path, { mailbox_id: other.id })).body.data.mailbox).toEqual(shown)
  const [, event] = (await writtenEvents(scope)).filter(({ event }) => event === 'ticket.updated')
  expect(event!.data.changes).toEqual({ mailbox: { from: null, to: shown } })
  const bulk = await agent.post('/tickets/bulk', { ids: [ticket.id], changes: { mailbox_id: null } })
  expect(bulk.body.meta.changed).toBe(1)

  const foreign = (await desk.createDesk()).mailbox_id
  for (const mailbox_id of [foreign, 'x', '00000000-0000-7000-8000-000000000000']) {
    const refused = { error: { code: 'MAILBOX_NOT_FOUND', details: { ids: [mailbox_id] } } }
    const given = { subject: 'x', contact_id: ticket.contact.id, mailbox_id }
    for (const [answer, at] of [
      [await agent.post('/tickets', given), '/mailbox_id'],
      [await agent.patch(path, { mailbox_id }), '/mailbox_id'],
      [await agent.post('/tickets/bulk', { ids: [ticket.id], changes: { mailbox_id } }), '/changes/mailbox_id'],
    ] as const) {
      expect(answer.status).toBe(422)
      expect(answer.body).toMatchObject(refused)
      expect(answer.body.error.details.errors[0].path).toBe(at)
    }
  }
  await agent.patch(path, { mailbox_id: other.id })
  expect((await admin.delete(`/mailboxes/${other.id}`)).status).toBe(204)
  expect((await read(agent, ticket)).mailbox).toBe(null)
})

test('tickets that are not counted yet are shown as they are', async () => {
  const { agent, scope } = await desk.createDesk()
  const { sql, organization_id } = scope
  const ticket = await createTicket(agent, { description: 'Help' })
  await createMessage(agent, ticket.id, { is_internal: true, attachment_ids: [(await uploadFile(agent)).id] })
  const before = await read(agent, ticket)
  await sql`
    update tickets set last_message_id = null, waiting_message_id = null, message_count = null, attachment_count = null
    where organization_id = ${organization_id}`
  expect(await read(agent, ticket)).toEqual(before)
  await countUncounted(connection())
  expect(await read(agent, ticket)).toEqual(before)
})

test('an erased person leaves no words, neither in the ticket nor in events of another one', async () => {
  const { admin, agent, scope } = await desk.createDesk()
  await hearEvents(scope)
  const contact = await createContact(agent)
  const own = await createTicket(agent, { contact_id: contact.id, description: 'My secret giraffe' })
  await createMessage(agent, own.id, { body: 'Your giraffe is safe' })
  const other = await createTicket(agent)
  await agent.post(`/tickets/${other.id}/merge`, { source_ids: [own.id] })
  const { body } = await agent.patch(`/tickets/${other.id}`, { priority: 'high' })
  expect(body.data.last_message.excerpt).toBe('Your giraffe is safe')
  expect((await admin.post(`/contacts/${contact.id}/erase`, { confirm: contact.email })).status).toBe(200)
  expect((await read(agent, other)).last_message).toMatchObject({ excerpt: '', direction: 'outbound' })
  expect(JSON.stringify(await writtenEvents(scope))).not.toContain('giraffe')
})
