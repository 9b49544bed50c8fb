import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { cursorOf } from '../../../src/base/shapes/cursor'
import { type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createCompany, createContact, createLabel, createTicket } from '../../support/factories'

let shelf: Awaited<ReturnType<typeof fillShelf>>

beforeAll(async () => {
  await startApi()
  shelf = await fillShelf()
})
afterAll(stopApi)

/** Seven tickets, one a day from 2026-03-01T12:00:00.000Z on, named A to G in the order of their creation. */
async function fillShelf() {
  const organization = await createOrganization()
  const { agent, admin, scope } = organization
  const company = await createCompany(agent)
  const [carla, carl] = [await createContact(agent, { company_id: company.id }), await createContact(agent)]
  const [red, blue, unused] = [await createLabel(agent), await createLabel(agent), await createLabel(agent)]
  const fields: Record<string, Record<string, unknown>> = {
    A: { contact_id: carla.id, priority: 'low', label_ids: [red.id] },
    B: { contact_id: carla.id, priority: 'urgent', assignee_id: agent.user_id },
    C: { contact_id: carla.id, priority: 'high', assignee_id: agent.user_id, label_ids: [red.id, blue.id] },
    D: { contact_id: carl.id, priority: 'urgent', assignee_id: admin.user_id },
    E: { contact_id: carl.id, priority: 'normal', label_ids: [blue.id] },
    F: { contact_id: carl.id, priority: 'low', assignee_id: agent.user_id },
    G: { contact_id: carl.id, priority: 'high' },
  }
  for (const [index, [subject, given]] of Object.entries(fields).entries()) {
    const { id } = await createTicket(agent, { subject, ...given })
    await bringBack(id, Date.parse('2026-03-01T12:00:00Z') + index * 86_400_000)
  }
  const statuses = { B: 'pending', C: 'resolved', D: 'closed', E: 'closed' }
  for (const [subject, status] of Object.entries(statuses)) {
    await scope.sql`
      update tickets set status = ${status} where organization_id = ${organization.id} and subject = ${subject}`
  }
  // Last changed in the order D, A, G, B, C, E, F.
  for (const [index, subject] of [...'DAGBCEF'].entries()) {
    await scope.sql`
      update tickets set updated_at = timestamptz '2026-04-01 00:00Z' + make_interval(mins => ${index})
      where organization_id = ${organization.id} and subject = ${subject}`
  }
  // Tickets that a list must never show: a deleted one and another organization's.
  const deleted = await createTicket(agent, { subject: 'deleted', contact_id: carla.id, label_ids: [red.id] })
  await agent.delete(`/tickets/${deleted.id}`)
  await createTicket((await createOrganization()).agent, { subject: 'foreign' })
  return { ...organization, company, carla, carl, red, blue, unused }

  /** The time of creation is the time in the id. */
  async function bringBack(id: string, time_ms: number) {
    const hex = time_ms.toString(16).padStart(12, '0')
    const old = `${hex.slice(0, 8)}-${hex.slice(8)}${newId().slice(13)}`
    await scope.sql.unsafe(`
      create temp table moved on commit drop as select * from ticket_labels where ticket_id = '${id}';
      delete from activities where ticket_id = '${id}';
      delete from ticket_labels where ticket_id = '${id}';
      delete from ticket_search where ticket_id = '${id}';
      update tickets set id = '${old}' where id = '${id}';
      insert into ticket_labels select organization_id, '${old}', label_id from moved`)
  }
}

/** The subjects of a list, in its order. */
async function subjects(client: Client, query = ''): Promise<string> {
  const answer = await client.get(`/tickets${query}`)
  expect(answer.status).toBe(200)
  const found = answer.body.data.map((ticket: { subject: string }) => ticket.subject).join('')
  if (!query.includes('page=')) expect(answer.body.meta.total).toBe(answer.body.data.length)
  return found
}

describe('the list', () => {
  test('shows all tickets of the organization, newest first, with every field', async () => {
    const { agent, carla, company, red, blue } = shelf
    expect(await subjects(agent)).toBe('GFEDCBA')
    const { data, meta } = (await agent.get('/tickets')).body
    expect(meta).toEqual({ total: 7, total_is_exact: true, page: 1, per_page: 20, next_cursor: null })
    expect(data[4]).toEqual({
      id: expect.any(String),
      code: 'TKT-3',
      subject: 'C',
      status: 'resolved',
      priority: 'high',
      contact: { id: carla.id, name: carla.name, email: carla.email },
      company: { id: company.id, name: company.name },
      assignee: { id: agent.user_id, name: 'Alan Agent' },
      team: null,
      mailbox: null,
      labels: [red, blue].map(({ id, name, color }) => ({ id, name, color })),
      parent: null,
      snoozed_until: null,
      rating: null,
      external_id: null,
      custom: {},
      merged_into: null,
      split_from: null,
      sla: null,
      ...{ last_message: null, waiting_since: null, message_count: 0, attachment_count: 0, draft_count: 0 },
      unread: false,
      read_to: null,
      created_at: '2026-03-03T12:00:00Z',
      updated_at: '2026-04-01T00:04:00Z',
    })
  })

  test.each([
    ['status=open', 'GFA'],
    ['status=pending', 'B'],
    ['status=closed', 'ED'],
    ['priority=low', 'FA'],
    ['priority=normal', 'E'],
    ['priority=urgent', 'DB'],
    ['status=closed&priority=urgent', 'D'],
    ['status=pending&priority=low', ''],
    ['status=pending,open', 'GFBA'],
    ['status=open,%20open', 'GFA'],
    ['status=open,pending,resolved,closed', 'GFEDCBA'],
    ['priority=low,urgent', 'FDBA'],
    ['status=closed,pending&priority=urgent,normal', 'EDB'],
    ['waiting=true', ''],
    ['has_draft=false', 'GFEDCBA'],
    ['nonsense=1', 'GFEDCBA'],
    ['search=', 'GFEDCBA'],
    ['search=%20', 'GFEDCBA'],
  ])('%s gives %p', async (query, expected) => {
    expect(await subjects(shelf.agent, `?${query}`)).toBe(expected)
  })

  test('filters by assignee, contact, company and label', async () => {
    const { agent, admin, carla, company, red, blue, unused } = shelf
    expect(await subjects(agent, `?assignee_id=${agent.user_id}`)).toBe('FCB')
    expect(await subjects(agent, `?assignee_id=${admin.user_id.toUpperCase()}`)).toBe('D')
    expect(await subjects(agent, `?contact_id=${carla.id}`)).toBe('CBA')
    expect(await subjects(agent, `?company_id=${company.id}`)).toBe('CBA')
    expect(await subjects(agent, `?label_ids=${red.id}`)).toBe('CA')
    expect(await subjects(agent, `?label_ids=${unused.id}`)).toBe('')
    expect(await subjects(agent, `?label_ids=${red.id},${blue.id}`)).toBe('ECA')
    expect(await subjects(agent, `?label_ids=${red.id}, ${unused.id},${red.id}`)).toBe('CA')
    expect(await subjects(agent, `?label_ids=${red.id},${blue.id}&status=closed`)).toBe('E')
    expect(await subjects(agent, `?label_ids=${red.id}&assignee_id=${agent.user_id}&contact_id=${carla.id}`)).toBe('C')
  })

  test('an id that names nothing here gives an empty list', async () => {
    const other = await createOrganization()
    const foreign = {
      assignee_id: other.agent.user_id,
      contact_id: (await createContact(other.agent)).id,
      company_id: (await createCompany(other.agent)).id,
      label_ids: (await createLabel(other.agent)).id,
    }
    for (const [name, id] of Object.entries(foreign)) {
      expect(await subjects(shelf.agent, `?${name}=${id}`)).toBe('')
      expect(await subjects(shelf.agent, `?${name}=${newId()}`)).toBe('')
    }
  })

  test.each([
    ['created_after=2026-03-03T12:00:00Z', 'GFED'],
    ['created_after=2026-03-03T11:59:59.999Z', 'GFEDC'],
    ['created_after=2026-03-03T14:00:00%2B02:00', 'GFED'],
    ['created_before=2026-03-03T12:00:00Z', 'BA'],
    ['created_before=2026-03-03T12:00:00.001Z', 'CBA'],
    ['created_after=2026-03-02T12:00:00Z&created_before=2026-03-05T12:00:00Z', 'DC'],
    ['created_after=2026-03-05T12:00:00Z&created_before=2026-03-02T12:00:00Z', ''],
    ['created_after=0001-01-01T00:00:00Z', 'GFEDCBA'],
    ['created_before=0001-01-01T00:00:00Z', ''],
    ['created_before=9999-12-31T23:59:59Z', 'GFEDCBA'],
    ['created_after=9999-12-31T23:59:59Z', ''],
    ['created_after=9999-12-31T23:59:59-14:00', ''],
    ['created_before=0001-01-01T00:00:00%2B14:00', ''],
    ['created_after=1970-01-01T00:00:00Z&created_before=2026-03-03T12:00:00z', 'BA'],
    ['created_after=2017-01-01T00:59:60.5%2B01:00&created_before=2026-06-30T23:59:60Z', 'GFEDCBA'],
    ['created_after=2026-03-01T12:00:00Z&status=closed', 'ED'],
  ])('%s, exclusive, gives %p', async (query, expected) => {
    expect(await subjects(shelf.agent, `?${query}`)).toBe(expected)
  })

  test.each([
    ['created_at', 'ABCDEFG'],
    ['-created_at', 'GFEDCBA'],
    ['updated_at', 'DAGBCEF'],
    ['-updated_at', 'FECBGAD'],
    ['priority', 'AFECGBD'],
    ['-priority', 'DBGCEFA'],
  ])('sort=%s gives %s', async (sort, expected) => {
    expect(await subjects(shelf.agent, `?sort=${sort}`)).toBe(expected)
    const { red, blue } = shelf
    const labelled = [...expected].filter((subject) => 'ACE'.includes(subject)).join('')
    expect(await subjects(shelf.agent, `?sort=${sort}&label_ids=${red.id},${blue.id}`)).toBe(labelled)
  })

  test('pages cut the list where they should', async () => {
    const { agent, red, blue } = shelf
    expect(await subjects(agent, '?page=1&per_page=3')).toBe('GFE')
    expect(await subjects(agent, '?page=2&per_page=3')).toBe('DCB')
    expect(await subjects(agent, '?page=3&per_page=3')).toBe('A')
    expect(await subjects(agent, `?page=2&per_page=2&label_ids=${red.id},${blue.id}`)).toBe('A')
    for (const filter of ['', `&label_ids=${red.id},${blue.id}`]) {
      const beyond = await agent.get(`/tickets?page=1000000000&per_page=100${filter}`)
      expect(beyond.body).toEqual({
        data: [],
        meta: { total: filter ? 3 : 7, total_is_exact: true, page: 1_000_000_000, per_page: 100, next_cursor: null },
      })
    }
    expect((await agent.get('/tickets?per_page=101')).body.meta).toEqual({
      total: 7,
      total_is_exact: true,
      page: 1,
      per_page: 100,
      next_cursor: null,
    })
  })

  test.each([
    ['status=done', 'INVALID_STATUS', 'status'],
    ['status=open,done', 'INVALID_STATUS', 'status'],
    ['status=open,', 'INVALID_STATUS', 'status'],
    ['priority=low,asap', 'INVALID_PRIORITY', 'priority'],
    ['waiting=yes', 'VALIDATION_ERROR', 'waiting'],
    ['has_draft=1', 'VALIDATION_ERROR', 'has_draft'],
    ['mailbox_id=none', 'VALIDATION_ERROR', 'mailbox_id'],
    ['sort=last_message', 'VALIDATION_ERROR', 'sort'],
    ['priority=asap', 'INVALID_PRIORITY', 'priority'],
    ['assignee_id=alan', 'VALIDATION_ERROR', 'assignee_id'],
    ['label_ids=red', 'VALIDATION_ERROR', 'label_ids'],
    ['label_ids=', 'VALIDATION_ERROR', 'label_ids'],
    ['search=%00', 'VALIDATION_ERROR', 'search'],
    ['created_after=2026-03-01', 'VALIDATION_ERROR', 'created_after'],
    ['created_after=2026-03-01T12:00:00', 'VALIDATION_ERROR', 'created_after'],
    ['created_after=2026-02-01T24:00:00Z', 'VALIDATION_ERROR', 'created_after'],
    ['created_after=2026-02-01T00:00:00%2B24:00', 'VALIDATION_ERROR', 'created_after'],
    ['created_before=2026-02-28T12:59:60Z', 'VALIDATION_ERROR', 'created_before'],
    ['created_before=2016-12-31T23:59:60%2B01:00', 'VALIDATION_ERROR', 'created_before'],
    ['created_before=2016-12-31T23:59:61Z', 'VALIDATION_ERROR', 'created_before'],
  ])('%s is refused', async (query, code, name) => {
    const answer = await shelf.agent.get(`/tickets?${query}`)
    expect(answer.status).toBe(422)
    expect(answer.body.error).toMatchObject({
      code,
      details: { errors: [{ path: `/query/${name}`, message: expect.any(String) }] },
    })
  })

  test('a cursor that was made before several words could be given leads on', async () => {
    const { agent, scope } = shelf
    const { data } = (await agent.get('/tickets?status=open&per_page=1')).body
    const filter = { status: 'open' }
    const cursor = cursorOf({ organization_id: scope.organization_id, name: 'tickets', filter }, [data[0].id])
    expect(await subjects(agent, `?status=open&per_page=20&cursor=${cursor}`)).toBe('FA')
    expect((await agent.get(`/tickets?status=open,closed&cursor=${cursor}`)).status).toBe(422)
  })

  test('a key needs drafts:read to filter by drafts, also by a view', async () => {
    const { admin, agent } = await createOrganization()
    const ticket = await createTicket(agent)
    await agent.post(`/tickets/${ticket.id}/drafts`, { body: 'Perhaps' })
    const view = await admin.post('/views', { name: 'Begun', filter: { has_draft: 'true' }, shared: true })
    const [without, reading] = await Promise.all([
      createProgram(admin, ['tickets:read', 'tickets:write']),
      createProgram(admin, ['tickets:read', 'drafts:read']),
    ])
    for (const query of ['has_draft=true', 'has_draft=false', `view_id=${view.body.data.id}`]) {
      expectError(await without.get(`/tickets?${query}`), 403, 'FORBIDDEN')
    }
    const filter = { has_draft: true }
    expectError(await without.post('/tickets/bulk', { filter, changes: { status: 'closed' } }), 403, 'FORBIDDEN')
    expect((await reading.get('/tickets?has_draft=true')).body.meta.total).toBe(1)
    expect((await reading.get('/tickets?has_draft=false')).body.meta.total).toBe(0)
  })

  test('a ticket without contact and company shows null', async () => {
    const { agent } = await createOrganization()
    const { contact } = await createTicket(agent)
    await agent.delete(`/contacts/${contact.id}`)
    expect((await agent.get('/tickets')).body.data).toMatchObject([{ contact: null, company: null, assignee: null }])
  })
})
