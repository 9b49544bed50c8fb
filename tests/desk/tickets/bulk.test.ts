/** One change of many tickets. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { inTransaction } from '../../../src/base/scope'
import { changeTickets } from '../../../src/desk/tickets/bulk'
import { type Client, createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { activityOf, createLabel, createTicket, hearEvents, insertTicket, writtenEvents } from '../../support/factories'
import { insertTickets } from '../../support/many-tickets'
import { fingerprint } from '../../support/world'

beforeAll(() => startApi())
afterAll(stopApi)

const bulk = (client: Client, body: unknown, headers?: Record<string, string>) =>
  client.post('/tickets/bulk', body, headers)

async function several({ scope }: Organization, count: number) {
  const tickets = []
  for (let n = 0; n < count; n++) tickets.push(await insertTicket(scope))
  return tickets
}

const ids = (tickets: { id: string }[]) => tickets.map(({ id }) => id)

describe('tickets by ids', () => {
  test('each is changed like by PATCH, with its events and activity, in the order given', async () => {
    const organization = await createOrganization()
    const { agent, scope } = organization
    const [keep, drop, add] = [await createLabel(agent), await createLabel(agent), await createLabel(agent)]
    const one = await createTicket(agent, { label_ids: [keep.id, drop.id] })
    const two = await createTicket(agent)
    await hearEvents(scope)
    const changes = {
      status: 'pending',
      priority: 'urgent',
      assignee_id: agent.user_id,
      add_label_ids: [add.id.toUpperCase(), add.id],
      remove_label_ids: [drop.id],
    }
    const answer = await bulk(agent, { ids: [two.id, one.id.toUpperCase(), two.id], changes })
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        data: [two, one].map(({ id, code }) => ({ id, code, result: 'changed', error: null })),
        meta: { changed: 2, unchanged: 0, failed: 0, next_cursor: null },
      },
    ])
    const { data } = (await agent.get(`/tickets/${one.id}`)).body
    expect(data).toMatchObject({ status: 'pending', priority: 'urgent', assignee: { id: agent.user_id } })
    expect(ids(data.labels).toSorted()).toEqual([keep.id, add.id].toSorted())
    const events = await writtenEvents(scope)
    expect(events.map(({ event, data }) => [data.id, event])).toEqual(
      [two, one].flatMap(({ id }) =>
        ['ticket.updated', 'ticket.assigned', 'ticket.status_changed'].map((event) => [id, event]),
      ),
    )
    const types = (await activityOf(scope, one.id)).map(({ type }) => type)
    expect(types.slice(1)).toEqual(['changed', 'changed', 'changed', 'labels_added', 'labels_removed'])
    const again = await bulk(agent, { ids: [one.id, two.id], changes })
    expect(again.body.meta).toEqual({ changed: 0, unchanged: 2, failed: 0, next_cursor: null })
    expect((await writtenEvents(scope)).length).toBe(events.length)
  })

  test('what one refuses stands in its result, and it stays wholly as it is', async () => {
    const organization = await createOrganization()
    const stranger = await createOrganization()
    const { agent, scope } = organization
    const [open, closed, gone] = await several(organization, 3)
    const [foreign] = await several(stranger, 1)
    await agent.patch(`/tickets/${closed!.id}`, { status: 'closed' })
    await agent.delete(`/tickets/${gone!.id}`)
    const before = await fingerprintOf(stranger)
    const given = [closed!.id, foreign!.id, 'no id', gone!.id, newId(), open!.id]
    const changes = { status: 'pending', priority: 'high' }
    const { status, body } = await bulk(agent, { ids: given, changes })
    expect([status, body.meta]).toEqual([200, { changed: 1, unchanged: 0, failed: 5, next_cursor: null }])
    expect(ids(body.data)).toEqual(given)
    expect(body.data[0]).toMatchObject({
      code: closed!.code,
      result: 'failed',
      error: { code: 'INVALID_STATUS', details: { from: 'closed', to: 'pending', allowed: ['open'] } },
    })
    for (const { code, result, error } of body.data.slice(1, 5)) {
      expect([code, result, error.code, error.details]).toEqual([null, 'failed', 'TICKET_NOT_FOUND', {}])
    }
    expect((await agent.get(`/tickets/${closed!.id}`)).body.data).toMatchObject({
      status: 'closed',
      priority: 'normal',
    })
    expect((await agent.get(`/tickets/${open!.id}`)).body.data).toMatchObject(changes)
    expect(await fingerprintOf(stranger)).toEqual(before)
    expect((await activityOf(scope, closed!.id)).length).toBe(1)
  })

  test('label_ids replaces, and null unassigns', async () => {
    const { agent } = await createOrganization()
    const [old, wanted] = [await createLabel(agent), await createLabel(agent)]
    const ticket = await createTicket(agent, { label_ids: [old.id], assignee_id: agent.user_id })
    await bulk(agent, { ids: [ticket.id], changes: { label_ids: [wanted.id], assignee_id: null } })
    const { data } = (await agent.get(`/tickets/${ticket.id}`)).body
    expect([data.assignee, ids(data.labels)]).toEqual([null, [wanted.id]])
  })
})

/** The tickets of an organization as their rows stand. */
async function fingerprintOf({ scope: { sql, organization_id } }: Organization) {
  return sql`select xmin, t from tickets t where organization_id = ${organization_id} order by id`
}

describe('tickets by filter', () => {
  test('come 100 a call, newest first, and next_cursor leads on', async () => {
    const { agent, scope } = await createOrganization()
    const { id: contact_id } = (await agent.post('/contacts', { name: 'Carl', email: 'carl@customer.example' })).body
      .data
    const all = (await insertTickets(scope, contact_id, 120)).toSorted().toReversed()
    const other = await insertTicket(scope)
    const change = (more: object) =>
      bulk(agent, { filter: { contact_id, status: 'open' }, changes: { status: 'closed' }, ...more })
    const first = (await change({})).body
    expect(first.meta).toEqual({ changed: 100, unchanged: 0, failed: 0, next_cursor: expect.any(String) })
    const second = (await change({ cursor: first.meta.next_cursor })).body
    expect(second.meta).toEqual({ changed: 20, unchanged: 0, failed: 0, next_cursor: null })
    expect(ids([...first.data, ...second.data])).toEqual(all)
    expect((await agent.get(`/tickets/${other.id}`)).body.data.status).toBe('open')
    expect((await change({})).body).toEqual({
      data: [],
      meta: { changed: 0, unchanged: 0, failed: 0, next_cursor: null },
    })
  })

  test('match as in the list, whatever the filter', async () => {
    const { agent } = await createOrganization()
    const label = await createLabel(agent)
    const ticket = await createTicket(agent, {
      ...{ subject: 'Fax', label_ids: [label.id], priority: 'high' },
      custom: { paid: true, size: 1.5, colour: 'red' },
    })
    await createTicket(agent, { subject: 'Printer' })
    const created = Date.parse(ticket.created_at)
    for (const filter of [
      { label_ids: [label.id] },
      { search: ' fax ' },
      { priority: 'high' },
      { priority: ['high', 'urgent'], status: ['open'] },
      { custom: { paid: true } },
      { custom: { size: 1.5, colour: 'red' } },
      { contact_id: ticket.contact.id },
      { search: 'fax', created_after: new Date(created - 2000).toISOString() },
    ]) {
      const { data } = (await bulk(agent, { filter, changes: { priority: 'low' }, dry_run: true })).body
      expect([filter, ids(data)]).toEqual([filter, [ticket.id]])
    }
    const late = { created_before: '2020-01-01T00:00:00+02:00' }
    for (const filter of [{ assignee_id: newId() }, { company_id: newId() }, { search: '-' }, late]) {
      expect((await bulk(agent, { filter, changes: { priority: 'low' } })).body.data).toEqual([])
    }
  })
})

test('a dry run answers the same and changes nothing', async () => {
  const organization = await createOrganization()
  const { agent } = organization
  const [open, closed] = await several(organization, 2)
  await agent.patch(`/tickets/${closed!.id}`, { status: 'closed' })
  const request = { ids: [open!.id, closed!.id, newId()], changes: { status: 'pending' } }
  const before = await fingerprint(organization.id)
  const dry = await bulk(agent, { ...request, dry_run: true })
  expect(await fingerprint(organization.id)).toEqual(before)
  expect(dry.body.meta).toEqual({ changed: 1, unchanged: 0, failed: 2, next_cursor: null })
  expect((await bulk(agent, request)).body).toEqual(dry.body)
})

describe('a request at fault changes nothing', () => {
  const some = [newId()]
  const wrong: [body: object, code: string, path: string][] = [
    [{}, 'VALIDATION_ERROR', '/changes'],
    [{ changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/ids'],
    [{ ids: some }, 'VALIDATION_ERROR', '/changes'],
    [{ ids: some, changes: null }, 'VALIDATION_ERROR', '/changes'],
    [{ ids: some, changes: {} }, 'VALIDATION_ERROR', '/changes'],
    [{ ids: some, changes: { colour: 'red' } }, 'VALIDATION_ERROR', '/changes'],
    [{ ids: some, filter: { status: 'open' }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter'],
    [{ ids: some, cursor: 'x', changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/cursor'],
    [{ ids: [], changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/ids'],
    [{ ids: Array.from({ length: 101 }, newId), changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/ids'],
    [{ ids: [7], changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/ids/0'],
    [{ ids: some, changes: { priority: 'asap' } }, 'INVALID_PRIORITY', '/changes/priority'],
    [{ ids: some, changes: { status: 'done' } }, 'INVALID_STATUS', '/changes/status'],
    [{ ids: some, changes: { subject: ' ' } }, 'VALIDATION_ERROR', '/changes/subject'],
    [{ ids: some, changes: { assignee_id: 'nobody' } }, 'USER_NOT_FOUND', '/changes/assignee_id'],
    [{ ids: some, changes: { label_ids: [newId()] } }, 'LABEL_NOT_FOUND', '/changes/label_ids'],
    [{ ids: some, changes: { add_label_ids: [newId()] } }, 'LABEL_NOT_FOUND', '/changes/add_label_ids'],
    [{ ids: some, changes: { remove_label_ids: ['red'] } }, 'LABEL_NOT_FOUND', '/changes/remove_label_ids'],
    [{ ids: some, changes: { label_ids: [], add_label_ids: [] } }, 'VALIDATION_ERROR', '/changes/add_label_ids'],
    [{ ids: some, changes: { label_ids: [], remove_label_ids: [] } }, 'VALIDATION_ERROR', '/changes/remove_label_ids'],
    [
      { ids: some, changes: { add_label_ids: ['A'], remove_label_ids: ['a'] } },
      'VALIDATION_ERROR',
      '/changes/remove_label_ids',
    ],
    [{ filter: {}, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter'],
    [{ filter: { colour: 'red' }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/colour'],
    [{ filter: { status: 'open', labels: [] }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/labels'],
    [{ filter: { 'custom.a': 'x' }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/custom.a'],
    [{ filter: { status: 'open,closed' }, changes: { priority: 'low' } }, 'INVALID_STATUS', '/filter/status'],
    [{ filter: { status: [] }, changes: { priority: 'low' } }, 'INVALID_STATUS', '/filter/status'],
    [{ filter: { priority: ['low', 'asap'] }, changes: { priority: 'low' } }, 'INVALID_PRIORITY', '/filter/priority'],
    [{ filter: { waiting: 'true' }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/waiting'],
    [{ filter: { custom: { a: null } }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/custom/a'],
    [{ filter: { custom: { a: ['x'] } }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/custom/a'],
    [{ filter: { custom: {} }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/custom'],
    [{ filter: { search: '  ' }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/search'],
    [{ filter: { label_ids: [] }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/label_ids'],
    [{ filter: { assignee_id: null }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/assignee_id'],
    [{ filter: { contact_id: 'carl' }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/contact_id'],
    [{ filter: { created_after: 'now' }, changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/filter/created_after'],
    [{ filter: { status: 'done' }, changes: { priority: 'low' } }, 'INVALID_STATUS', '/filter/status'],
    [{ filter: { status: 'open' }, cursor: 'x', changes: { priority: 'low' } }, 'VALIDATION_ERROR', '/cursor'],
    [{ ids: some, changes: { priority: 'low' }, dry_run: 'yes' }, 'VALIDATION_ERROR', '/dry_run'],
  ]
  let organization: Organization
  beforeAll(async () => {
    organization = await createOrganization()
    await several(organization, 1)
  })

  test.each(wrong)('%j is %s at %s', async (body, code, path) => {
    const before = await fingerprint(organization.id)
    const answer = await bulk(organization.agent, body)
    expectError(answer, 422, code)
    expect(answer.body.error.details.errors[0].path).toBe(path)
    expect(await fingerprint(organization.id)).toEqual(before)
  })

  test('users and labels that are unknown are all named', async () => {
    const label_id = newId()
    const changes = { assignee_id: 'nobody', add_label_ids: [label_id] }
    const { details } = (await bulk(organization.agent, { filter: { status: 'open' }, changes })).body.error
    expect(details.errors.map(({ path }: { path: string }) => path)).toEqual([
      '/changes/assignee_id',
      '/changes/add_label_ids',
    ])
  })

  test('a cursor of another organization or filter is refused', async () => {
    const { agent, scope } = await createOrganization()
    const { id: contact_id } = (await agent.post('/contacts', { name: 'Carl', email: 'c@customer.example' })).body.data
    await insertTickets(scope, contact_id, 101)
    const body = { filter: { status: 'open' }, changes: { priority: 'normal' }, dry_run: true }
    const { next_cursor: cursor } = (await bulk(agent, body)).body.meta
    expectError(await bulk(organization.agent, { ...body, cursor }), 422, 'VALIDATION_ERROR')
    expectError(await bulk(agent, { ...body, filter: { priority: 'normal' }, cursor }), 422, 'VALIDATION_ERROR')
    expect((await bulk(agent, { ...body, cursor })).body.data.length).toBe(1)
  })
})

test('a ticket that somebody holds, and those after it, are SERVICE_UNAVAILABLE when the time is over', async () => {
  const organization = await createOrganization()
  const { scope } = organization
  const [first, held, last] = await several(organization, 3)
  const input = { ids: ids([first!, held!, last!]), changes: { priority: 'low' as const } }
  const answer = await inTransaction(scope, async ({ sql }) => {
    await sql`select from tickets where organization_id = ${scope.organization_id} and id = ${held!.id} for update`
    return changeTickets(scope, input, 1000)
  })
  expect(answer.meta).toEqual({ changed: 1, unchanged: 0, failed: 2, next_cursor: null })
  expect(answer.data.slice(1)).toMatchObject(
    [held!, last!].map(({ id, code }) => ({ id, code, error: { code: 'SERVICE_UNAVAILABLE' } })),
  )
  expect((await changeTickets(scope, input)).meta).toMatchObject({ changed: 2, unchanged: 1 })
})

test('two at once that change the same tickets in other orders both end, and each ticket is changed once', async () => {
  const organization = await createOrganization()
  const { agent, scope } = organization
  const tickets = await several(organization, 10)
  await hearEvents(scope)
  const [one, two] = await Promise.all([
    bulk(agent, { ids: ids(tickets), changes: { priority: 'low' } }),
    bulk(agent, { ids: ids(tickets).toReversed(), changes: { priority: 'low' } }),
  ])
  expect(one.body.meta.changed + two.body.meta.changed).toBe(10)
  expect([one.body.meta.failed, two.body.meta.failed]).toEqual([0, 0])
  expect((await writtenEvents(scope)).length).toBe(10)
})
