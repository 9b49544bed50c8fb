/** Mail whose author cannot be read: its ticket has no contact until an agent chooses one. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { readMigrations } from '../../../src/base/db/migration-files'
import { connection } from '../../../src/base/db/pool'
import { finishDeeds } from '../../../src/operate/start/deed-works'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import {
  activityOf,
  createCompany,
  createContact,
  createMessage,
  createTicket,
  hearEvents,
  writtenEvents,
} from '../../support/factories'
import { deliver, drain, importMail, ledgerOf, rawMail, readTicket } from '../../support/mail'

let shared: StartedDesk

beforeAll(async () => {
  shared = await startDesk()
})
afterAll(() => shared.stop())

const UNKNOWN = { name: 'Unknown sender', email: null }

/** Mail of one of our mailboxes, which names nobody else. */
function mailOfNobody({ address }: Desk, fields: Record<string, string> = {}) {
  const header = { From: address, To: address, Subject: 'Fax', Message_ID: `<${newId()}@mail.example>`, ...fields }
  return rawMail(header, newId())
}

async function openTicket(desk: Desk, fields?: Record<string, string>): Promise<string> {
  const row = await importMail(desk.admin, desk.mailbox_id, mailOfNobody(desk, fields))
  expect(row).toMatchObject({ outcome: 'ticket', from: { name: null, email: null } })
  return row.ticket_id
}

test('mail of nobody has no contact, and no answer to it is sent', async () => {
  const desk = await shared.createDesk()
  await hearEvents(desk.scope, ['contact.created', 'ticket.created', 'message.created'])
  const id = await openTicket(desk, { Cc: 'Ivy <ivy@visitor.example>' })
  const { contact, company, messages } = await readTicket(desk.agent, id)
  expect({ contact, company, sender: messages[0].sender }).toEqual({ contact: null, company: null, sender: UNKNOWN })
  const events = await writtenEvents(desk.scope)
  expect(events.map(({ event }) => event)).toEqual(['ticket.created', 'message.created'])
  expect(events[0]!.data).toMatchObject({ id, contact: null })
  const { data: timeline } = (await desk.agent.get(`/tickets/${id}/activity`)).body
  expect(timeline[0]).toMatchObject({ type: 'created', actor: { type: 'contact', id: null, name: 'Unknown sender' } })
  expect((await desk.agent.get(`/tickets/${id}/recipients`)).body.data).toMatchObject({ to: [], cc: [] })

  const refused = await desk.agent.post(`/tickets/${id}/messages`, { body: 'Hello', send_email: true })
  expect(refused).toMatchObject({ status: 422, body: { error: { code: 'EMAIL_SEND_FAILED' } } })
  const kept = await desk.agent.post(`/tickets/${id}/messages`, { body: 'Hello' })
  expect(kept.body.data).toMatchObject({ email_sent: false, email_status: 'none' })
})

test('mails of known and unknown senders that come together open tickets side by side', async () => {
  const desk = await shared.createDesk()
  const froms = ['a@customer.example', desk.address, 'b@customer.example', desk.address]
  await Promise.all(
    froms.map((From) =>
      deliver(shared.port, { from: desk.address, to: desk.address, raw: mailOfNobody(desk, { From }) }),
    ),
  )
  await drain()
  const rows = (await ledgerOf(desk)).slice(0, 4)
  const tickets = await Promise.all(
    rows.map(({ ticket_id }: { ticket_id: string }) => readTicket(desk.agent, ticket_id)),
  )
  expect(tickets.map(({ contact }) => contact?.email ?? null).sort()).toEqual(
    ['a@customer.example', 'b@customer.example', null, null].sort(),
  )
})

test('a PATCH gives the ticket its contact, once', async () => {
  const desk = await shared.createDesk()
  const company = await createCompany(desk.agent)
  const contact = await createContact(desk.agent, { company_id: company.id })
  const other = await createContact(desk.agent)
  const id = await openTicket(desk)
  const unknown = await desk.agent.patch(`/tickets/${id}`, { contact_id: newId() })
  expect(unknown).toMatchObject({
    status: 422,
    body: { error: { code: 'CONTACT_NOT_FOUND', details: { errors: [{ path: '/contact_id' }] } } },
  })
  await hearEvents(desk.scope, ['ticket.updated'])
  const named = { id: contact.id, name: contact.name, email: contact.email }
  const of = { id: company.id, name: company.name }
  const given = await desk.agent.patch(`/tickets/${id}`, { contact_id: contact.id, priority: 'high' })
  expect(given).toMatchObject({ status: 200, body: { data: { contact: named, company: of, priority: 'high' } } })
  expect(await readTicket(desk.agent, id)).toMatchObject({ contact: named, company: of })
  const [event] = await writtenEvents(desk.scope)
  expect(event).toMatchObject({
    event: 'ticket.updated',
    data: { contact: named, changes: { contact: { from: null, to: named }, company: { from: null, to: of } } },
  })
  expect((await activityOf(desk.scope, id)).filter(({ data }) => data.field === 'contact')).toMatchObject([
    { type: 'changed', data: { field: 'contact', from: null, to: named } },
  ])
  expect((await desk.agent.get(`/tickets?contact_id=${contact.id}`)).body.data).toMatchObject([{ id }])
  expect((await desk.agent.get(`/contacts/${contact.id}`)).body.data).toMatchObject({ total_tickets: 1 })

  const again = await desk.agent.patch(`/tickets/${id}`, { contact_id: contact.id })
  expect(again.status).toBe(200)
  const changed = await desk.agent.patch(`/tickets/${id}`, { contact_id: other.id })
  expect(changed).toMatchObject({
    status: 422,
    body: { error: { code: 'VALIDATION_ERROR', details: { errors: [{ path: '/contact_id' }] } } },
  })
  const sent = await desk.agent.post(`/tickets/${id}/messages`, { body: 'Hello', send_email: true })
  expect(sent.body.data.email_recipients).toMatchObject([{ email: contact.email }])
})

test('a ticket whose contact was deleted takes another one', async () => {
  const desk = await shared.createDesk()
  const [gone, contact] = [await createContact(desk.agent), await createContact(desk.agent)]
  const { id } = await createTicket(desk.agent, { contact_id: gone.id })
  await desk.agent.delete(`/contacts/${gone.id}`)
  const { body } = await desk.agent.patch(`/tickets/${id}`, { contact_id: contact.id })
  expect(body.data.contact.id).toBe(contact.id)
})

test('an unknown sender who answers stays unknown, also where the message is split off', async () => {
  const desk = await shared.createDesk()
  const raw_of_carla = rawMail({ From: 'carla@customer.example', To: desk.address, Message_ID: `<${newId()}@x>` })
  const { ticket_id } = await importMail(desk.admin, desk.mailbox_id, raw_of_carla)
  const { email_message_id } = await createMessage(desk.agent, ticket_id)
  const raw = mailOfNobody(desk, { In_Reply_To: `<${email_message_id}>`, Cc: 'ivy@visitor.example' })
  const row = await importMail(desk.admin, desk.mailbox_id, raw)
  expect(row).toMatchObject({ outcome: 'message', ticket_id })
  const { messages } = await readTicket(desk.agent, ticket_id)
  const { id, sender } = messages.at(-1)
  expect(sender).toEqual(UNKNOWN)
  const split = await desk.agent.post(`/tickets/${ticket_id}/split`, { message_ids: [id] })
  expect(split).toMatchObject({ status: 201, body: { data: { contact: null } } })
})

const OLD = 'unknown@sender.invalid'

test('the migration takes contact and address from mail of before, and leaves real contacts their tickets', async () => {
  const [desk, other] = [await shared.createDesk(), await shared.createDesk()]
  await hearEvents(desk.scope, ['contact.deleted'])
  const { ticket_id } = await importMail(desk.admin, desk.mailbox_id, mailOfNobody(desk, { From: OLD }))
  const before = (await readTicket(desk.agent, ticket_id)).contact
  await desk.agent.post(`/tickets/${(await createTicket(desk.agent)).id}/participants`, { email: OLD })
  const merged = await createContact(other.agent, {
    email: OLD,
    emails: [OLD, 'ann@customer.example', 'ann@home.example'],
  })
  const kept = await createTicket(other.agent, { contact_id: merged.id })

  const migration = (await readMigrations()).find(({ name }) => name === '0088_unknown_senders')!
  for (const statement of migration.statements) await connection().sql.unsafe(statement)
  await finishDeeds(connection())

  const { contact, messages } = await readTicket(desk.agent, ticket_id)
  expect([contact, messages[0].sender]).toEqual([null, UNKNOWN])
  expect((await desk.agent.get(`/contacts/${before.id}`)).status).toBe(404)
  expect((await desk.agent.get(`/contacts?email=${OLD}`)).body.data).toEqual([])
  expect(await writtenEvents(desk.scope)).toMatchObject([{ event: 'contact.deleted', data: { id: before.id } }])
  expect((await activityOf(desk.scope, ticket_id)).at(-1)).toMatchObject({ data: { field: 'contact', to: null } })
  expect(await desk.scope.sql`select from participants where email = ${OLD}`).toHaveLength(0)
  const addresses = { email: 'ann@customer.example', emails: ['ann@customer.example', 'ann@home.example'] }
  expect((await other.agent.get(`/contacts/${merged.id}`)).body.data).toMatchObject(addresses)
  expect((await readTicket(other.agent, kept.id)).contact.id).toBe(merged.id)
})
