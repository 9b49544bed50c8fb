import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { createLabel, createMessage, createTicket, logTime } from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

test('the timeline tells what happened, oldest first, and who did it', async () => {
  const { agent, admin } = await createOrganization()
  const label = await createLabel(agent)
  const { id } = await createTicket(agent, { description: 'It burns' })
  const path = `/tickets/${id}`
  await agent.patch(path, { subject: 'New', status: 'pending', priority: 'high', assignee_id: admin.user_id })
  await admin.post(`${path}/labels`, { label_ids: [label.id] })
  await admin.delete(`${path}/labels`, { label_ids: [label.id] })
  const note = await createMessage(agent, id, { is_internal: true })
  const entry = await logTime(agent, id)
  const { messages } = (await agent.get(path)).body.data
  const answer = await agent.get(`${path}/activity`)
  expect(answer.status).toBe(200)
  const by_agent = { type: 'user', id: agent.user_id, name: 'Alan Agent' }
  const by_admin = { type: 'user', id: admin.user_id, name: 'Ada Admin' }
  const shown_label = { id: label.id, name: label.name, color: label.color }
  const expected = [
    ['created', by_agent, {}],
    ['message', by_agent, { message_id: messages[0].id, direction: 'inbound' }],
    ['changed', by_agent, { field: 'subject', from: 'Printer on fire', to: 'New' }],
    ['changed', by_agent, { field: 'status', from: 'open', to: 'pending' }],
    ['changed', by_agent, { field: 'priority', from: 'normal', to: 'high' }],
    ['changed', by_agent, { field: 'assignee', from: null, to: { id: admin.user_id, name: 'Ada Admin' } }],
    ['labels_added', by_admin, { labels: [shown_label] }],
    ['labels_removed', by_admin, { labels: [shown_label] }],
    ['note', by_agent, { message_id: note.id }],
    ['time_logged', by_agent, { time_entry_id: entry.id, duration_minutes: 60, billable: true }],
  ]
  expect(answer.body).toEqual({
    data: expected.map(([type, actor, data]) => ({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      type,
      actor,
      data,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    })),
    meta: { total: 10, page: 1, per_page: 20, next_cursor: null },
  })
})

test('the timeline is paged', async () => {
  const { agent } = await createOrganization()
  const { id } = await createTicket(agent)
  for (const priority of ['low', 'high', 'urgent', 'normal']) await agent.patch(`/tickets/${id}`, { priority })
  const all = (await agent.get(`/tickets/${id}/activity`)).body.data
  const second = (await agent.get(`/tickets/${id}/activity?page=2&per_page=2`)).body
  expect(second).toEqual({
    data: all.slice(2, 4),
    meta: { total: 5, page: 2, per_page: 2, next_cursor: expect.any(String) },
  })
  const beyond = (await agent.get(`/tickets/${id}/activity?page=9`)).body
  expect(beyond).toEqual({ data: [], meta: { total: 5, page: 9, per_page: 20, next_cursor: null } })
})

test('replacing the labels tells which came and which went', async () => {
  const { agent } = await createOrganization()
  const [kept, gone, come] = [await createLabel(agent), await createLabel(agent), await createLabel(agent)]
  const { id } = await createTicket(agent, { label_ids: [kept.id, gone.id] })
  await agent.patch(`/tickets/${id}`, { label_ids: [kept.id, come.id] })
  const { data } = (await agent.get(`/tickets/${id}/activity`)).body
  expect(data.slice(1)).toMatchObject([
    { type: 'labels_added', data: { labels: [{ id: come.id }] } },
    { type: 'labels_removed', data: { labels: [{ id: gone.id }] } },
  ])
})
