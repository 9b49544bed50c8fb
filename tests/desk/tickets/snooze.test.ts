/** Tickets that sleep until a moment. The clock is stepped by moving all moments of the organization back. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { connection } from '../../../src/base/db/pool'
import { changeTickets } from '../../../src/desk/tickets/bulk'
import { wakeTicket } from '../../../src/desk/tickets/wake-ticket'
import { createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createCustomer } from '../../support/customers'
import { activityOf, createContact, createTicket, hearEvents, writtenEvents } from '../../support/factories'
import { drain } from '../../support/mail'
import { tries } from '../../support/sampled'

const MINUTE_MS = 60_000
const DAY_MS = 1440 * MINUTE_MS

let own: Organization

beforeAll(async () => {
  await startApi(10)
  own = await createOrganization()
})
afterAll(stopApi)

const at = (ms: number) => new Date(Date.now() + ms).toISOString()

/** Steps the clock of an organization: each moment that it waits for comes nearer. */
async function step(organization: Organization, ms: number): Promise<void> {
  const { sql, organization_id } = organization.scope
  const back = (moment: Date) => new Date(moment.getTime() - ms).toISOString()
  const tickets = await sql<{ id: string; moment: string }[]>`
    select id, snoozed_until as moment from tickets
    where organization_id = ${organization_id} and snoozed_until is not null`
  for (const { id, moment } of tickets) {
    await sql`
      update tickets set snoozed_until = ${back(new Date(moment))}
      where organization_id = ${organization_id} and id = ${id}`
    await sql`
      update outbox set run_at = ${back(new Date(moment))}
      where organization_id = ${organization_id} and id = ${id} and kind = 'wake'`
  }
}

async function show({ agent }: Organization, id: string) {
  const { status, snoozed_until } = (await agent.get(`/tickets/${id}`)).body.data
  return { status, is_asleep: snoozed_until !== null }
}

const AWAKE = { status: 'open', is_asleep: false }
const ASLEEP = { status: 'pending', is_asleep: true }

async function asleep(organization = own, ms = DAY_MS) {
  const ticket = await createTicket(organization.agent)
  const answer = await organization.agent.patch(`/tickets/${ticket.id}`, { snoozed_until: at(ms) })
  expect(answer.status).toBe(200)
  return answer.body.data
}

/** The outbox rows that are to wake tickets. */
function waiting({ scope: { sql, organization_id } }: Organization) {
  return sql<{ id: string }[]>`select id from outbox where organization_id = ${organization_id} and kind = 'wake'`
}

test('a ticket is pending until its moment, then open by the service, once, with its events and its timeline', async () => {
  const desk = await createOrganization()
  const { agent, scope } = desk
  const { id } = await createTicket(agent)
  await hearEvents(scope)
  const moment = at(DAY_MS)
  const { data } = (await agent.patch(`/tickets/${id}`, { snoozed_until: moment })).body
  expect(data).toMatchObject({ status: 'pending' })
  // Never earlier than it was asked for, and in whole seconds.
  expect(Date.parse(data.snoozed_until) - Date.parse(moment)).toBeWithin(0, 1000)
  await step(desk, DAY_MS - MINUTE_MS)
  await drain()
  expect(await show(desk, id)).toEqual(ASLEEP)
  await step(desk, MINUTE_MS + 1000)
  await drain()
  expect(await show(desk, id)).toEqual(AWAKE)
  await drain()
  expect(await waiting(desk)).toHaveLength(0)
  const events = await writtenEvents(scope)
  expect(events.map(({ event }) => event)).toEqual([
    ...['ticket.updated', 'ticket.status_changed', 'ticket.updated', 'ticket.status_changed'],
  ])
  expect(events[0].data.changes).toEqual({
    status: { from: 'open', to: 'pending' },
    snoozed_until: { from: null, to: data.snoozed_until },
  })
  expect(events[2].data.changes).toMatchObject({ status: { from: 'pending', to: 'open' } })
  const entries = (await agent.get(`/tickets/${id}/activity`)).body.data.slice(1)
  expect(entries.map(({ type, actor }: { type: string; actor: { type: string } }) => [type, actor.type])).toEqual([
    ...[
      ['changed', 'user'],
      ['snoozed', 'user'],
    ],
    ...[
      ['changed', 'system'],
      ['woken', 'system'],
    ],
  ])
  expect(entries[1].data).toEqual({ until: data.snoozed_until })
})

test('null wakes a ticket, to the status beside it if there is one, and nothing that is awake', async () => {
  for (const [status, left] of [
    [undefined, 'open'],
    ['resolved', 'resolved'],
    ['pending', 'pending'],
  ] as const) {
    const { id } = await asleep()
    expect((await own.agent.patch(`/tickets/${id}`, { snoozed_until: null, status })).body.data).toMatchObject({
      status: left,
      snoozed_until: null,
    })
  }
  const { id } = await createTicket(own.agent)
  const { updated_at } = (await own.agent.patch(`/tickets/${id}`, { status: 'pending' })).body.data
  const { body } = await own.agent.patch(`/tickets/${id}`, { snoozed_until: null })
  expect(body.data).toMatchObject({ status: 'pending', updated_at })
  expect(await waiting(own)).toHaveLength(0)
})

test.each(['open', 'resolved', 'closed'])('the status %s ends the sleep, and pending does not', async (status) => {
  const { id } = await asleep()
  await own.agent.patch(`/tickets/${id}`, { status: 'pending', priority: 'high' })
  expect(await show(own, id)).toEqual(ASLEEP)
  await own.agent.patch(`/tickets/${id}`, { status })
  expect(await show(own, id)).toEqual({ status, is_asleep: false })
  expect(await waiting(own)).toHaveLength(0)
  const types = (await activityOf(own.scope, id)).map(({ type }) => type)
  expect(types.includes('woken')).toBe(status === 'open')
})

test.each([
  ['now', () => ({ snoozed_until: at(0) })],
  ['more than a year ahead', () => ({ snoozed_until: at(367 * DAY_MS) })],
  ['without an offset', () => ({ snoozed_until: '2099-01-01T00:00:00' })],
  ['a number', () => ({ snoozed_until: 5 })],
  ['beside another status', () => ({ snoozed_until: at(DAY_MS), status: 'resolved' })],
])('a moment %s is refused at its path, in bulk too, and changes nothing', async (_, changes) => {
  const { id } = await createTicket(own.agent)
  const pathOf = ({ body }: { body: { error: { details: { errors: { path: string }[] } } } }) =>
    body.error.details.errors[0]!.path
  const one = await own.agent.patch(`/tickets/${id}`, { ...changes(), subject: 'New' })
  expectError(one, 422, 'VALIDATION_ERROR')
  expect(pathOf(one)).toBe('/snoozed_until')
  const many = await own.agent.post('/tickets/bulk', { ids: [id], changes: changes() })
  expectError(many, 422, 'VALIDATION_ERROR')
  expect(pathOf(many)).toBe('/changes/snoozed_until')
  expect(await show(own, id)).toEqual(AWAKE)
})

test('only an open or pending ticket sleeps; a sleeping one may sleep longer, or shorter', async () => {
  const { id } = await createTicket(own.agent)
  await own.agent.patch(`/tickets/${id}`, { status: 'resolved' })
  const refused = await own.agent.patch(`/tickets/${id}`, { snoozed_until: at(DAY_MS) })
  expectError(refused, 422, 'INVALID_STATUS')
  const other = await asleep(own, DAY_MS)
  await own.agent.patch(`/tickets/${other.id}`, { snoozed_until: at(3 * DAY_MS) })
  await step(own, 2 * DAY_MS)
  await drain()
  expect(await show(own, other.id)).toEqual(ASLEEP)
  await own.agent.patch(`/tickets/${other.id}`, { snoozed_until: at(MINUTE_MS) })
  await step(own, 2 * MINUTE_MS)
  await drain()
  expect(await show(own, other.id)).toEqual(AWAKE)
})

test('a worker that comes late changes nothing: the ticket was snoozed anew, changed, merged or deleted', async () => {
  const { organization_id } = own.scope
  const attempt = (id: string) => wakeTicket({ organization_id, id } as Parameters<typeof wakeTicket>[0], connection())
  const anew = await asleep()
  expect(await attempt(anew.id)).toMatchObject({ type: 'retry', counts: false })
  expect(await show(own, anew.id)).toEqual(ASLEEP)
  const changed = await asleep()
  await own.agent.patch(`/tickets/${changed.id}`, { status: 'resolved' })
  const merged = await asleep()
  const target = await createTicket(own.agent)
  await own.agent.post(`/tickets/${target.id}/merge`, { source_ids: [merged.id] })
  const deleted = await asleep()
  await own.agent.delete(`/tickets/${deleted.id}`)
  for (const { id } of [changed, merged, deleted]) expect(await attempt(id)).toEqual({ type: 'done' })
  expect(await show(own, changed.id)).toEqual({ status: 'resolved', is_asleep: false })
  expect(await show(own, merged.id)).toEqual({ status: 'closed', is_asleep: false })
})

test('tickets that are due together are woken together, each once, and no other with them', async () => {
  const [desk, other] = [await createOrganization(), await createOrganization()]
  const ids: string[] = []
  for (let n = 0; n < 6; n++) ids.push((await asleep(desk)).id)
  const [resolved, deleted, later] = ids
  const foreign = (await asleep(other)).id
  await hearEvents(desk.scope)
  await step(desk, DAY_MS + 1000)
  await step(other, DAY_MS + 1000)
  await desk.agent.patch(`/tickets/${resolved}`, { status: 'resolved' })
  await desk.agent.delete(`/tickets/${deleted}`)
  await desk.agent.patch(`/tickets/${later}`, { snoozed_until: at(DAY_MS) })
  const before = (await writtenEvents(desk.scope)).length
  const { organization_id } = desk.scope
  // Two workers have each of them, and one has a ticket of others.
  const attempts = [...ids, ...ids, foreign].map((id) =>
    wakeTicket({ organization_id, id } as Parameters<typeof wakeTicket>[0], connection()),
  )
  const types = (await Promise.all(attempts)).map(({ type }) => type)
  expect(types).toEqual([...ids, ...ids, foreign].map((id) => (id === later ? 'retry' : 'done')))
  const woken = ids.slice(3)
  for (const id of woken) {
    expect(await show(desk, id)).toEqual(AWAKE)
    expect((await activityOf(desk.scope, id)).map(({ type }) => type).filter((type) => type === 'woken')).toHaveLength(
      1,
    )
  }
  expect(await show(desk, resolved!)).toEqual({ status: 'resolved', is_asleep: false })
  expect(await show(desk, later!)).toEqual(ASLEEP)
  expect(await show(other, foreign)).toEqual(ASLEEP)
  const events = (await writtenEvents(desk.scope)).slice(before)
  expect(events.map(({ event, data }) => `${event} ${data.id}`).sort()).toEqual(
    woken.flatMap((id) => [`ticket.status_changed ${id}`, `ticket.updated ${id}`]).sort(),
  )
})

test('below a merge a ticket sleeps on, and is open when its moment came meanwhile', async () => {
  for (const [passed_ms, expected] of [
    [MINUTE_MS, ASLEEP],
    [2 * DAY_MS, AWAKE],
  ] as const) {
    const desk = await createOrganization()
    const { id } = await asleep(desk)
    const target = await createTicket(desk.agent)
    await desk.agent.post(`/tickets/${target.id}/merge`, { source_ids: [id] })
    expect((await desk.agent.get(`/tickets/${id}`)).body.data).toMatchObject({ status: 'closed', snoozed_until: null })
    await step(desk, passed_ms)
    await drain()
    await desk.agent.post(`/tickets/${id}/unmerge`)
    expect(await show(desk, id)).toEqual(expected)
    await step(desk, DAY_MS)
    await drain()
    expect(await show(desk, id)).toEqual(AWAKE)
  }
})

test("a customer's message wakes a ticket whatever the organization says of answers", async () => {
  const desk = await createOrganization()
  const carla = await createCustomer(desk.admin)
  await desk.admin.patch('/organization', { reopen_on_reply: false })
  const { id } = await createTicket(desk.agent, { contact_id: carla.contact.id })
  await desk.agent.patch(`/tickets/${id}`, { snoozed_until: at(DAY_MS) })
  await carla.post(`/my/tickets/${id}/messages`, { body: 'Still burning' })
  expect(await show(desk, id)).toEqual(AWAKE)
  expect(await waiting(desk)).toHaveLength(0)
  await desk.agent.patch(`/tickets/${id}`, { status: 'pending' })
  await carla.post(`/my/tickets/${id}/messages`, { body: 'Still' })
  expect(await show(desk, id)).toEqual({ status: 'pending', is_asleep: false })
})

test('bulk changes, macros and drafts let tickets sleep; the list finds those that do', async () => {
  const desk = await createOrganization()
  const { agent, admin } = desk
  const tickets = [
    await createTicket(agent),
    await createTicket(agent),
    await createTicket(agent),
    await createTicket(agent),
  ]
  const [bulk, macro, draft, awake] = tickets.map(({ id }) => id)
  const { body } = await agent.post('/tickets/bulk', { ids: [bulk], changes: { snoozed_until: at(DAY_MS) } })
  expect(body.meta.changed).toBe(1)
  const again = await changeTickets(desk.scope, { ids: [bulk], changes: { snoozed_until: null }, dry_run: true })
  expect(again.meta.changed).toBe(1)
  const made = await admin.post('/macros', { name: 'Tomorrow', changes: { snooze_minutes: 1440 } })
  expect(made.body.data.changes).toEqual({ snooze_minutes: 1440 })
  const applied = await agent.post(`/macros/${made.body.data.id}/apply`, { ticket_id: macro })
  expect(applied.body.data.ticket).toMatchObject({ status: 'pending' })
  expect(Date.parse(applied.body.data.ticket.snoozed_until) - Date.now()).toBeWithin(DAY_MS - MINUTE_MS, DAY_MS + 1001)
  const written = await agent.post(`/tickets/${draft}/drafts`, { body: 'Wait', is_internal: true })
  await agent.post(`/drafts/${written.body.data.id}/send`, { changes: { snooze_minutes: 525_600 } })
  const idsOf = async (query: string) =>
    (await agent.get(`/tickets?${query}`)).body.data.map(({ id }: { id: string }) => id)
  expect(await idsOf('snoozed=true&sort=created_at')).toEqual([bulk, macro, draft])
  expect(await idsOf('snoozed=false')).toEqual([awake])
  for (const changes of [{ snooze_minutes: 0 }, { snooze_minutes: 525_601 }, { snooze_minutes: 5, status: 'closed' }]) {
    const refused = await admin.post('/macros', { name: 'Never', changes })
    expectError(refused, 422, 'VALIDATION_ERROR')
    expect(refused.body.error.details.errors[0].path).toBe('/changes/snooze_minutes')
  }
})

test('another organization wakes and snoozes nothing', async () => {
  const other = await createOrganization()
  const { id } = await asleep()
  expectError(await other.agent.patch(`/tickets/${id}`, { snoozed_until: null }), 404, 'TICKET_NOT_FOUND')
  expect(await show(own, id)).toEqual(ASLEEP)
})

const KINDS = ['snooze', 'wake', 'pending', 'resolved', 'open', 'write', 'merge', 'unmerge', 'pass', 'pass'] as const
const act = fc.record({ kind: fc.constantFrom(...KINDS), minutes: fc.integer({ min: 2, max: 60 }) })

test('in any order of acts a ticket is woken once at each moment, never early, never after its sleep was ended', async () => {
  const desk = await createOrganization()
  const carla = await createCustomer(desk.admin)
  const contact_id = carla.contact.id
  const target = await createTicket(desk.agent, { contact_id: (await createContact(desk.agent)).id })
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 12 }), async (acts) => {
      const { id } = await createTicket(desk.agent, { contact_id })
      const patch = (fields: object) => desk.agent.patch(`/tickets/${id}`, fields)
      // Minutes until the ticket wakes; null: it does not sleep.
      let [status, left, is_merged, woken] = ['open', null as number | null, false, 0]
      for (const { kind, minutes } of acts) {
        if (kind === 'pass') {
          await step(desk, minutes * MINUTE_MS)
          await drain()
          if (left !== null) left -= minutes
          // A moment that is this near may have come.
          if (left === 0) left = -1
          if (left !== null && left < 0 && !is_merged) [status, left, woken] = ['open', null, woken + 1]
        } else if (kind === 'merge') {
          if (!is_merged) await desk.agent.post(`/tickets/${target.id}/merge`, { source_ids: [id] })
          is_merged = true
        } else if (kind === 'unmerge') {
          if (!is_merged) continue
          await desk.agent.post(`/tickets/${id}/unmerge`)
          is_merged = false
          if (left !== null && left < 0) [status, left, woken] = ['open', null, woken + 1]
        } else if (!is_merged) {
          if (kind === 'snooze') {
            const is_taken = (await patch({ snoozed_until: at(minutes * MINUTE_MS) })).status === 200
            expect(is_taken).toBe(status === 'open' || status === 'pending')
            if (is_taken) [status, left] = ['pending', minutes]
          } else if (kind === 'wake') {
            await patch({ snoozed_until: null })
            if (left !== null) [status, left, woken] = ['open', null, woken + 1]
          } else if (kind === 'write') {
            await carla.post(`/my/tickets/${id}/messages`, { body: 'Hello' })
            if (left !== null) woken++
            ;[status, left] = ['open', null]
          } else if (kind !== status && (await patch({ status: kind })).status === 200) {
            if (kind === 'open' && left !== null) woken++
            ;[status, left] = [kind, kind === 'pending' ? left : null]
          }
        }
        if (is_merged) continue
        expect(await show(desk, id)).toEqual({ status, is_asleep: left !== null })
      }
      if (is_merged) return
      expect((await activityOf(desk.scope, id)).filter(({ type }) => type === 'woken')).toHaveLength(woken)
    }),
    { numRuns: Number(process.env.SNOOZE_RUNS ?? tries(12)) },
  )
}, 120_000)
