/** Events of companies, labels, email, filed mail and erasures. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { EVENTS } from '../../../src/base/db/schema'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import {
  createCompany,
  createContact,
  createMessage,
  createTicket,
  hearEvents,
  writtenEvents,
} from '../../support/factories'
import { drain, importMail, rawMail, readTicket } from '../../support/mail'

let started: StartedDesk
let desk: Desk

beforeAll(async () => {
  started = await startDesk()
})
beforeEach(async () => {
  started.sink.answer()
  desk = await started.createDesk()
  await hearEvents(desk.scope, EVENTS)
})
afterAll(() => started.stop())

/** The events of some subjects: names and data. */
async function eventsOf(...subjects: string[]): Promise<[string, unknown][]> {
  const events = await writtenEvents(desk.scope)
  return events.filter(({ event }) => subjects.includes(event.split('.')[0])).map(({ event, data }) => [event, data])
}

test.each([
  ['company', '/companies', { name: 'Acme', domains: ['acme.example'], hourly_rate: 12.5 }, { notes: 'Pays late' }],
  ['label', '/labels', { name: 'urgent', color: '#EF4444' }, { description: 'Today' }],
])('a %s that is made, changed and deleted is told of as GET shows it', async (subject, path, fields, change) => {
  const { agent } = desk
  const { id } = (await agent.post(path, fields)).body.data
  const created = (await agent.get(`${path}/${id}`)).body.data
  const changed = (await agent.patch(`${path}/${id}`, change)).body.data
  await agent.delete(`${path}/${id}`)
  expect(await eventsOf(subject)).toEqual([
    [`${subject}.created`, created],
    [`${subject}.updated`, changed],
    [`${subject}.deleted`, changed],
  ])
})

test.each([
  ['company', '/companies', { name: 'Acme', domains: ['acme.example'], hourly_rate: 12.5 }],
  ['label', '/labels', { name: 'urgent', color: '#EF4444' }],
])('a request that changes nothing of a %s, or is refused, tells of nothing', async (subject, path, fields) => {
  const { agent } = desk
  const { id, ...first } = (await agent.post(path, fields)).body.data
  await agent.patch(`${path}/${id}`, fields)
  await agent.patch(`${path}/${id}`, {})
  expect((await agent.patch(`${path}/${id}`, { name: '' })).status).toBe(422)
  if (subject === 'label') {
    expect((await agent.post(path, { ...fields, name: 'URGENT' })).body.error.code).toBe('LABEL_NAME_EXISTS')
    const second = (await agent.post(path, { ...fields, name: 'second' })).body.data
    expect((await agent.patch(`${path}/${second.id}`, { name: 'urgent' })).body.error.code).toBe('LABEL_NAME_EXISTS')
  }
  expect((await agent.get(`${path}/${id}`)).body.data).toEqual({ id, ...first })
  const names = (await eventsOf(subject)).map(([event]) => event)
  expect(names).toEqual(Array(subject === 'label' ? 2 : 1).fill(`${subject}.created`))
})

test('contacts that a company links or unlinks are told of', async () => {
  const { agent } = desk
  const contact = await createContact(agent, { email: `${newId()}@acme.example` })
  const company = await createCompany(agent, { domains: ['acme.example'] })
  await agent.post(`/companies/${company.id}/link-contacts`)
  await agent.delete(`/companies/${company.id}`)
  const events = (await eventsOf('contact')) as [string, { id: string; company: unknown }][]
  expect(events.map(([event, { id, company }]) => [event, id, company])).toEqual([
    ['contact.created', contact.id, null],
    ['contact.updated', contact.id, { id: company.id, name: company.name }],
    ['contact.updated', contact.id, null],
  ])
})

test('an email that one recipient gets and another does not is told of once each, with the message', async () => {
  const { agent } = desk
  const refused = `${newId()}@customer.example`
  started.sink.answer(({ stage, address }) => (stage === 'rcpt' && address === refused ? '550 5.1.1 No' : undefined))
  const ticket = await createTicket(agent)
  const { id } = await createMessage(agent, ticket.id, { cc: [refused, `${newId()}@customer.example`] })
  await drain()
  const shown = (await agent.get(`/tickets/${ticket.id}/messages/${id}`)).body.data
  expect(shown.email_recipients).toHaveLength(3)
  const data = { ...shown, ticket: { id: ticket.id, code: ticket.code, subject: ticket.subject } }
  const [created, ...events] = await eventsOf('message')
  expect(created![0]).toBe('message.created')
  expect(events).toEqual([
    ['message.email_sent', data],
    ['message.email_failed', data],
  ])
})

test('mail that was filed is told of last, with its row of the ledger', async () => {
  const { admin } = desk
  const raw = rawMail({ From: 'carla@customer.example', To: desk.address, Subject: 'Printer', Message_ID: '<1@x>' })
  const row = await importMail(admin, desk.mailbox_id, raw)
  const again = await importMail(admin, desk.mailbox_id, raw)
  expect([row.outcome, again.outcome]).toEqual(['ticket', 'duplicate'])
  expect(await eventsOf('inbound_message')).toEqual([
    ['inbound_message.filed', row],
    ['inbound_message.filed', again],
  ])
  const names = (await writtenEvents(desk.scope)).map(({ event }) => event)
  const [filed] = ['inbound_message.filed']
  expect(names).toEqual(['contact.created', 'ticket.created', 'message.created', filed, filed])
})

test('an erasure tells of the tickets and of messages elsewhere that lost their texts, by ids only', async () => {
  const { admin, agent } = desk
  const mail = (From: string, Subject: string) =>
    importMail(admin, desk.mailbox_id, rawMail({ From, To: desk.address, Subject, Message_ID: `<${newId()}@x>` }))
  const own = await mail('carla@customer.example', 'Printer')
  const other = await mail('olga@other.example', 'Fax')
  const { code } = await readTicket(agent, other.ticket_id)
  await agent.post(`/tickets/${other.ticket_id}/participants`, { email: 'carla@customer.example' })
  const written = await mail('carla@customer.example', `Re: [${code}]`)
  expect(written.ticket_id).toBe(other.ticket_id)
  const deleted = await mail('carla@customer.example', 'Deleted')
  await admin.delete(`/tickets/${deleted.ticket_id}`)
  const { contact } = await readTicket(agent, own.ticket_id)
  expect((await admin.post(`/contacts/${contact.id}/erase`)).status).toBe(200)
  const erased = (await writtenEvents(desk.scope)).filter(({ event }) => event.endsWith('.erased'))
  expect(erased.map(({ event, data }) => [event, data])).toEqual([
    ['ticket.erased', { id: own.ticket_id }],
    ['message.erased', { id: written.message_id, ticket: { id: other.ticket_id } }],
  ])
})
