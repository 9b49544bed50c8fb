/** Merging tickets, and undoing it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { deleteClosedTickets } from '../../../src/desk/tickets/closed'
import { purgeDeletedTickets } from '../../../src/desk/tickets/purge'
import { type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import {
  activityOf,
  createCompany,
  createContact,
  createMessage,
  createTicket,
  hearEvents,
  logTime,
  writtenEvents,
} from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

const merge = (client: Client, target: { id: string }, ...sources: { id: string }[]) =>
  client.post(`/tickets/${target.id}/merge`, { source_ids: sources.map(({ id }) => id) })
const unmerge = (client: Client, source: { id: string }) => client.post(`/tickets/${source.id}/unmerge`)
const read = async (client: Client, { id }: { id: string }) => (await client.get(`/tickets/${id}`)).body.data
const textsOf = (ticket: { messages: { body: string }[] }) => ticket.messages.map(({ body }) => body)
const refOf = ({ id, code }: { id: string; code: string }) => ({ id, code })

/** Tickets whose description is their subject. */
async function several(client: Client, ...subjects: string[]) {
  const tickets = []
  for (const subject of subjects) tickets.push(await createTicket(client, { subject, description: subject }))
  return tickets
}

async function ok(answer: ReturnType<Client['post']>) {
  const { status, body, text } = await answer
  if (status >= 300) throw new Error(`answered ${status} ${text}`)
  return body.data
}

describe('a merge', () => {
  test('moves messages and time, closes the source, and tells so', async () => {
    const { agent, scope } = await createOrganization()
    const [target, source] = await several(agent, 'Printer', 'Scanner')
    const note = await createMessage(agent, source.id, { body: 'A note', is_internal: true })
    const entry = await logTime(agent, source.id, { rate: 90 })
    await agent.patch(`/tickets/${source.id}`, { status: 'pending' })
    await hearEvents(scope)
    const answer = await merge(agent, target, source)
    expect([answer.status, answer.body.data.id]).toEqual([200, target.id])

    const [into, from] = [await read(agent, target), await read(agent, source)]
    expect(textsOf(into)).toEqual(['Printer', 'Scanner', 'A note'])
    expect(into.messages.map((message: { original_ticket: unknown }) => message.original_ticket)).toEqual([
      null,
      refOf(source),
      refOf(source),
    ])
    expect(into).toMatchObject({ status: 'open', merged_into: null, time_entries: [{ id: entry.id, rate: 90 }] })
    expect(into.time_entries[0].original_ticket).toEqual(refOf(source))
    expect(from).toMatchObject({ status: 'closed', merged_into: refOf(target), messages: [], time_entries: [] })
    const events = await writtenEvents(scope)
    expect(events.map(({ event, data }) => [event, data.id])).toEqual([
      ['ticket.merged', target.id],
      ['ticket.updated', source.id],
      ['ticket.status_changed', source.id],
    ])
    const ids = into.messages.slice(1).map(({ id }: { id: string }) => id)
    expect(events[0].data.moved).toEqual({ message_ids: ids, time_entry_ids: [entry.id] })
    expect(ids).toContain(note.id)
    expect(events[0].data.sources).toEqual([{ ...refOf(source), subject: 'Scanner' }])
    expect(events[1].data.changes).toEqual({
      status: { from: 'pending', to: 'closed' },
      merged_into: { from: null, to: refOf(target) },
    })
    expect((await activityOf(scope, target.id)).at(-1)).toEqual({ type: 'merged', data: { sources: [refOf(source)] } })
    expect((await activityOf(scope, source.id)).slice(-2).map(({ type }) => type)).toEqual(['merged', 'changed'])
  })

  test('and its undoing in any order of a chain leave everything as it was', async () => {
    const { agent } = await createOrganization()
    const tickets = await several(agent, 'One', 'Two', 'Three')
    const [one, two, three] = tickets
    for (const ticket of tickets) {
      await logTime(agent, ticket.id, { description: ticket.subject })
      await agent.post(`/tickets/${ticket.id}/participants`, { email: `${ticket.subject}@customer.example` })
    }
    await agent.patch(`/tickets/${two.id}`, { status: 'resolved' })
    const state = async () => {
      const shown = []
      for (const ticket of tickets) {
        const { updated_at: _, ...data } = await read(agent, ticket)
        const people = (await agent.get(`/tickets/${ticket.id}/participants`)).body.data
        shown.push({ ...data, people })
      }
      return shown
    }
    const before = await state()
    for (const order of [
      [one, two],
      [two, one],
    ]) {
      await ok(merge(agent, two, one))
      await ok(merge(agent, three, two))
      expect((await read(agent, one)).merged_into).toEqual(refOf(three))
      expect(textsOf(await read(agent, three))).toEqual(['One', 'Two', 'Three'])
      expect((await agent.get(`/tickets/${three.id}/participants`)).body.data.length).toBe(5)
      for (const ticket of order) await ok(unmerge(agent, ticket!))
      if (order[0] === two) expect((await read(agent, one)).merged_into).toBe(null)
      expect(await state()).toEqual(before)
    }
  })

  test('keeps the company of time in filters, sums and the export, also when that changes later', async () => {
    const { agent } = await createOrganization()
    const company = await createCompany(agent, { name: 'Payer', hourly_rate: 60, currency: 'EUR' })
    const payer = await createContact(agent, { company_id: company.id })
    const source = await createTicket(agent, { contact_id: payer.id })
    const [target] = await several(agent, 'Other')
    const entry = await logTime(agent, source.id)
    const sums = async () => [
      (await agent.get(`/time-entries?company_id=${company.id}`)).body.meta,
      (await agent.get('/time-entries/summary')).body.data,
      (await agent.get(`/companies/${company.id}`)).body.data.total_time_minutes,
    ]
    const before = await sums()
    await ok(merge(agent, target, source))
    expect(await sums()).toEqual(before)
    const { ticket } = (await agent.get(`/time-entries/${entry.id}`)).body.data
    expect(ticket.id).toBe(target.id)
    expect((await agent.get('/time-entries/export')).text).toContain('"Other","Payer"')
    const changed = await agent.patch(`/time-entries/${entry.id}`, { rate: 10 })
    expect(changed.body.data.currency).toBe('EUR')
    await agent.delete(`/companies/${company.id}`)
    expect((await agent.get('/time-entries/summary')).body.data).toMatchObject([{ company: null, total_minutes: 60 }])
  })

  test('takes running timers along, which log their time on the target', async () => {
    const { agent } = await createOrganization()
    const [target, source] = await several(agent, 'Target', 'Source')
    await ok(agent.post(`/tickets/${source.id}/timer/start`, {}))
    await ok(merge(agent, target, source))
    expect((await agent.get('/timer/active')).body.data.ticket.id).toBe(target.id)
    expectError(await agent.post(`/tickets/${source.id}/timer/stop`, {}), 422, 'TICKET_MERGED')
    expect((await ok(agent.post(`/tickets/${target.id}/timer/stop`, {}))).original_ticket).toBe(null)
  })

  test('lists who took part on the target, each address once, and not its contact', async () => {
    const { agent } = await createOrganization()
    const own = await createContact(agent, { email: 'own@customer.example' })
    const other = await createContact(agent, { email: 'other@customer.example' })
    const target = await createTicket(agent, { contact_id: own.id })
    const source = await createTicket(agent, { contact_id: other.id })
    for (const email of ['own@customer.example', 'third@customer.example', 'Third@customer.example']) {
      await agent.post(`/tickets/${source.id}/participants`, { email })
    }
    const added = await ok(agent.post(`/tickets/${target.id}/participants`, { email: 'kept@customer.example' }))
    await ok(merge(agent, target, source))
    const people = async () => {
      const { data } = (await agent.get(`/tickets/${target.id}/participants`)).body
      return data.map(({ email, confirmed }: { email: string; confirmed: boolean }) => [email, confirmed]).toSorted()
    }
    const brought = [
      ['kept@customer.example', true],
      ['other@customer.example', true],
      ['third@customer.example', true],
    ]
    expect(await people()).toEqual(brought)
    // An address that was added again since stays.
    await ok(agent.post(`/tickets/${target.id}/participants`, { email: 'third@customer.example' }))
    await ok(unmerge(agent, source))
    expect(await people()).toEqual(brought.filter(([email]) => email !== 'other@customer.example'))
    expect(added.email).toBe('kept@customer.example')
  })

  test('finds messages at the target, subject and code at the source', async () => {
    const { agent } = await createOrganization()
    const target = await createTicket(agent, { subject: 'Target', description: 'apple' })
    const source = await createTicket(agent, { subject: 'Banana', description: 'cherry' })
    await ok(merge(agent, target, source))
    const found = async (word: string) =>
      (await agent.get(`/tickets?search=${word}`)).body.data.map(({ id }: { id: string }) => id)
    expect(await found('cherry')).toEqual([target.id])
    expect(await found('banana')).toEqual([source.id])
    expect(await found(source.code)).toEqual([source.id])
    await ok(unmerge(agent, source))
    expect([await found('cherry'), await found('apple')]).toEqual([[source.id], [target.id]])
  })

  test('is found by the filter merged, alone and with others, with exact totals', async () => {
    const { agent } = await createOrganization()
    const [target, source, third] = await several(agent, 'Target', 'Source', 'Third')
    await ok(merge(agent, target, source))
    const list = async (query: string) => {
      const { data, meta } = (await agent.get(`/tickets?${query}`)).body
      return [data.map(({ id }: { id: string }) => id), meta.total]
    }
    expect(await list('merged=true')).toEqual([[source.id], 1])
    expect(await list('merged=false')).toEqual([[third.id, target.id], 2])
    expect(await list('merged=true&status=open')).toEqual([[], 0])
    expect(await list('merged=false&sort=updated_at')).toEqual([[third.id, target.id], 2])
    expect(await list('merged=true&search=source')).toEqual([[source.id], 1])
    expect(await list(`merged=false&contact_id=${source.contact.id}`)).toEqual([[], 0])
  })
})

describe('a merged ticket', () => {
  test('refuses every write, by itself and in bulk', async () => {
    const { agent } = await createOrganization()
    const [target, source] = await several(agent, 'Target', 'Source')
    const note = await createMessage(agent, source.id, { body: 'Note', is_internal: true })
    await ok(merge(agent, target, source))
    const path = `/tickets/${source.id}`
    const before = await read(agent, source)
    for (const answer of [
      await agent.patch(path, { subject: 'New' }),
      await agent.delete(path),
      await agent.post(`${path}/labels`, { label_ids: [] }),
      await agent.send('DELETE', `${path}/labels`, { label_ids: [] }),
      await agent.post(`${path}/assign`, { assignee_id: agent.user_id }),
      await agent.post(`${path}/unassign`),
      await agent.post(`${path}/messages`, { body: 'Hello' }),
      await agent.delete(`${path}/messages/${note.id}`),
      await agent.post(`${path}/messages/${note.id}/resend`),
      await agent.post(`${path}/time-entries`, { duration_minutes: 5 }),
      await agent.post(`${path}/timer/start`, {}),
      await agent.post(`${path}/participants`, { email: 'x@customer.example' }),
      await agent.delete(`${path}/participants/${newId()}`),
      await agent.post(`${path}/merge`, { source_ids: [target.id] }),
      await agent.post(`${path}/split`, { message_ids: [note.id] }),
    ]) {
      expectError(answer, 422, 'TICKET_MERGED')
      expect(answer.body.error.details.merged_into).toEqual(refOf(target))
    }
    for (const dry_run of [true, false]) {
      const { data } = (await agent.post('/tickets/bulk', { ids: [source.id], changes: { priority: 'low' }, dry_run }))
        .body
      expect(data[0].error.code).toBe('TICKET_MERGED')
    }
    expect(await read(agent, source)).toEqual(before)
  })

  test('goes with its target, each with an event, keeps its time, and is passed over by the retention', async () => {
    const { agent, scope } = await createOrganization()
    const [target, source] = await several(agent, 'Target', 'Source')
    const entry = await logTime(agent, source.id)
    await ok(merge(agent, target, source))
    await scope.sql`
      update tickets set updated_at = now() - interval '9 days' where organization_id = ${scope.organization_id}`
    expect(await deleteClosedTickets(connection(), 7)).toBe(0)
    await hearEvents(scope)
    expect((await agent.delete(`/tickets/${target.id}`)).status).toBe(204)
    expect((await writtenEvents(scope)).map(({ event, data }) => [event, data.id])).toEqual([
      ['ticket.deleted', source.id],
      ['ticket.deleted', target.id],
    ])
    expect((await agent.get(`/tickets/${source.id}`)).status).toBe(404)
    expectError(await unmerge(agent, source), 404, 'TICKET_NOT_FOUND')
    await scope.sql`
      update tickets set deleted_at = now() - interval '40 days' where organization_id = ${scope.organization_id}`
    await purgeDeletedTickets(connection(), 30)
    const left = await scope.sql<{ id: string }[]>`
      select id from tickets where organization_id = ${scope.organization_id} order by id`
    expect(left.map(({ id }) => id)).toEqual([target.id, source.id])
    expect((await agent.get(`/time-entries/${entry.id}`)).body.data.original_ticket).toEqual(refOf(source))
    const messages = await scope.sql`select 1 from messages where organization_id = ${scope.organization_id}`
    expect(messages.length).toBe(0)
  })
})

describe('it is refused', () => {
  test('for itself, unknown and foreign tickets, those of another merge, and too many', async () => {
    const { agent } = await createOrganization()
    const stranger = await createOrganization()
    const [foreign] = await several(stranger.agent, 'Foreign')
    const [target, source, other] = await several(agent, 'Target', 'Source', 'Other')
    await ok(merge(agent, other, source))
    const refused = async (target_id: string, source_ids: unknown, status: number, code: string) => {
      const answer = await agent.post(`/tickets/${target_id}/merge`, { source_ids })
      expectError(answer, status, code)
      return answer.body.error.details
    }
    await refused(target.id, [target.id], 422, 'VALIDATION_ERROR')
    await refused(target.id, [], 422, 'VALIDATION_ERROR')
    await refused(target.id, Array(21).fill(other.id), 422, 'VALIDATION_ERROR')
    const unknown = ['no id', newId(), foreign.id]
    expect((await refused(target.id, [...unknown, other.id], 422, 'TICKET_NOT_FOUND')).ids).toEqual(unknown)
    expect((await refused(target.id, [source.id], 422, 'TICKET_MERGED')).merged_into).toEqual(refOf(other))
    expect((await refused(source.id, [target.id], 422, 'TICKET_MERGED')).merged_into).toEqual(refOf(other))
    expect((await stranger.agent.get(`/tickets/${foreign.id}`)).body.data.merged_into).toBe(null)
    // A ticket that is merged already is no change.
    const before = await read(agent, other)
    expect((await merge(agent, other, source)).body.data.updated_at).toBe(before.updated_at)
    expectError(await unmerge(agent, target), 422, 'TICKET_NOT_MERGED')
  })

  test('above 100 tickets in one, with those that they had taken in', async () => {
    const { agent, scope } = await createOrganization()
    const [target, source, more] = await several(agent, 'Target', 'Source', 'More')
    await scope.sql`
      insert into tickets (organization_id, id, number, code, subject, status, merged_into_id, merged_first_into_id)
      select ${scope.organization_id}, gen_random_uuid(), 1000 + n, 'TKT-' || (1000 + n), 'Old', 'closed', ${source.id}::uuid,
        ${source.id}::uuid
      from generate_series(1, 99) as n`
    await ok(merge(agent, target, source))
    expectError(await merge(agent, target, more), 422, 'VALIDATION_ERROR')
    expect((await read(agent, more)).merged_into).toBe(null)
  })

  test('to undo it after 30 days', async () => {
    const { agent, scope } = await createOrganization()
    const [target, source] = await several(agent, 'Target', 'Source')
    await ok(merge(agent, target, source))
    const age = (days: number) => scope.sql`
      update tickets set merged_at = now() - make_interval(days => ${days}) + interval '1 minute'
      where organization_id = ${scope.organization_id} and id = ${source.id}`
    await age(31)
    expectError(await unmerge(agent, source), 422, 'UNMERGE_EXPIRED')
    await age(30)
    await ok(unmerge(agent, source))
  })

  test('of A into B and B into A at once one wins', async () => {
    const { agent } = await createOrganization()
    for (let round = 0; round < 5; round++) {
      const [a, b] = await several(agent, 'A', 'B')
      const answers = await Promise.all([merge(agent, a, b), merge(agent, b, a)])
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422])
    }
  })
})

test('what was written since stays at the target, what was deleted stays deleted', async () => {
  const { agent } = await createOrganization()
  const [target, source] = await several(agent, 'Target', 'Source')
  const gone = await createMessage(agent, source.id, { body: 'Gone', is_internal: true })
  await ok(merge(agent, target, source))
  await createMessage(agent, target.id, { body: 'Since', is_internal: true })
  expect((await agent.delete(`/tickets/${target.id}/messages/${gone.id}`)).status).toBe(204)
  await ok(unmerge(agent, source))
  expect(textsOf(await read(agent, source))).toEqual(['Source'])
  expect(textsOf(await read(agent, target))).toEqual(['Target', 'Since'])
})
