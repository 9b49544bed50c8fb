/** Fields of an organization's own, on tickets, contacts and companies. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { inTransaction } from '../../../src/base/scope'
import { rebuildSearch } from '../../../src/desk/search/ticket-document'
import { type Answer, type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { nodeUrls } from '../../support/cluster'
import {
  activityOf,
  createCompany,
  createContact,
  createTicket,
  hearEvents,
  writtenEvents,
} from '../../support/factories'
import { fingerprint } from '../../support/world'

beforeAll(() => startApi())
afterAll(stopApi)

const VALUES = { tier: 'gold', seats: 25.5, vip: true, tags: ['red', 'blue'], constructor: 'Renzo' }

const KINDS = [
  ['tickets', createTicket],
  ['contacts', createContact],
  ['companies', createCompany],
] as const

/** The ids that a list finds. */
async function found(client: Client, path: string): Promise<string[]> {
  const answer = await client.get(path)
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status} ${answer.text}`)
  const { data, meta } = answer.body
  expect(meta.total).toBe(data.length)
  return data.map(({ id }: { id: string }) => id)
}

/** The places of the faults of a request. */
function pathsOf(answer: Answer, code: string): string[] {
  expectError(answer, 422, code)
  return answer.body.error.details.errors.map(({ path }: { path: string }) => path)
}

describe.each(KINDS)('%s', (kind, create) => {
  test('have none at first, keep what they are given, and a PATCH merges', async () => {
    const { agent } = await createOrganization()
    const plain = await create(agent)
    expect(plain.custom).toEqual({})
    const { id, custom } = await create(agent, { custom: { ...VALUES, absent: null } })
    expect(custom).toEqual(VALUES)
    const change = async (custom: unknown) => (await agent.patch(`/${kind}/${id}`, { custom })).body.data.custom
    const { tier: _, ...others } = VALUES
    expect(await change({ tier: null, seats: -1, floor: 3 })).toEqual({ ...others, seats: -1, floor: 3 })
    expect(await change({})).toEqual({ ...others, seats: -1, floor: 3 })
    expect((await agent.get(`/${kind}/${id}`)).body.data.custom).toEqual({ ...others, seats: -1, floor: 3 })
    expect(await change(null)).toEqual({})
    expect(await found(agent, `/${kind}?custom.vip=true`)).toEqual([])
  })

  test('are found by a value as JSON writes it, or by one of a list, and by all filters together', async () => {
    const [{ agent }, { agent: stranger }] = [await createOrganization(), await createOrganization()]
    const one = await create(agent, { custom: VALUES })
    const two = await create(agent, { custom: { tier: 'silver', seats: 25, vip: 'true', tags: [] } })
    await create(stranger, { custom: VALUES })
    const by = (query: string) => found(agent, `/${kind}?${query}`)
    expect(await by('custom.tier=gold')).toEqual([one.id])
    expect(await by('custom.tier=Gold')).toEqual([])
    expect(await by('custom.seats=25.50')).toEqual([one.id])
    expect(await by('custom.seats=25')).toEqual([two.id])
    expect(await by('custom.vip=true')).toEqual([two.id, one.id])
    expect(await by('custom.tags=blue')).toEqual([one.id])
    expect(await by('custom.tags=red,blue')).toEqual([])
    expect(await by('custom.constructor=Renzo')).toEqual([one.id])
    expect(await by('custom.vip=true&custom.seats=25.5&custom.tags=red')).toEqual([one.id])
    expect(await by('custom.vip=true&custom.tier=bronze')).toEqual([])
    expect(await by('custom=gold')).toHaveLength(2)
    await agent.patch(`/${kind}/${two.id}`, { custom: { tier: 'gold' } })
    expect(await by('custom.tier=gold')).toEqual([two.id, one.id])
    const first = (await agent.get(`/${kind}?custom.tier=gold&per_page=1`)).body
    const next = `/${kind}?per_page=1&cursor=${first.meta.next_cursor}`
    expect((await agent.get(`${next}&custom.tier=gold`)).body.data).toMatchObject([{ id: one.id }])
    expectError(await agent.get(`${next}&custom.tier=silver`), 422, 'VALIDATION_ERROR')
  })

  test('wrong ones are refused with their place, all at once, and change nothing', async () => {
    const { agent, scope } = await createOrganization()
    const { id } = await create(agent, { custom: VALUES })
    const before = await fingerprint(scope.organization_id)
    const refused = async (custom: unknown, ...paths: string[]) => {
      for (const answer of [
        await agent.patch(`/${kind}/${id}`, { custom }),
        await agent.post(`/${kind}`, { name: 'N', subject: 'S', email: 'n@customer.example', contact_id: id, custom }),
      ]) {
        expect(pathsOf(answer, 'INVALID_CUSTOM')).toEqual(paths)
      }
    }
    await refused('gold', '/custom')
    await refused(['gold'], '/custom')
    await refused(
      { a: {}, b: [1], c: 'x'.repeat(1001), d: ['x'.repeat(256)], e: Array(51).fill('x'), f: 1 },
      ...[...['/custom/a', '/custom/b', '/custom/c', '/custom/d', '/custom/e']],
    )
    await refused(
      { Tier: 'gold', _id: 'x', ['a'.repeat(64)]: 1 },
      '/custom/Tier',
      '/custom/_id',
      `/custom/${'a'.repeat(64)}`,
    )
    await refused(Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`f${n}`, n])), '/custom/f50')
    await refused(Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`f${n}`, 'x'.repeat(1000)])), '/custom/f16')
    expectError(await agent.patch(`/${kind}/${id}`, { custom: { tier: 'a\u0000b' } }), 422, 'VALIDATION_ERROR')
    const wrong = await agent.get(`/${kind}?custom.Tier=1&custom.a=${'x'.repeat(1001)}&custom.b=2`)
    expect(pathsOf(wrong, 'VALIDATION_ERROR')).toEqual(['/query/custom.Tier', '/query/custom.a'])
    const six = ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => `custom.${key}=1`).join('&')
    expectError(await agent.get(`/${kind}?${six}`), 422, 'VALIDATION_ERROR')
    expect(await fingerprint(scope.organization_id)).toEqual(before)
  })

  test('50 fields may give way to 50 others, and one of two changes at once keeps the other', async () => {
    const { agent } = await createOrganization()
    const fifty = (name: string) => Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`${name}${n}`, n]))
    const { id } = await create(agent, { custom: fifty('a') })
    const gone = Object.fromEntries(Object.keys(fifty('a')).map((key) => [key, null]))
    const swapped = await agent.patch(`/${kind}/${id}`, { custom: { ...gone, ...fifty('b') } })
    expect(swapped.body.data.custom).toEqual(fifty('b'))
    await agent.patch(`/${kind}/${id}`, { custom: null })
    await Promise.all(['x', 'y', 'z'].map((key) => agent.patch(`/${kind}/${id}`, { custom: { [key]: 1 } })))
    expect((await agent.get(`/${kind}/${id}`)).body.data.custom).toEqual({ x: 1, y: 1, z: 1 })
  })
})

test('an event and the timeline tell the changed fields of a ticket alone, and no change tells nothing', async () => {
  const { agent, scope } = await createOrganization()
  const { id } = await createTicket(agent, { custom: { tier: 'gold', tags: ['a', 'b'], floor: 3 } })
  await hearEvents(scope)
  await agent.patch(`/tickets/${id}`, { custom: { tier: 'gold', tags: ['a', 'b'] } })
  expect(await writtenEvents(scope)).toEqual([])
  await agent.patch(`/tickets/${id}`, { custom: { tier: 'gold', tags: ['b', 'a'], floor: null, room: 5 } })
  const change = { from: { tags: ['a', 'b'], floor: 3, room: null }, to: { tags: ['b', 'a'], floor: null, room: 5 } }
  expect(await writtenEvents(scope)).toMatchObject([
    {
      event: 'ticket.updated',
      data: { id, custom: { tier: 'gold', tags: ['b', 'a'], room: 5 }, changes: { custom: change } },
    },
  ])
  expect((await activityOf(scope, id)).at(-1)).toMatchObject({ type: 'changed', data: { field: 'custom', ...change } })
})

test('a list of tickets joins custom fields with every other filter, search and sort', async () => {
  const { agent } = await createOrganization()
  const custom = { tier: 'gold' }
  const contact = await createContact(agent)
  const one = await createTicket(agent, { custom, contact_id: contact.id, subject: 'fire', priority: 'low' })
  const two = await createTicket(agent, {
    custom,
    contact_id: contact.id,
    subject: 'water',
    assignee_id: agent.user_id,
  })
  await createTicket(agent, { contact_id: contact.id, subject: 'gold fire', priority: 'low' })
  const by = (query: string) => found(agent, `/tickets?custom.tier=gold&${query}`)
  for (const sort of ['created_at', 'updated_at', 'priority']) {
    expect(await by(`sort=${sort}`)).toEqual([one.id, two.id])
    expect(await by(`sort=-${sort}`)).toEqual([two.id, one.id])
  }
  expect(await by('search=fire')).toEqual([one.id])
  expect(await by('search=gold')).toEqual([])
  expect(await by('search=!!')).toEqual([])
  expect(await by('priority=low')).toEqual([one.id])
  expect(await by(`assignee_id=${agent.user_id}`)).toEqual([two.id])
  expect(await by(`contact_id=${contact.id}`)).toEqual([two.id, one.id])
  expect(await by(`created_before=2020-01-01T00:00:00Z`)).toEqual([])
  await agent.patch(`/tickets/${one.id}`, { status: 'closed', subject: 'smoke' })
  expect(await by('status=closed&search=smoke')).toEqual([one.id])
  expect(await by('status=open')).toEqual([two.id])
  await agent.delete(`/tickets/${two.id}`)
  expect(await by('')).toEqual([one.id])
})

test('the total of one custom field is exact, however the tickets change', async () => {
  const { agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  for (const tier of ['gold', 'gold', 'silver']) await createTicket(agent, { custom: { tier, lists: [tier, 'all'] } })
  const totals = async () => {
    const lists = [
      'custom.tier=gold',
      'custom.lists=all',
      'custom.tier=gold&status=open',
      'custom.tier=gold&status=closed',
    ]
    const metas = await Promise.all(lists.map(async (list) => (await agent.get(`/tickets?${list}`)).body.meta))
    expect(metas.every(({ total_is_exact }) => total_is_exact)).toBe(true)
    return metas.map(({ total }) => total)
  }
  expect(await totals()).toEqual([2, 3, 2, 0])
  const [newest, silver] = (await agent.get('/tickets?custom.lists=all&sort=created_at')).body.data.slice(1)
  await agent.patch(`/tickets/${newest.id}`, { status: 'closed' })
  expect(await totals()).toEqual([2, 3, 1, 1])
  await agent.patch(`/tickets/${silver.id}`, { custom: { tier: 'gold', lists: null } })
  expect(await totals()).toEqual([3, 2, 2, 1])
  await agent.delete(`/tickets/${newest.id}`)
  expect(await totals()).toEqual([2, 1, 2, 0])
  await sql`delete from tickets where organization_id = ${organization_id} and id = ${newest.id}`.catch(() => {})
  expect(await totals()).toEqual([2, 1, 2, 0])
})

test('a ticket is found by its fields after its document was made anew, by an older process too', async () => {
  const { agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const { id } = await createTicket(agent, { custom: { tier: 'gold' } })
  await inTransaction(scope, (scope) => rebuildSearch(scope, id))
  expect(await found(agent, '/tickets?custom.tier=gold')).toEqual([id])
  // A cluster has no older processes, and not the trigger that mends what they write (`base/db/cluster`).
  if (nodeUrls()) return
  const [{ number } = { number: 0 }] = await sql<{ number: number }[]>`
    select number from organizations where id = ${organization_id}`
  await sql`
    update ticket_search set document = ${`'${number}.0:printer':1`}::tsvector
    where organization_id = ${organization_id} and ticket_id = ${id}`
  expect(await found(agent, '/tickets?custom.tier=gold')).toEqual([id])
})

test('a merged contact lacks no field of the others, the first of which counts, and has no more than fit', async () => {
  const { agent } = await createOrganization()
  const [one, two, three] = [
    await createContact(agent, { custom: { tier: 'gold' } }),
    await createContact(agent, { custom: { tier: 'silver', seats: 1 } }),
    await createContact(agent, { custom: { seats: 2, vip: true } }),
  ]
  const merge = (source_ids: string[]) => agent.post(`/contacts/${one.id}/merge`, { source_ids })
  expect((await merge([two.id, three.id])).body.data.custom).toEqual({ tier: 'gold', seats: 1, vip: true })
  expect(await found(agent, '/contacts?custom.vip=true')).toEqual([one.id])
  const many = await createContact(agent, {
    custom: Object.fromEntries(Array.from({ length: 48 }, (_, n) => [`f${n}`, n])),
  })
  expect(pathsOf(await merge([many.id]), 'VALIDATION_ERROR')).toEqual(['/source_ids'])
})

test('many tickets get fields by one request, which finds them by fields', async () => {
  const { agent } = await createOrganization()
  const { id } = await createTicket(agent, { custom: { tier: 'gold' } })
  await createTicket(agent)
  const changes = { custom: { tier: 'silver', seen: true } }
  const bulk = (filter: unknown) => agent.post('/tickets/bulk', { filter, changes })
  expect((await bulk({ custom: { tier: 'gold' } })).body.data).toMatchObject([{ id, result: 'changed' }])
  expect((await bulk({ custom: { seen: 'true' } })).body.data).toMatchObject([{ id, result: 'unchanged' }])
  const wrong = await bulk({ custom: { Tier: 'gold' } })
  expect(pathsOf(wrong, 'VALIDATION_ERROR')).toEqual(['/filter/custom/Tier'])
  expectError(await bulk({ custom: {} }), 422, 'VALIDATION_ERROR')
  for (const custom of [{ Bad: 1 }, { Bad: null }, { bad: {} }, { ['x'.repeat(64)]: 'x' }]) {
    const body = { ids: [id], changes: { custom } }
    const refused = await agent.post('/tickets/bulk', body)
    expect(pathsOf(refused, 'INVALID_CUSTOM')).toEqual([`/changes/custom/${Object.keys(custom)[0]}`])
    const changed = await agent.patch(`/tickets/${id}`, { custom })
    expect(pathsOf(changed, 'INVALID_CUSTOM')).toEqual([`/custom/${Object.keys(custom)[0]}`])
    const macro = await agent.post('/macros', { name: 'M', changes: { custom } })
    expect(pathsOf(macro, 'INVALID_CUSTOM')).toEqual([`/changes/custom/${Object.keys(custom)[0]}`])
  }
})
