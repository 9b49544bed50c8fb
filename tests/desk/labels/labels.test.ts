import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Answer, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { createLabel, createTicket, hearEvents, writtenEvents } from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

const NOBODY = '018f0000-0000-7000-8000-000000000000'
const UNUSED = { open: 0, pending: 0, resolved: 0, closed: 0 }

describe('creating', () => {
  test('a label is returned with every field', async () => {
    const { agent } = await createOrganization()
    const answer = await agent.post('/labels', { name: ' Bug ', color: '#ef44AA', description: ' Broken ', id: NOBODY })
    expect(answer.status).toBe(201)
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/),
      name: 'Bug',
      color: '#ef44AA',
      description: 'Broken',
      ticket_count: 0,
      usage: UNUSED,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    })
    expect((await agent.get(`/labels/${answer.body.data.id}`)).body).toEqual(answer.body)
  })

  test('needs no description', async () => {
    const { agent } = await createOrganization()
    expect((await createLabel(agent)).description).toBeNull()
    expect((await createLabel(agent, { description: null })).description).toBeNull()
  })

  test.each([
    [{ name: null }, 'VALIDATION_ERROR', '/name'],
    [{ name: ' ' }, 'VALIDATION_ERROR', '/name'],
    [{ name: 'n'.repeat(65) }, 'VALIDATION_ERROR', '/name'],
    [{ color: 'red' }, 'INVALID_COLOR', '/color'],
    [{ color: '#EF444' }, 'INVALID_COLOR', '/color'],
    [{ color: '#EF4444FF' }, 'INVALID_COLOR', '/color'],
    [{ color: '#EF444G' }, 'INVALID_COLOR', '/color'],
    [{ color: ' #EF4444' }, 'INVALID_COLOR', '/color'],
    [{ color: '#EF4444\n' }, 'INVALID_COLOR', '/color'],
    [{ color: '' }, 'INVALID_COLOR', '/color'],
    [{ color: 0xef4444 }, 'INVALID_COLOR', '/color'],
    [{ description: 'd'.repeat(501) }, 'VALIDATION_ERROR', '/description'],
  ])('is refused with %j', async (fields, code, path) => {
    const { agent } = await createOrganization()
    const label = await createLabel(agent)
    for (const answer of [
      await agent.post('/labels', { name: 'Bug', color: '#EF4444', ...fields }),
      await agent.patch(`/labels/${label.id}`, fields),
    ]) {
      expectError(answer, 422, code)
      expect(answer.body.error.details.errors.map((error: { path: string }) => error.path)).toEqual([path])
    }
    expect((await agent.get('/labels')).body.data).toHaveLength(1)
    expect((await agent.get(`/labels/${label.id}`)).body.data).toEqual(label)
  })

  test('accepts fields as long as allowed, in code points after trimming', async () => {
    const { agent } = await createOrganization()
    const label = await createLabel(agent, { name: ` ${'😀'.repeat(64)} `, description: '😀'.repeat(500) })
    expect(label).toMatchObject({ name: '😀'.repeat(64), description: '😀'.repeat(500) })
  })

  test('a name is used once in the organization, without regard to case', async () => {
    const { agent } = await createOrganization()
    const other = await createOrganization()
    await createLabel(agent, { name: 'Größe' })
    const answer = await agent.post('/labels', { name: ' GRÖßE', color: '#EF4444' })
    expectError(answer, 422, 'LABEL_NAME_EXISTS')
    expect(answer.body.error.details.errors[0].path).toBe('/name')
    await createLabel(other.agent, { name: 'Größe' })
  })

  test('one name many times at once makes one label', async () => {
    const { agent } = await createOrganization()
    const body = { name: 'Race', color: '#EF4444' }
    const answers = await Promise.all(Array.from({ length: 8 }, () => agent.post('/labels', body)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    for (const answer of answers) if (answer.status !== 201) expectError(answer, 422, 'LABEL_NAME_EXISTS')
  })
})

describe('reading', () => {
  test('all labels are listed by name without regard to case, without meta', async () => {
    const { agent } = await createOrganization()
    for (const name of ['b', 'C', 'a']) await createLabel(agent, { name })
    const answer = await agent.get('/labels')
    expect(answer.status).toBe(200)
    expect(names(answer)).toEqual(['a', 'b', 'C'])
    expect(Object.keys(answer.body)).toEqual(['data'])
    const fields = ['color', 'created_at', 'description', 'id', 'name', 'ticket_count']
    expect(Object.keys(answer.body.data[0]).sort()).toEqual(fields)
  })

  test('more than a page of labels comes at once', async () => {
    const { agent, scope } = await createOrganization()
    await scope.sql`
      insert into labels (organization_id, id, name, color)
      select ${scope.organization_id}, ('018f0000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 'Label ' || i, '#000000'
      from generate_series(1, 150) i`
    expect((await agent.get('/labels')).body.data).toHaveLength(150)
    expect((await agent.get('/labels?per_page=1000')).body.data).toHaveLength(100)
  })

  test('a page is given to those who ask for one, with meta', async () => {
    const { agent } = await createOrganization()
    for (const name of ['a', 'b', 'c']) await createLabel(agent, { name })
    const second = await agent.get('/labels?page=2&per_page=2')
    expect([second.body.meta, names(second)]).toEqual([{ total: 3, page: 2, per_page: 2, next_cursor: null }, ['c']])
    expect((await agent.get('/labels?page=1')).body.meta).toEqual({
      total: 3,
      page: 1,
      per_page: 20,
      next_cursor: null,
    })
    expect((await agent.get('/labels?per_page=1')).body).toMatchObject({ meta: { page: 1, per_page: 1 } })
  })

  test('tickets are counted, by status for a single label, without deleted ones', async () => {
    const { agent } = await createOrganization()
    const { id } = await createLabel(agent)
    const unused = await createLabel(agent)
    for (const status of ['open', 'open', 'pending', 'resolved', 'closed']) {
      const ticket = await createTicket(agent, { label_ids: [id] })
      if (status !== 'open') await agent.patch(`/tickets/${ticket.id}`, { status })
    }
    const deleted = await createTicket(agent, { label_ids: [id] })
    await agent.delete(`/tickets/${deleted.id}`)
    const usage = { open: 2, pending: 1, resolved: 1, closed: 1 }
    expect((await agent.get(`/labels/${id}`)).body.data).toMatchObject({ ticket_count: 5, usage })
    expect((await agent.get(`/labels/${unused.id}`)).body.data).toMatchObject({ ticket_count: 0, usage: UNUSED })
    const counts = (await agent.get('/labels')).body.data
    expect(counts.find((label: { id: string }) => label.id === id).ticket_count).toBe(5)
  })
})

describe('updating', () => {
  test('changes what is given and nothing else', async () => {
    const { agent } = await createOrganization()
    const label = await createLabel(agent, { description: 'Broken' })
    const path = `/labels/${label.id.toUpperCase()}`
    const expected = { ...label }
    for (const changes of [{ name: 'Defect' }, { color: '#22C55E' }, { description: null }, { description: 'x' }, {}]) {
      Object.assign(expected, changes)
      const answer = await agent.patch(path, changes)
      expect([answer.status, answer.body.data]).toEqual([200, expected])
    }
    expect((await agent.get(path)).body.data).toEqual(expected)
  })

  test('shows on every ticket that carries the label', async () => {
    const { agent } = await createOrganization()
    const { id } = await createLabel(agent)
    const ticket = await createTicket(agent, { label_ids: [id] })
    await agent.patch(`/labels/${id}`, { name: 'Defect', color: '#22C55E' })
    const labels = (await agent.get(`/tickets/${ticket.id}`)).body.data.labels
    expect(labels).toEqual([{ id, name: 'Defect', color: '#22C55E' }])
  })

  test('to a name that is used is refused; the own in another case is not', async () => {
    const { agent } = await createOrganization()
    await createLabel(agent, { name: 'Bug' })
    const label = await createLabel(agent, { name: 'Idea' })
    const answer = await agent.patch(`/labels/${label.id}`, { name: 'bug', color: '#000000' })
    expectError(answer, 422, 'LABEL_NAME_EXISTS')
    expect(answer.body.error.details.errors[0].path).toBe('/name')
    expect((await agent.get(`/labels/${label.id}`)).body.data).toEqual(label)
    expect((await agent.patch(`/labels/${label.id}`, { name: 'IDEA' })).body.data.name).toBe('IDEA')
  })
})

describe('deleting', () => {
  test('removes the label from its tickets, which do not change otherwise', async () => {
    const { agent, scope } = await createOrganization()
    const { id } = await createLabel(agent)
    const kept = await createLabel(agent)
    const ticket = await createTicket(agent, { label_ids: [id, kept.id] })
    await hearEvents(scope)
    const answer = await agent.delete(`/labels/${id}`)
    expect([answer.status, answer.text]).toEqual([204, ''])
    const after = (await agent.get(`/tickets/${ticket.id}`)).body.data
    expect(after.labels.map((label: { id: string }) => label.id)).toEqual([kept.id])
    expect(after.updated_at).toBe(ticket.updated_at)
    expect((await writtenEvents(scope)).map(({ event }) => event)).toEqual(['label.deleted'])
    expectError(await agent.get(`/labels/${id}`), 404, 'LABEL_NOT_FOUND')
  })
})

function names(answer: Answer): string[] {
  return answer.body.data.map(({ name }: { name: string }) => name)
}
