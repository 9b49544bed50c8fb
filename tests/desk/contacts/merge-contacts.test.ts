/** Merging contacts that are one person. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { createOrganization, startApi, stopApi } from '../../support/api'
import {
  activityOf,
  createCompany,
  createContact,
  createTicket,
  hearEvents,
  insertTicketOf,
  logTime,
  writtenEvents,
} from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

type Answer = { status: number; body: { error?: { code: string }; data?: unknown } }
const codeOf = ({ status, body }: Answer) => [status, body.error?.code]

async function createTwo() {
  const organization = await createOrganization()
  const { agent } = organization
  const [acme, other] = [await createCompany(agent), await createCompany(agent)]
  const target = await createContact(agent, { name: 'Ann', email: 'ann@example.com', company_id: null })
  const fields = { phone: '1', notes: 'n', company_id: acme.id, external_id: 'crm 1' }
  const source = await createContact(agent, { email: 'ann@home.example', emails: ['a@home.example'], ...fields })
  const last = await createContact(agent, {
    email: 'z@home.example',
    phone: '2',
    company_id: other.id,
    external_id: 'crm 2',
  })
  return { ...organization, acme, target, source, last, path: `/contacts/${target.id}/merge` }
}

describe('merging contacts', () => {
  test('gives addresses, tickets, participations and what is lacking to the one that stays', async () => {
    const { admin, agent, scope, acme, target, source, last, path } = await createTwo()
    const ticket = await createTicket(agent, { contact_id: source.id })
    const entry = await logTime(agent, ticket.id)
    const hidden = await createTicket(agent, { contact_id: source.id })
    await agent.delete(`/tickets/${hidden.id}`)
    const foreign = await createTicket(agent, { contact_id: (await createContact(agent)).id })
    await agent.post(`/tickets/${foreign.id}/participants`, { email: 'a@home.example' })
    await hearEvents(scope)
    const states = [
      (await agent.get(`/contacts/${source.id}`)).body.data,
      (await agent.get(`/contacts/${last.id}`)).body.data,
    ]

    const answer = await agent.post(path, { source_ids: [source.id.toUpperCase(), last.id, source.id] })
    const { data } = answer.body
    expect([answer.status, data]).toMatchObject([
      200,
      {
        id: target.id,
        name: 'Ann',
        email: 'ann@example.com',
        emails: ['ann@example.com', 'ann@home.example', 'a@home.example', 'z@home.example'],
        phone: '1',
        notes: 'n',
        external_id: 'crm 1',
        company: { id: acme.id },
        total_tickets: 1,
      },
    ])
    expect((await agent.get(`/contacts/${target.id}`)).body.data).toEqual(data)
    const to = { id: target.id, name: 'Ann', email: 'ann@example.com' }
    const moved = (await agent.get(`/tickets/${ticket.id}`)).body.data
    expect([moved.contact, moved.company, moved.time_entries[0].id]).toEqual([to, ticket.company, entry.id])
    const { id, name, email } = source
    expect((await activityOf(scope, ticket.id)).at(-1)).toEqual({
      type: 'changed',
      data: { field: 'contact', from: { id, name, email }, to },
    })
    const { sql, organization_id } = scope
    const rows = await sql`
      select contact_id from tickets where organization_id = ${organization_id} and id = ${hidden.id}
      union all select contact_id from participants where organization_id = ${organization_id}`
    expect(rows.map(({ contact_id }) => contact_id)).toEqual([target.id, target.id])
    expect((await agent.get(`/contacts?search=home.example`)).body.data).toEqual([
      expect.objectContaining({ id: target.id }),
    ])
    expect((await agent.get('/contacts')).body.meta.total).toBe(2)
    expect((await agent.get(`/tickets?contact_id=${target.id}`)).body.meta.total).toBe(1)

    expect((await writtenEvents(scope)).map(({ event, data }) => [event, data])).toEqual([
      ['contact.updated', data],
      ...states.map((state) => ['contact.deleted', { ...state, merged_into: { id: target.id } }]),
    ])
    const [audited] = (await admin.get('/audit-log?action=contact.merged')).body.data
    expect([audited.resource, audited.changes]).toEqual([
      { type: 'contact', id: target.id },
      { source_ids: { from: null, to: [source.id, last.id] } },
    ])
  })

  test('a merged contact is 404 with what it is now, and its external id names that, however often', async () => {
    const { admin, agent, target, source, last, path } = await createTwo()
    expect((await agent.post(path, { source_ids: [source.id] })).status).toBe(200)
    expect((await agent.post(path, { source_ids: [last.id] })).body.data.external_id).toBe('crm 1')
    const final = await createContact(agent, { external_id: 'crm 3' })
    expect((await agent.post(`/contacts/${final.id}/merge`, { source_ids: [target.id] })).status).toBe(200)
    for (const id of [target.id, source.id, last.id]) {
      for (const answer of [
        await agent.get(`/contacts/${id}`),
        await agent.patch(`/contacts/${id}`, { name: 'New' }),
        await agent.patch(`/contacts/${id}`, { name: 5 }),
        await agent.delete(`/contacts/${id}`),
        await agent.post(`/contacts/${id}/merge`, { source_ids: [final.id] }),
        await admin.post(`/contacts/${id}/tokens`),
        await admin.delete(`/contacts/${id}/tokens`),
        await admin.get(`/contacts/${id}/export`),
        await admin.post(`/contacts/${id}/erase`),
      ]) {
        expect(codeOf(answer)).toEqual([404, 'CONTACT_NOT_FOUND'])
        expect(answer.body.error.details).toEqual({ merged_into: { id: final.id } })
      }
    }
    for (const external_id of ['crm 1', 'crm 2', 'crm 3']) {
      expect((await agent.get(`/contacts?external_id=${external_id}`)).body.data).toMatchObject([{ id: final.id }])
      const taken = await agent.post('/contacts', { name: 'New', email: 'new@example.com', external_id })
      expect([codeOf(taken), taken.body.error.details.id]).toEqual([[422, 'EXTERNAL_ID_EXISTS'], final.id])
      expect((await agent.put(`/contacts/by-external-id/${external_id}`, { phone: '7' })).body.data).toMatchObject({
        id: final.id,
        external_id: 'crm 3',
      })
    }
    await agent.delete(`/contacts/${final.id}`)
    const gone = await agent.get(`/contacts/${source.id}`)
    expect([codeOf(gone), gone.body.error.details]).toEqual([[404, 'CONTACT_NOT_FOUND'], {}])
    await createContact(agent, { external_id: 'crm 1', email: 'ann@home.example' })
  })

  test('is all or nothing', async () => {
    const { agent, scope, target, source, last, path } = await createTwo()
    const foreign = await createContact((await createOrganization()).agent)
    const full = await createContact(agent, {
      email: 'full@example.com',
      emails: Array.from({ length: 19 }, (_, index) => `f${index}@example.com`),
    })
    await hearEvents(scope)
    const before = (await agent.get('/contacts')).body.data
    const wrong: [ids: unknown, code: string][] = [
      [[source.id, target.id], 'VALIDATION_ERROR'],
      [[source.id, target.id.toUpperCase()], 'VALIDATION_ERROR'],
      [[source.id, full.id], 'VALIDATION_ERROR'],
      [[], 'VALIDATION_ERROR'],
      [Array.from({ length: 21 }, newId), 'VALIDATION_ERROR'],
      ['x', 'VALIDATION_ERROR'],
      [[source.id, newId()], 'CONTACT_NOT_FOUND'],
      [[source.id, 'nonsense'], 'CONTACT_NOT_FOUND'],
      [[last.id, foreign.id], 'CONTACT_NOT_FOUND'],
    ]
    for (const [source_ids, code] of wrong) {
      expect([source_ids, ...codeOf(await agent.post(path, { source_ids }))]).toEqual([source_ids, 422, code])
    }
    expect((await agent.get('/contacts')).body.data).toEqual(before)
    expect(await writtenEvents(scope)).toEqual([])
  })

  test('in opposite directions at once: one wins', async () => {
    for (let round = 0; round < 5; round++) {
      const { agent, scope, target, source } = await createTwo()
      for (const { id } of [target, source]) await insertTicketOf(scope, { contact_id: id })
      const answers = await Promise.all([
        agent.post(`/contacts/${target.id}/merge`, { source_ids: [source.id] }),
        agent.post(`/contacts/${source.id}/merge`, { source_ids: [target.id] }),
      ])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
      const won = answers.find(({ status }) => status === 200)!.body.data
      expect(won).toMatchObject({ total_tickets: 2, emails: expect.arrayContaining([target.email, source.email]) })
    }
  })

  test('while tickets, addresses and changes come at once: none is lost', async () => {
    const { agent, target, source, last, path } = await createTwo()
    const tickets = Array.from({ length: 8 }, () =>
      agent.post('/tickets', { subject: 'Printer', contact_id: source.id }),
    )
    const [merged, ...answers] = await Promise.all([
      agent.post(path, { source_ids: [source.id, last.id] }),
      agent.put('/contacts/by-external-id/crm 2', { name: 'Put', email: 'put@example.com' }),
      ...tickets,
    ])
    expect(merged.status).toBe(200)
    expect(answers.filter(({ status }) => ![200, 201, 422].includes(status))).toEqual([])
    const made = answers.slice(1).filter(({ status }) => status === 201).length
    expect((await agent.get(`/contacts/${target.id}`)).body.data.total_tickets).toBe(made)
  })
})
