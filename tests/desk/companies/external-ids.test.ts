/** External ids of companies and tickets. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createOrganization, startApi, stopApi } from '../../support/api'
import {
  activityOf,
  createCompany,
  createContact,
  createTicket,
  hearEvents,
  writtenEvents,
} from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [status, body.error?.code]

describe.each(['companies', 'tickets'] as const)('an external id of %s', (kind) => {
  async function start() {
    const { agent, scope } = await createOrganization()
    const contact = await createContact(agent)
    const make = (fields: object) => {
      const own = kind === 'companies' ? { name: 'Acme' } : { subject: 'Printer', contact_id: contact.id }
      return agent.post(`/${kind}`, { ...own, ...fields })
    }
    return { agent, scope, make }
  }

  test('is unique, filters, and is free once it is cleared or the thing is deleted', async () => {
    const [{ agent, make }, other] = [await start(), await start()]
    expect((await other.make({ external_id: 'A 1' })).status).toBe(201)
    const first = (await make({ external_id: 'A 1' })).body.data
    const second = (await make({})).body.data
    expect([first.external_id, second.external_id]).toEqual(['A 1', null])
    const found = async (id: string) => {
      const { data, meta } = (await agent.get(`/${kind}?external_id=${encodeURIComponent(id)}`)).body
      return [meta.total, ...data.map((one: { id: string }) => one.id)]
    }
    expect([await found('A 1'), await found('a 1')]).toEqual([[1, first.id], [0]])
    for (const answer of [
      await make({ external_id: 'A 1' }),
      await agent.patch(`/${kind}/${second.id}`, { external_id: 'A 1' }),
    ]) {
      expect(codeOf(answer)).toEqual([422, 'EXTERNAL_ID_EXISTS'])
      expect(answer.body.error.details).toMatchObject({ id: first.id, errors: [{ path: '/external_id' }] })
    }
    expect((await agent.get(`/${kind}`)).body.meta.total).toBe(2)
    expect((await agent.patch(`/${kind}/${first.id}`, { external_id: null })).body.data.external_id).toBeNull()
    expect((await agent.patch(`/${kind}/${second.id}`, { external_id: 'A 1' })).body.data.external_id).toBe('A 1')
    await agent.delete(`/${kind}/${second.id}`)
    expect((await make({ external_id: 'A 1' })).status).toBe(201)
    for (const external_id of ['', 'x'.repeat(256), 5]) {
      expect(codeOf(await make({ external_id }))).toEqual([422, 'VALIDATION_ERROR'])
    }
  })

  test('of many at once one gets it', async () => {
    const { agent, make } = await start()
    const answers = await Promise.all(Array.from({ length: 12 }, () => make({ external_id: 'A 1' })))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(11)
    expect((await agent.get(`/${kind}`)).body.meta.total).toBe(1)
  })
})

test('a changed external id of a ticket is told, and stands in its timeline', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await createTicket(agent, { contact_id: (await createContact(agent)).id })
  await hearEvents(scope)
  await agent.patch(`/tickets/${ticket.id}`, { external_id: 'A 1' })
  const change = { from: null, to: 'A 1' }
  expect((await writtenEvents(scope)).map(({ event, data }) => [event, data.changes])).toEqual([
    ['ticket.updated', { external_id: change }],
  ])
  expect((await activityOf(scope, ticket.id)).at(-1)).toEqual({
    type: 'changed',
    data: { field: 'external_id', ...change },
  })
})

describe('PUT of a company by its external id', () => {
  test('creates it, changes it, heeds If-Match, and refuses another id', async () => {
    const { agent, scope } = await createOrganization()
    await hearEvents(scope)
    const path = '/companies/by-external-id/a%2F1'
    const made = await agent.put(path, { name: 'Acme', domains: ['ACME.example'], notes: null })
    expect([made.status, made.body.data]).toMatchObject([201, { external_id: 'a/1', domains: ['acme.example'] }])
    const stale = await agent.put(path, { name: 'New' }, { 'if-match': '"stale"' })
    expect(codeOf(stale)).toEqual([412, 'PRECONDITION_FAILED'])
    const changed = await agent.put(path, { notes: 'n' }, { 'if-match': made.headers.get('etag')! })
    expect([changed.status, changed.body.data]).toMatchObject([
      200,
      { id: made.body.data.id, name: 'Acme', notes: 'n' },
    ])
    expect((await agent.patch(`/companies/${made.body.data.id}`, { external_id: 'a/1' })).status).toBe(200)
    expect(codeOf(await agent.put(path, { external_id: 'b' }))).toEqual([422, 'VALIDATION_ERROR'])
    expect(codeOf(await agent.put('/companies/by-external-id/b', {}))).toEqual([422, 'VALIDATION_ERROR'])
    expect((await writtenEvents(scope)).map(({ event }) => event)).toEqual(['company.created', 'company.updated'])
  })

  test('by 16 clients at once makes one company', async () => {
    const { agent } = await createOrganization()
    await createCompany(agent)
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, n) => agent.put('/companies/by-external-id/a', { name: `Acme ${n}` })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(15).fill(200), 201])
    expect((await agent.get('/companies')).body.meta.total).toBe(2)
  })
})
