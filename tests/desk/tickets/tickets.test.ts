import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { transact } from '../../../src/base/db/transact'
import { inTransaction } from '../../../src/base/scope'
import { updateTicket } from '../../../src/desk/tickets/commands'
import { openTickets } from '../../../src/desk/tickets/open-tickets'
import { createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import {
  createCompany,
  createContact,
  createLabel,
  createMessage,
  createTicket,
  hearEvents,
  logTime,
  writtenEvents,
} from '../../support/factories'
import { isSomeoneWaiting } from '../../support/lock-waits'

let unchanged: ReturnType<typeof createUnchanged>

beforeAll(async () => {
  await startApi()
  unchanged = createUnchanged()
})
afterAll(stopApi)

/** An organization for refused requests, which must not change it: one ticket, and a webhook that gets no event. */
async function createUnchanged() {
  const organization = await createOrganization()
  const ticket = await createTicket(organization.agent)
  await hearEvents(organization.scope)
  return { ...organization, ticket, contact_id: ticket.contact.id }
}

const NOBODY = '018f0000-0000-7000-8000-000000000000'
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

describe('creating', () => {
  test('a ticket is returned with every field', async () => {
    const { agent } = await createOrganization()
    const company = await createCompany(agent, { ticket_prefix: 'ACME' })
    const contact = await createContact(agent, { company_id: company.id })
    const labels = [await createLabel(agent, { name: 'b' }), await createLabel(agent, { name: 'A' })]
    const answer = await agent.post('/tickets', {
      subject: ' Printer on fire ',
      description: 'It burns',
      contact_id: contact.id,
      priority: 'urgent',
      assignee_id: agent.user_id,
      label_ids: [labels[0].id, labels[1].id, labels[0].id],
      status: 'closed',
    })
    expect(answer.status).toBe(201)
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      code: 'ACME-1',
      subject: 'Printer on fire',
      status: 'open',
      priority: 'urgent',
      contact: { id: contact.id, name: contact.name, email: contact.email },
      company: { id: company.id, name: company.name },
      assignee: { id: agent.user_id, name: 'Alan Agent' },
      team: null,
      mailbox: null,
      labels: [
        { id: labels[1].id, name: 'A', color: labels[1].color },
        { id: labels[0].id, name: 'b', color: labels[0].color },
      ],
      parent: null,
      snoozed_until: null,
      rating: null,
      external_id: null,
      merged_into: null,
      split_from: null,
      sla: null,
      last_message: {
        id: expect.any(String),
        direction: 'inbound',
        sender: { name: contact.name, email: contact.email },
        excerpt: 'It burns',
        created_at: expect.stringMatching(INSTANT),
      },
      waiting_since: expect.stringMatching(INSTANT),
      ...{ message_count: 1, attachment_count: 0, draft_count: 0 },
      custom: {},
      unread: true,
      read_to: null,
      created_at: expect.stringMatching(INSTANT),
      updated_at: expect.stringMatching(INSTANT),
    })
    const { messages, time_entries, ...ticket } = (await agent.get(`/tickets/${answer.body.data.id}`)).body.data
    expect(ticket).toEqual(answer.body.data)
    expect(messages).toMatchObject([{ body: 'It burns', direction: 'inbound', is_internal: false }])
    expect(time_entries).toEqual([])
  })

  test('what is left out or null has its default', async () => {
    const { agent } = await createOrganization()
    const nulls = { description: null, priority: null, assignee_id: null, label_ids: null }
    for (const fields of [{}, nulls]) {
      const ticket = await createTicket(agent, fields)
      expect(ticket).toMatchObject({ status: 'open', priority: 'normal', company: null, assignee: null, labels: [] })
      expect((await agent.get(`/tickets/${ticket.id}`)).body.data.messages).toEqual([])
    }
  })

  test('the description is a message of the contact and sends no email', async () => {
    const { agent } = await createOrganization()
    const ticket = await createTicket(agent, { description: ' <p>It <b>burns</b></p>' })
    const { messages } = (await agent.get(`/tickets/${ticket.id}`)).body.data
    expect(messages).toMatchObject([
      {
        body: ' <p>It <b>burns</b></p>',
        sender: { name: ticket.contact.name, email: ticket.contact.email },
        direction: 'inbound',
        email_status: 'none',
        email_sent: false,
      },
    ])
  })

  test.each(['', ' \n\t', '<p> </p>', '<p>&nbsp;</p>'])(
    'the blank description %p makes no message',
    async (description) => {
      const { agent } = await createOrganization()
      const ticket = await createTicket(agent, { description })
      expect((await agent.get(`/tickets/${ticket.id}`)).body.data.messages).toEqual([])
    },
  )

  test.each([
    [{ subject: undefined }, 'VALIDATION_ERROR', '/subject'],
    [{ subject: ' ' }, 'VALIDATION_ERROR', '/subject'],
    [{ subject: null }, 'VALIDATION_ERROR', '/subject'],
    [{ contact_id: undefined }, 'VALIDATION_ERROR', '/contact_id'],
    [{ contact_id: 'carla' }, 'CONTACT_NOT_FOUND', '/contact_id'],
    [{ priority: 'asap' }, 'INVALID_PRIORITY', '/priority'],
    [{ assignee_id: 'alan' }, 'USER_NOT_FOUND', '/assignee_id'],
    [{ label_ids: ['red'] }, 'LABEL_NOT_FOUND', '/label_ids'],
    [{ label_ids: [7] }, 'VALIDATION_ERROR', '/label_ids/0'],
  ])('%j is refused with %s', async (fields, code, path) => {
    const { agent, scope, contact_id } = await unchanged
    const answer = await agent.post('/tickets', { subject: 'Printer on fire', contact_id, ...fields })
    expect(answer.status).toBe(422)
    expect(answer.body.error.code).toBe(code)
    expect(answer.body.error.details.errors).toEqual([{ path, message: expect.any(String) }])
    expect((await agent.get('/tickets')).body.meta.total).toBe(1)
    expect(await writtenEvents(scope)).toEqual([])
  })

  test.each([
    ['a subject of 256 characters', { subject: 'x'.repeat(256) }, '/subject'],
    ['a description of 1,000,001 characters', { description: 'x'.repeat(1_000_001) }, '/description'],
    ['51 labels', { label_ids: Array(51).fill(NOBODY) }, '/label_ids'],
  ])('%s are too many', async (_, fields, path) => {
    const { agent, contact_id } = await unchanged
    const answer = await agent.post('/tickets', { subject: 'Printer on fire', contact_id, ...fields })
    expect(answer.status).toBe(422)
    expect(answer.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { errors: [{ path }] } })
  })

  test('the longest subject and description are kept', async () => {
    const { agent } = await createOrganization()
    const subject = '🖨'.repeat(255)
    const description = `${'x'.repeat(999_990)} the end`
    const ticket = await createTicket(agent, { subject, description })
    expect(ticket.subject).toBe(subject)
    expect((await agent.get(`/tickets/${ticket.id}`)).body.data.messages[0].body).toBe(description)
  })

  test('all unknown ids are told at once, under the code of the first field', async () => {
    const { agent } = await createOrganization()
    const label = await createLabel(agent)
    const answer = await agent.post('/tickets', {
      subject: 'x',
      contact_id: NOBODY,
      assignee_id: 'alan',
      label_ids: ['red', label.id, NOBODY],
    })
    expect(answer.status).toBe(422)
    expect(answer.body.error.code).toBe('CONTACT_NOT_FOUND')
    expect(answer.body.error.details.ids).toEqual([NOBODY])
    const paths = answer.body.error.details.errors.map((error: { path: string }) => error.path)
    expect(paths).toEqual(['/contact_id', '/assignee_id', '/label_ids'])
  })

  test('unknown labels are named in the details, each once', async () => {
    const { agent } = await createOrganization()
    const label = await createLabel(agent)
    const contact = await createContact(agent)
    const label_ids = ['red', label.id, NOBODY, NOBODY]
    const answer = await agent.post('/tickets', { subject: 'x', contact_id: contact.id, label_ids })
    expect(answer.body.error).toMatchObject({ code: 'LABEL_NOT_FOUND', details: { ids: ['red', NOBODY] } })
  })

  test('ids may be written in upper case', async () => {
    const { agent } = await createOrganization()
    const contact = await createContact(agent)
    const label = await createLabel(agent)
    const ticket = await createTicket(agent, {
      contact_id: contact.id.toUpperCase(),
      assignee_id: agent.user_id.toUpperCase(),
      label_ids: [label.id.toUpperCase(), label.id],
    })
    expect(ticket).toMatchObject({ contact: { id: contact.id }, assignee: { id: agent.user_id } })
    expect(ticket.labels).toHaveLength(1)
  })

  test('a company that the contact is getting reaches a ticket that is made meanwhile', async () => {
    const { agent } = await createOrganization()
    const company = await createCompany(agent)
    const contact = await createContact(agent)
    let ticket: Promise<{ company: unknown }> | undefined
    await transact(connection(), async ({ sql }) => {
      await sql`update contacts set company_id = ${company.id} where id = ${contact.id}`
      ticket = createTicket(agent, { contact_id: contact.id })
      const made = ticket.then(() => true)
      while (!(await Promise.race([made, isSomeoneWaiting()])));
    })
    expect((await ticket)!.company).toEqual({ id: company.id, name: company.name })
  })

  test('an email makes a ticket with its own first message, in the mailbox that received it', async () => {
    const { agent, scope } = await createOrganization()
    const contact = await createContact(agent)
    const actor = { type: 'contact', id: contact.id, name: contact.name, email: contact.email } as const
    const first = {
      id: newId(),
      body: 'It burns',
      format: 'text',
      body_html: 'It burns',
      text: 'It burns',
      is_internal: false,
      direction: 'inbound',
      sender_name: 'Carla on the road',
      sender_email: 'carla@road.example',
      email_message_id: 'one@road.example',
    } as const
    const ticket = { id: newId(), subject: 'Mail', contact_id: contact.id, mailbox_id: null, actor, first }
    await inTransaction(scope, (scope) => openTickets(scope, [ticket]))
    const { messages } = (await agent.get(`/tickets/${ticket.id}`)).body.data
    expect(messages).toMatchObject([{ sender: { name: 'Carla on the road' }, email_message_id: 'one@road.example' }])
    const activity = (await agent.get(`/tickets/${ticket.id}/activity`)).body.data
    expect(activity[0]).toMatchObject({ type: 'created', actor: { type: 'contact', id: contact.id } })
  })
})

describe('reading', () => {
  test('the single ticket has its messages, notes too, and its time entries', async () => {
    const { agent } = await createOrganization()
    const ticket = await createTicket(agent, { description: 'It burns' })
    const note = await createMessage(agent, ticket.id, { body: 'Call them', is_internal: true })
    const entry = await logTime(agent, ticket.id, { description: 'Water' })
    const { messages, time_entries } = (await agent.get(`/tickets/${ticket.id}`)).body.data
    expect(messages).toMatchObject([
      { body: 'It burns', sender: { name: ticket.contact.name }, created_at: expect.stringMatching(INSTANT) },
      { id: note.id, is_internal: true },
    ])
    expect(time_entries).toMatchObject([
      { id: entry.id, duration_minutes: 60, description: 'Water', billable: true, user: { name: 'Alan Agent' } },
    ])
  })
})

describe('updating', () => {
  test('only the given fields change', async () => {
    const { agent } = await createOrganization()
    const label = await createLabel(agent)
    const ticket = await createTicket(agent, { priority: 'high', label_ids: [label.id], assignee_id: agent.user_id })
    const answer = await agent.patch(`/tickets/${ticket.id}`, { subject: ' Printer drowned ', code: 'X-1', id: NOBODY })
    expect(answer.status).toBe(200)
    expect(answer.body.data).toEqual({
      ...ticket,
      subject: 'Printer drowned',
      updated_at: expect.stringMatching(INSTANT),
    })
    const { messages: _, time_entries: __, ...read } = (await agent.get(`/tickets/${ticket.id}`)).body.data
    expect(read).toEqual(answer.body.data)
  })

  test('all fields change together', async () => {
    const { agent, admin } = await createOrganization()
    const [old_label, label] = [await createLabel(agent), await createLabel(agent)]
    const ticket = await createTicket(agent, { label_ids: [old_label.id], assignee_id: agent.user_id })
    const changes = { subject: 'New', status: 'pending', priority: 'low', assignee_id: admin.user_id }
    const answer = await agent.patch(`/tickets/${ticket.id}`, { ...changes, label_ids: [label.id] })
    expect(answer.body.data).toMatchObject({
      subject: 'New',
      status: 'pending',
      priority: 'low',
      assignee: { id: admin.user_id, name: 'Ada Admin' },
      labels: [{ id: label.id, name: label.name, color: label.color }],
    })
  })

  test('null unassigns and an empty list clears the labels', async () => {
    const { agent } = await createOrganization()
    const label = await createLabel(agent)
    const ticket = await createTicket(agent, { assignee_id: agent.user_id, label_ids: [label.id] })
    const answer = await agent.patch(`/tickets/${ticket.id}`, { assignee_id: null, label_ids: [] })
    expect(answer.body.data).toMatchObject({ assignee: null, labels: [] })
  })

  test.each([
    [{ subject: '' }, 'VALIDATION_ERROR', '/subject'],
    [{ status: 'done' }, 'INVALID_STATUS', '/status'],
    [{ status: null }, 'INVALID_STATUS', '/status'],
    [{ priority: 'asap' }, 'INVALID_PRIORITY', '/priority'],
    [{ priority: null }, 'INVALID_PRIORITY', '/priority'],
    [{ assignee_id: 'alan' }, 'USER_NOT_FOUND', '/assignee_id'],
  ])('%j is refused with %s and nothing changes', async (fields, code, path) => {
    const { agent, scope, ticket } = await unchanged
    const answer = await agent.patch(`/tickets/${ticket.id}`, { subject: 'New', priority: 'high', ...fields })
    expect(answer.status).toBe(422)
    expect(answer.body.error.code).toBe(code)
    expect(answer.body.error.details.errors).toMatchObject([{ path }])
    expect((await agent.get('/tickets')).body.data).toEqual([ticket])
    expect(await writtenEvents(scope)).toEqual([])
  })

  test('an assignee must be an active member of the organization', async () => {
    const { agent, scope, addMember } = await createOrganization()
    const ticket = await createTicket(agent)
    const [left, resting] = [await addMember('agent'), await addMember('agent')]
    await scope.sql`update memberships set removed_at = now() where user_id = ${left.user_id}`
    await scope.sql`update memberships set active = false where user_id = ${resting.user_id}`
    for (const assignee_id of [left.user_id, resting.user_id]) {
      for (const answer of [
        await agent.patch(`/tickets/${ticket.id}`, { assignee_id }),
        await agent.post(`/tickets/${ticket.id}/assign`, { assignee_id }),
        await agent.post('/tickets', { subject: 'x', contact_id: ticket.contact.id, assignee_id }),
      ]) {
        expect(answer.status).toBe(422)
        expect(answer.body.error).toMatchObject({ code: 'USER_NOT_FOUND', details: { ids: [assignee_id] } })
      }
    }
  })

  test('a ticket keeps an assignee who is no longer active', async () => {
    const { agent, scope, addMember } = await createOrganization()
    const member = await addMember('agent', 'Lea Left')
    const ticket = await createTicket(agent, { assignee_id: member.user_id })
    await scope.sql`update memberships set active = false, removed_at = now() where user_id = ${member.user_id}`
    const answer = await agent.patch(`/tickets/${ticket.id}`, { priority: 'low' })
    expect(answer.body.data.assignee).toEqual({ id: member.user_id, name: 'Lea Left' })
  })

  test('updated_at moves with a change and stays without one', async () => {
    const { agent, scope } = await createOrganization()
    const ticket = await createTicket(agent)
    const age = () => scope.sql`update tickets set updated_at = now() - interval '1 hour' where id = ${ticket.id}`
    const readAge = async () => {
      const { updated_at } = (await agent.get(`/tickets/${ticket.id}`)).body.data
      return Date.now() - Date.parse(updated_at) > 600_000 ? 'old' : 'new'
    }
    const label = await createLabel(agent)
    const writes: [string, () => Promise<unknown>][] = [
      ['old', () => agent.patch(`/tickets/${ticket.id}`, { subject: ticket.subject, status: 'open' })],
      ['old', () => agent.patch(`/tickets/${ticket.id}`, {})],
      ['old', () => agent.post(`/tickets/${ticket.id}/labels`, { label_ids: [] })],
      ['old', () => agent.post(`/tickets/${ticket.id}/unassign`)],
      ['new', () => agent.patch(`/tickets/${ticket.id}`, { priority: 'low' })],
      ['new', () => agent.post(`/tickets/${ticket.id}/labels`, { label_ids: [label.id] })],
      ['new', () => agent.delete(`/tickets/${ticket.id}/labels`, { label_ids: [label.id] })],
      ['new', () => createMessage(agent, ticket.id)],
    ]
    for (const [expected, write] of writes) {
      await age()
      await write()
      expect(await readAge()).toBe(expected)
    }
  })
})

describe('assigning', () => {
  test('assign and unassign answer with the ticket', async () => {
    const { agent, admin } = await createOrganization()
    const ticket = await createTicket(agent)
    const assigned = await agent.post(`/tickets/${ticket.id}/assign`, { assignee_id: admin.user_id })
    expect(assigned.status).toBe(200)
    expect(assigned.body.data).toMatchObject({ id: ticket.id, assignee: { id: admin.user_id, name: 'Ada Admin' } })
    const unassigned = await agent.post(`/tickets/${ticket.id}/unassign`)
    expect(unassigned.status).toBe(200)
    expect(unassigned.body.data.assignee).toBeNull()
  })
})

describe('labels of a ticket', () => {
  test('added labels join those that are there, by name', async () => {
    const { agent } = await createOrganization()
    const [b, a, c] = [
      await createLabel(agent, { name: 'b' }),
      await createLabel(agent, { name: 'A' }),
      await createLabel(agent, { name: 'C' }),
    ]
    const ticket = await createTicket(agent, { label_ids: [b.id] })
    const answer = await agent.post(`/tickets/${ticket.id}/labels`, { label_ids: [c.id, a.id, b.id, a.id] })
    expect(answer.status).toBe(200)
    expect(answer.body.data.labels.map((label: { name: string }) => label.name)).toEqual(['A', 'b', 'C'])
    expect((await agent.get('/tickets')).body.data).toEqual([answer.body.data])
  })

  test('only the given labels are removed; one that is not on the ticket is no fault', async () => {
    const { agent } = await createOrganization()
    const [a, b, c] = [await createLabel(agent), await createLabel(agent), await createLabel(agent)]
    const ticket = await createTicket(agent, { label_ids: [a.id, b.id] })
    const answer = await agent.delete(`/tickets/${ticket.id}/labels`, { label_ids: [b.id, c.id] })
    expect(answer.status).toBe(200)
    expect(answer.body.data.labels.map((label: { id: string }) => label.id)).toEqual([a.id])
  })

  test.each(['post', 'delete'] as const)(
    '%s refuses an unknown label among known ones, and more than 50',
    async (method) => {
      const { agent } = await createOrganization()
      const label = await createLabel(agent)
      const ticket = await createTicket(agent, { label_ids: [label.id] })
      for (const [label_ids, code] of [
        [Array(51).fill(label.id), 'VALIDATION_ERROR'],
        [[label.id, 'red'], 'LABEL_NOT_FOUND'],
      ]) {
        expectError(await agent[method](`/tickets/${ticket.id}/labels`, { label_ids }), 422, code as string)
      }
      expect((await agent.get('/tickets')).body.data[0].labels).toHaveLength(1)
    },
  )

  test('labels that are added at the same time are all there', async () => {
    const { agent, scope } = await createOrganization()
    await hearEvents(scope)
    const ticket = await createTicket(agent)
    const labels = await Promise.all(Array.from({ length: 6 }, () => createLabel(agent)))
    await Promise.all(labels.map(({ id }) => agent.post(`/tickets/${ticket.id}/labels`, { label_ids: [id] })))
    const read = (await agent.get(`/tickets/${ticket.id}`)).body.data.labels
    expect(read.map((label: { id: string }) => label.id).sort()).toEqual(labels.map(({ id }) => id).sort())
    const sizes = (await writtenEvents(scope))
      .filter(({ event }) => event === 'ticket.updated')
      .map(({ data }) => [data.changes.labels.from.length, data.changes.labels.to.length])
    expect(sizes.sort()).toEqual([0, 1, 2, 3, 4, 5].map((count) => [count, count + 1]))
  })
})

describe('deleting', () => {
  test('a deleted ticket is gone from everywhere, but its time stays', async () => {
    const { agent } = await createOrganization()
    const label = await createLabel(agent)
    const ticket = await createTicket(agent, { description: 'burns', label_ids: [label.id] })
    await logTime(agent, ticket.id)
    const answer = await agent.delete(`/tickets/${ticket.id}`)
    expect(answer.status).toBe(204)
    expect(answer.text).toBe('')
    for (const query of ['', '?search=burns', `?search=${ticket.code}`, `?label_ids=${label.id}`, '?status=open']) {
      expect((await agent.get(`/tickets${query}`)).body).toMatchObject({ data: [], meta: { total: 0 } })
    }
    expect((await agent.get(`/labels/${label.id}`)).body.data.ticket_count).toBe(0)
    const contact = (await agent.get(`/contacts/${ticket.contact.id}`)).body.data
    expect(contact).toMatchObject({ total_tickets: 0, recent_tickets: [] })
    expect((await agent.get('/time-entries')).body.data).toMatchObject([{ ticket: { code: ticket.code } }])
  })
})

describe('events', () => {
  test('a new ticket with assignee and description is created, assigned and written to', async () => {
    const { organization, ticket, events } = await withEvents(async ({ agent }) => {
      return createTicket(agent, { description: 'It burns', assignee_id: agent.user_id })
    })
    const { messages } = (await organization.agent.get(`/tickets/${ticket.id}`)).body.data
    const { id, code, subject } = ticket
    expect(events.slice(1)).toEqual([
      event(organization, 'ticket.created', { ...ticket, draft_count: null, unread: null }),
      event(organization, 'ticket.assigned', { ...ticket, draft_count: null, unread: null }),
      event(organization, 'message.created', {
        ...messages[0],
        attachments: expect.anything(),
        ticket: { id, code, subject },
      }),
    ])
  })

  test('one change of everything is one update, then the assignment, then the status', async () => {
    const { organization, ticket: before } = await withEvents(({ agent }) => createTicket(agent))
    const { agent, admin, scope } = organization
    const label = await createLabel(agent)
    const seen = (await writtenEvents(scope)).length
    const changes = { subject: 'New', status: 'closed', priority: 'low', assignee_id: admin.user_id }
    const { data: after } = (await agent.patch(`/tickets/${before.id}`, { ...changes, label_ids: [label.id] })).body
    const told = { ...after, draft_count: null, unread: null }
    expect((await writtenEvents(scope)).slice(seen)).toEqual([
      event(organization, 'ticket.updated', {
        ...told,
        changes: {
          subject: { from: 'Printer on fire', to: 'New' },
          status: { from: 'open', to: 'closed' },
          priority: { from: 'normal', to: 'low' },
          assignee: { from: null, to: { id: admin.user_id, name: 'Ada Admin' } },
          labels: { from: [], to: [{ id: label.id, name: label.name, color: label.color }] },
        },
      }),
      event(organization, 'ticket.assigned', told),
      event(organization, 'ticket.status_changed', { ...told, previous_status: 'open' }),
    ])
  })

  test('each action tells what it did, and nothing when it changed nothing', async () => {
    const { organization, ticket } = await withEvents(({ agent }) => createTicket(agent))
    const { agent, admin, scope } = organization
    const label = await createLabel(agent)
    const path = `/tickets/${ticket.id}`
    const told = async (write: () => Promise<{ status: number }>) => {
      const seen = (await writtenEvents(scope)).length
      expect((await write()).status).toBeLessThan(300)
      return (await writtenEvents(scope)).slice(seen).map(({ event }) => event)
    }
    const assign = () => agent.post(`${path}/assign`, { assignee_id: admin.user_id })
    expect(await told(assign)).toEqual(['ticket.updated', 'ticket.assigned'])
    expect(await told(assign)).toEqual([])
    expect(await told(() => agent.post(`${path}/unassign`))).toEqual(['ticket.updated'])
    expect(await told(() => agent.post(`${path}/unassign`))).toEqual([])
    expect(await told(() => agent.post(`${path}/labels`, { label_ids: [label.id] }))).toEqual(['ticket.updated'])
    expect(await told(() => agent.post(`${path}/labels`, { label_ids: [label.id] }))).toEqual([])
    expect(await told(() => agent.post(`${path}/labels`, { label_ids: [] }))).toEqual([])
    expect(await told(() => agent.patch(path, { label_ids: [label.id] }))).toEqual([])
    expect(await told(() => agent.delete(`${path}/labels`, { label_ids: [] }))).toEqual([])
    expect(await told(() => agent.delete(`${path}/labels`, { label_ids: [label.id] }))).toEqual(['ticket.updated'])
    expect(await told(() => agent.delete(`${path}/labels`, { label_ids: [label.id] }))).toEqual([])
    expect(await told(() => agent.patch(path, { status: 'open', subject: ticket.subject }))).toEqual([])
    expect(await told(() => agent.patch(path, { status: 'resolved' }))).toEqual([
      'ticket.updated',
      'ticket.status_changed',
    ])
    expect(await told(() => agent.delete(path))).toEqual(['ticket.deleted'])
  })

  test('deletion carries the last state', async () => {
    const { organization, ticket } = await withEvents(({ agent }) => createTicket(agent))
    await organization.agent.delete(`/tickets/${ticket.id}`)
    const told = event(organization, 'ticket.deleted', { ...ticket, draft_count: null, unread: null })
    expect((await writtenEvents(organization.scope)).at(-1)).toEqual(told)
  })

  test('a customer who writes again reopens the ticket with the same events', async () => {
    const { organization, ticket } = await withEvents(({ agent }) => createTicket(agent))
    const { agent, scope } = organization
    await agent.patch(`/tickets/${ticket.id}`, { status: 'closed' })
    const seen = (await writtenEvents(scope)).length
    const actor = { type: 'contact', ...ticket.contact } as const
    await updateTicket({ ...scope, actor }, ticket.id, { status: 'open' })
    expect((await writtenEvents(scope)).slice(seen)).toMatchObject([
      { event: 'ticket.updated', data: { changes: { status: { from: 'closed', to: 'open' } } } },
      { event: 'ticket.status_changed', data: { status: 'open', previous_status: 'closed' } },
    ])
  })
})

async function withEvents(create: (organization: Organization) => Promise<{ id: string }>) {
  const organization = await createOrganization()
  await hearEvents(organization.scope)
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into
  const ticket = (await create(organization)) as any
  return { organization, ticket, events: await writtenEvents(organization.scope) }
}

function event(organization: Organization, type: string, data: unknown) {
  return { event: type, timestamp: expect.stringMatching(INSTANT), organization_id: organization.id, data }
}
