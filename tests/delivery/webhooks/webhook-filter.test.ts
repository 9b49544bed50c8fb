/** Filters of webhooks, judged at the change. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import {
  createCompany,
  createContact,
  createMessage,
  createTicket,
  insertMailbox,
  logTime,
} from '../../support/factories'
import { createWebhook } from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(stopApi)

let own: Organization
beforeEach(async () => {
  own = await createOrganization()
})

const ALL = [
  ...['ticket.created', 'ticket.updated', 'ticket.assigned', 'ticket.status_changed', 'ticket.deleted'],
  ...['message.created', 'time_entry.created', 'contact.created', 'contact.updated', 'contact.deleted'],
  ...['company.updated', 'company.deleted', 'label.created'],
]

/** Makes a webhook with a filter; gives what asks for its events so far, by name and subject. */
async function listen(filter: unknown) {
  const { id } = await createWebhook(own.admin, { events: ALL, filter })
  return async () => {
    const rows = await own.scope.sql<{ body: string }[]>`
      select e.body from deliveries d join events e on e.organization_id = d.organization_id and e.id = d.event_id
      where d.organization_id = ${own.id} and d.webhook_id = ${id} order by d.id`
    return rows.map(({ body }) => JSON.parse(body)).map(({ event, data }) => [event, data.id])
  }
}

test('without a filter all comes, and null clears one', async () => {
  const webhook = await createWebhook(own.admin, { filter: { status: ['open'], is_internal: false } })
  expect(webhook.filter).toEqual({ status: ['open'], is_internal: false })
  const kept = await own.admin.patch(`/webhooks/${webhook.id}`, { active: true })
  expect(kept.body.data.filter).toEqual({ status: ['open'], is_internal: false })
  const replaced = await own.admin.patch(`/webhooks/${webhook.id}`, { filter: { priority: ['high', 'urgent'] } })
  expect(replaced.body.data.filter).toEqual({ priority: ['high', 'urgent'] })
  expect((await own.admin.patch(`/webhooks/${webhook.id}`, { filter: null })).body.data.filter).toBeNull()
  const [entry] = (await own.admin.get('/audit-log?action=webhook.updated')).body.data
  expect(entry.changes.filter).toEqual({ from: { priority: ['high', 'urgent'] }, to: null })
})

test.each([
  ['an unknown field', { stauts: ['open'] }, 'VALIDATION_ERROR'],
  ['an empty list', { status: [] }, 'VALIDATION_ERROR'],
  ['a word for a list', { status: 'open' }, 'VALIDATION_ERROR'],
  ['51 ids', { label_ids: Array.from({ length: 51 }, newId) }, 'VALIDATION_ERROR'],
  ['a list', [], 'VALIDATION_ERROR'],
  ['a text for a flag', { is_internal: 'yes' }, 'VALIDATION_ERROR'],
  ['an unknown company', { company_ids: [newId()] }, 'COMPANY_NOT_FOUND'],
  ['an unknown label', { label_ids: ['x'] }, 'LABEL_NOT_FOUND'],
  ['an unknown mailbox', { mailbox_ids: [newId()] }, 'MAILBOX_NOT_FOUND'],
])('%s is refused, in both requests, and changes nothing', async (_, filter, code) => {
  const webhook = await createWebhook(own.admin)
  const fields = { url: 'https://receiver.example/', events: ['ticket.created'], filter }
  for (const answer of [
    await own.admin.post('/webhooks', fields),
    await own.admin.patch(`/webhooks/${webhook.id}`, fields),
  ]) {
    expect([answer.status, answer.body.error.code]).toEqual([422, code])
    expect(answer.body.error.details.errors[0].path).toStartWith('/filter')
  }
  expect((await own.admin.get('/webhooks')).body.data).toEqual([webhook])
})

test('ids of another organization are unknown, and every field with some is named', async () => {
  const other = await createOrganization()
  const company = await createCompany(other.agent)
  const label = (await other.agent.post('/labels', { name: 'theirs', color: '#000000' })).body.data
  const filter = { company_ids: [company.id], label_ids: [label.id] }
  const answer = await own.admin.post('/webhooks', { url: 'https://x.example/', events: ['ticket.created'], filter })
  expect([answer.status, answer.body.error.code]).toEqual([422, 'COMPANY_NOT_FOUND'])
  const { ids, errors } = answer.body.error.details
  expect(ids).toEqual([company.id])
  expect(errors.map(({ path }: { path: string }) => path)).toEqual(['/filter/company_ids', '/filter/label_ids'])
})

test('a ticket that enters or leaves a filter is told of once, and then no more', async () => {
  const { agent } = own
  const told = await listen({ status: ['pending'], priority: ['high'] })
  const ticket = await createTicket(agent, { priority: 'high' })
  const path = `/tickets/${ticket.id}`
  await agent.patch(path, { subject: 'Not yet' })
  await agent.patch(path, { status: 'pending' })
  await createMessage(agent, ticket.id)
  await logTime(agent, ticket.id)
  await agent.patch(path, { priority: 'low' })
  await agent.patch(path, { subject: 'Gone' })
  await createMessage(agent, ticket.id)
  await agent.patch(path, { status: 'open' })
  await agent.patch(path, { priority: 'high' })
  const names = (await told()).filter(([event]) => !/^(contact|company|label)/.test(event)).map(([event]) => event)
  expect(names).toEqual([
    ...['ticket.updated', 'ticket.status_changed', 'message.created', 'time_entry.created', 'ticket.updated'],
  ])
})

test('labels, companies and mailboxes choose tickets', async () => {
  const { agent, scope } = own
  const [company, elsewhere] = [await createCompany(agent), await createCompany(agent)]
  const [first, second] = await Promise.all(
    ['a', 'b'].map(async (name) => (await agent.post('/labels', { name, color: '#000000' })).body.data),
  )
  const mailbox = await insertMailbox(scope)
  const of = async (id: string | null) => (await createContact(agent, { company_id: id })).id
  const contacts = { own: await of(company.id), other: await of(elsewhere.id) }
  const by_label = await listen({ label_ids: [first.id.toUpperCase(), second.id] })
  const by_company = await listen({ company_ids: [company.id] })
  const by_mailbox = await listen({ mailbox_ids: [mailbox.id] })
  const labelled = await createTicket(agent, { contact_id: contacts.other, label_ids: [second.id] })
  const theirs = await createTicket(agent, { contact_id: contacts.own })
  await scope.sql`update tickets set mailbox_id = ${mailbox.id} where id = ${theirs.id}`
  await agent.patch(`/tickets/${theirs.id}`, { subject: 'By mail' })
  await agent.patch(`/tickets/${labelled.id}`, { label_ids: [] })
  expect(await by_label()).toEqual([
    ['ticket.created', labelled.id],
    ['ticket.updated', labelled.id],
  ])
  expect(await by_company()).toEqual([
    ['ticket.created', theirs.id],
    ['ticket.updated', theirs.id],
  ])
  expect(await by_mailbox()).toEqual([['ticket.updated', theirs.id]])
})

test('contacts and companies are judged by company_ids, also one that leaves; labels pass', async () => {
  const { admin, agent } = own
  const [company, other] = [await createCompany(agent), await createCompany(agent)]
  const told = await listen({ company_ids: [company.id], status: ['closed'] })
  const contact = await createContact(agent, { company_id: company.id })
  await createContact(agent, { company_id: other.id })
  await agent.patch(`/contacts/${contact.id}`, { company_id: other.id })
  await agent.patch(`/contacts/${contact.id}`, { name: 'Gone' })
  await agent.patch(`/companies/${other.id}`, { notes: 'other' })
  await agent.patch(`/companies/${company.id}`, { notes: 'own' })
  const kept = await createContact(agent, { company_id: company.id })
  await admin.delete(`/companies/${company.id}`)
  const label = (await agent.post('/labels', { name: 'x', color: '#000000' })).body.data
  expect(await told()).toEqual([
    ['contact.created', contact.id],
    ['contact.updated', contact.id],
    ['company.updated', company.id],
    ['contact.created', kept.id],
    ['contact.updated', kept.id],
    ['company.deleted', company.id],
    ['label.created', label.id],
  ])
})

test('is_internal chooses messages, and nothing else', async () => {
  const { agent } = own
  const told = await listen({ is_internal: false })
  const ticket = await createTicket(agent)
  await createMessage(agent, ticket.id, { is_internal: true })
  const { id } = await createMessage(agent, ticket.id)
  const messages = (await told()).filter(([event]) => event.startsWith('message.'))
  expect(messages).toEqual([['message.created', id]])
  expect((await told()).map(([event]) => event)).toContain('ticket.created')
})

test('what is queued stays when the filter changes', async () => {
  const webhook = await createWebhook(own.admin)
  await createTicket(own.agent)
  await own.admin.patch(`/webhooks/${webhook.id}`, { filter: { status: ['closed'] } })
  await createTicket(own.agent)
  const { data } = (await own.admin.get(`/webhooks/${webhook.id}/deliveries`)).body
  expect(data.map(({ status }: { status: string }) => status)).toEqual(['pending'])
})
