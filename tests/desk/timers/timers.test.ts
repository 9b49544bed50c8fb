import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { inTransaction, type Scope } from '../../../src/base/scope'
import { type Answer, type Client, createOrganization, signIn, startApi, stopApi } from '../../support/api'
import { activityOf, createCompany, hearEvents, insertTicketOf, writtenEvents } from '../../support/factories'
import { breakWhoWaits, someoneWaits } from '../../support/lock-waits'

beforeAll(() => startApi(10))
afterAll(stopApi)

const NOBODY = '018f0000-0000-7000-8000-000000000000'
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)

const start = (client: Client, ticket: { id: string }, fields?: Record<string, unknown>) =>
  client.post(`/tickets/${ticket.id}/timer/start`, fields)
const stop = (client: Client, ticket: { id: string }, fields?: Record<string, unknown>) =>
  client.post(`/tickets/${ticket.id}/timer/stop`, fields)

/** Moves the start of all timers of an organization. */
async function startedAt({ sql, organization_id }: Scope, instant: string): Promise<void> {
  await sql`update timers set started_at = ${instant}::text::timestamptz where organization_id = ${organization_id}`
}

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString()

const entriesOf = async (client: Client) => (await client.get('/time-entries')).body.data

function expectError(answer: Answer, status: number, code: string): void {
  expect([answer.status, answer.body?.error?.code]).toEqual([status, code])
}

describe('starting', () => {
  test('answers with every field of the timer, which is the active one from then on', async () => {
    const { agent, scope } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    const fields = { description: 'A call', billable: false, rate: 80.5 }
    const answer = await start(agent, ticket, fields)
    expect(answer.status).toBe(201)
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ticket,
      user: { id: agent.user_id, name: 'Alan Agent' },
      ...fields,
      started_at: TIME,
      elapsed_seconds: 0,
    })
    const active = await agent.get('/timer/active')
    expect(active.body.data).toEqual({ ...answer.body.data, elapsed_seconds: expect.any(Number) })
  })

  test('needs no body', async () => {
    const { agent, scope } = await createOrganization()
    const answer = await start(agent, await insertTicketOf(scope, {}))
    expect(answer.status).toBe(201)
    expect(answer.body.data).toMatchObject({ description: null, billable: true, rate: null })
  })

  test('is refused while another timer runs, which the answer shows', async () => {
    const { agent, scope } = await createOrganization()
    const first = await insertTicketOf(scope, {})
    const { id } = (await start(agent, first)).body.data
    for (const ticket of [first, await insertTicketOf(scope, {})]) {
      const answer = await start(agent, ticket)
      expectError(answer, 422, 'TIMER_ALREADY_RUNNING')
      expect(answer.body.error.details.timer).toMatchObject({ id, ticket: first })
    }
  })

  test('of many at the same moment one wins', async () => {
    const { agent, scope } = await createOrganization()
    const tickets = await Promise.all(Array.from({ length: 12 }, () => insertTicketOf(scope, {})))
    const answers = await Promise.all(tickets.map((ticket) => start(agent, ticket)))
    const [won, ...others] = answers.toSorted((a, b) => a.status - b.status)
    expect(won!.status).toBe(201)
    for (const answer of others) {
      expectError(answer, 422, 'TIMER_ALREADY_RUNNING')
      expect(answer.body.error.details.timer.id).toBe(won!.body.data.id)
    }
  })

  test('each member has a timer in each organization', async () => {
    const one = await createOrganization()
    const two = await createOrganization()
    const { sql } = connection()
    await sql`insert into memberships (organization_id, user_id) values (${two.id}, ${one.agent.user_id})`
    const [here, there] = [await insertTicketOf(one.scope, {}), await insertTicketOf(two.scope, {})]
    expect((await start(one.agent, here)).status).toBe(201)
    expect((await start(one.admin, here)).status).toBe(201)
    const elsewhere = { 'x-organization-id': two.id }
    expect((await one.agent.post(`/tickets/${there.id}/timer/start`, {}, elsewhere)).status).toBe(201)
    expect((await one.agent.get('/timer/active')).body.data.ticket).toEqual(here)
    expect((await one.agent.get('/timer/active', elsewhere)).body.data.ticket).toEqual(there)
    expect((await two.admin.get('/timer/active')).body).toEqual({ data: null })
  })

  test.each([
    [{ description: 5 }, '/description'],
    [{ rate: -1 }, '/rate'],
  ])('%j is refused and starts nothing', async (fields, path) => {
    const { agent, scope } = await createOrganization()
    const answer = await start(agent, await insertTicketOf(scope, {}), fields)
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors).toMatchObject([{ path }])
    expect((await agent.get('/timer/active')).body).toEqual({ data: null })
  })
})

describe('stopping', () => {
  test('logs the time with what the timer was started with, as if it had been logged by hand', async () => {
    const { agent, scope } = await createOrganization()
    await hearEvents(scope)
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket, { description: 'A call', billable: false, rate: 90 })
    await startedAt(scope, ago(90))
    const answer = await stop(agent, ticket)
    expect(answer.status).toBe(201)
    const entry = answer.body.data
    expect(entry).toMatchObject({
      ticket,
      user: { id: agent.user_id },
      duration_minutes: 2,
      description: 'A call',
      billable: false,
      rate: 90,
      amount: 3,
    })
    expect((await agent.get(`/time-entries/${entry.id}`)).body.data).toEqual(entry)
    expect((await agent.get('/timer/active')).body).toEqual({ data: null })
    expect((await writtenEvents(scope)).map(({ event, data }) => [event, data])).toEqual([
      ['time_entry.created', entry],
    ])
    const data = { time_entry_id: entry.id, duration_minutes: 2, billable: false }
    expect([...(await activityOf(scope, ticket.id))]).toEqual([{ type: 'time_logged', data }])
  })

  test('takes what is given instead', async () => {
    const { agent, scope } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket, { description: 'A call', billable: false, rate: 90 })
    const fields = { description: 'A long call', billable: true, rate: 60, date: '2024-02-29' }
    expect((await stop(agent, ticket, fields)).body.data).toMatchObject({ ...fields, duration_minutes: 1, amount: 1 })
  })

  test('chooses the rate as for other time when none is given', async () => {
    const { agent, scope } = await createOrganization()
    const company = await createCompany(agent, { hourly_rate: 120, currency: 'EUR' })
    const ticket = await insertTicketOf(scope, { company_id: company.id })
    await start(agent, ticket)
    expect((await stop(agent, ticket)).body.data).toMatchObject({ rate: 120, currency: 'EUR', amount: 2 })
  })

  test.each([
    ['no time', 0, 1],
    ['50 seconds', 50, 1],
    ['a minute and a bit', 60.5, 2],
    ['an hour less a bit', 3590, 60],
    ['a clock set back by an hour', -3600, 1],
    ['two years', 2 * 366 * 86_400, 525_600],
  ])('%s counts in begun minutes, within bounds', async (_, seconds, minutes) => {
    const { agent, scope } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket)
    await startedAt(scope, ago(seconds))
    const { elapsed_seconds } = (await agent.get('/timer/active')).body.data
    expect(elapsed_seconds).toBeGreaterThanOrEqual(Math.max(Math.floor(seconds), 0))
    expect((await stop(agent, ticket)).body.data.duration_minutes).toBe(minutes)
  })

  test.each([
    [undefined, '2026-01-31'],
    ['Europe/Berlin', '2026-02-01'],
    ['America/Los_Angeles', '2026-01-31'],
  ])('the day is that of the start in the zone %p', async (time_zone, date) => {
    const { admin, agent, scope } = await createOrganization()
    if (time_zone) await admin.patch('/organization', { time_zone })
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket)
    await startedAt(scope, '2026-02-01T00:30:00+01:00')
    expect((await stop(agent, ticket)).body.data.date).toBe(date)
  })

  test('of many at the same moment one logs the time', async () => {
    const { agent, scope } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket)
    const answers = await Promise.all(Array.from({ length: 12 }, () => stop(agent, ticket)))
    const [won, ...others] = answers.toSorted((a, b) => a.status - b.status)
    expect(won!.status).toBe(201)
    for (const answer of others) expectError(answer, 404, 'TIMER_NOT_FOUND')
    expect(await entriesOf(agent)).toEqual([won!.body.data])
  })

  test('starts and stops of many clients leave one entry for each stop that succeeded', async () => {
    const { agent, scope } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    const storm = Array.from({ length: 60 }, (_, index) => (index % 2 ? stop(agent, ticket) : start(agent, ticket)))
    const answers = await Promise.all(storm)
    const succeeded = (kind: number) =>
      answers.filter(({ status }, index) => index % 2 === kind && status === 201).length
    const running = (await agent.get('/timer/active')).body.data ? 1 : 0
    expect(answers.every(({ status }) => [201, 404, 422].includes(status))).toBe(true)
    expect(await entriesOf(agent)).toBeArrayOfSize(succeeded(1))
    expect(succeeded(0)).toBe(succeeded(1) + running)
  })

  test('is about the own timer on that ticket', async () => {
    const { agent, admin, scope } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket)
    expectError(await stop(admin, ticket), 404, 'TIMER_NOT_FOUND')
    expectError(await stop(agent, await insertTicketOf(scope, {})), 404, 'TIMER_NOT_FOUND')
    expect((await agent.get('/timer/active')).body.data.ticket).toEqual(ticket)
  })

  test('that is refused, or breaks off before its commit, leaves the timer running', async () => {
    const { agent, scope } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    const { id } = (await start(agent, ticket)).body.data
    expectError(await stop(agent, ticket, { date: '2026-02-30' }), 422, 'VALIDATION_ERROR')
    const broken = await inTransaction(scope, async ({ sql }) => {
      await sql`select from tickets where organization_id = ${scope.organization_id} and id = ${ticket.id} for update`
      const stopping = stop(agent, ticket)
      await breakWhoWaits()
      return stopping
    })
    expect(broken.status).toBe(503)
    expect((await agent.get('/timer/active')).body.data).toMatchObject({ id, ticket })
    expect(await entriesOf(agent)).toEqual([])
  })
})

describe('a timer that is dropped', () => {
  test('logs nothing', async () => {
    const { agent, admin, scope } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket)
    expectError(await admin.delete('/timer/active'), 404, 'TIMER_NOT_FOUND')
    expect((await agent.delete('/timer/active')).status).toBe(204)
    expectError(await agent.delete('/timer/active'), 404, 'TIMER_NOT_FOUND')
    expect((await agent.get('/timer/active')).body).toEqual({ data: null })
    expect(await entriesOf(agent)).toEqual([])
  })
})

describe('the list of running timers', () => {
  test('shows admins those of all members, the last started first', async () => {
    const { agent, admin, scope } = await createOrganization()
    await start((await createOrganization()).agent, { id: NOBODY })
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket)
    await start(admin, ticket)
    const { body } = await admin.get('/timers')
    expect(body.data.map(({ user }: { user: { name: string } }) => user.name)).toEqual(['Ada Admin', 'Alan Agent'])
    expect(body.meta).toMatchObject({ total: 2, page: 1, per_page: 20 })
    expect((await admin.get('/timers?page=2&per_page=1')).body.data).toMatchObject([{ user: { name: 'Alan Agent' } }])
  })
})

describe('the timers that run', () => {
  test('on a ticket that is deleted are logged, before the event of the deletion', async () => {
    const { agent, admin, scope } = await createOrganization()
    await hearEvents(scope)
    const ticket = await insertTicketOf(scope, {})
    const other = await insertTicketOf(scope, {})
    const third = await (await createOrganization()).addMember('agent')
    await start(agent, ticket, { description: 'A call' })
    await start(admin, other)
    expect((await admin.delete(`/tickets/${ticket.id}`)).status).toBe(204)
    expect((await agent.get('/timer/active')).body).toEqual({ data: null })
    expect((await admin.get('/timer/active')).body.data.ticket).toEqual(other)
    const [entry, ...more] = await entriesOf(agent)
    expect(more).toEqual([])
    expect(entry).toMatchObject({ ticket, user: { id: agent.user_id }, description: 'A call', duration_minutes: 1 })
    expect((await writtenEvents(scope)).map(({ event }) => event)).toEqual(['time_entry.created', 'ticket.deleted'])
    expect((await third.get('/time-entries')).body.data).toEqual([])
  })

  test.each([
    ['is removed', (admin: Client, id: string) => admin.delete(`/users/${id}`), 204],
    ['is deactivated', (admin: Client, id: string) => admin.patch(`/users/${id}`, { active: false }), 200],
  ])('of a member who %s are logged', async (_, change, status) => {
    const { agent, admin, scope } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket)
    await start(admin, ticket)
    expect((await change(admin, agent.user_id)).status).toBe(status)
    expect(await entriesOf(admin)).toMatchObject([{ ticket, user: { id: agent.user_id }, duration_minutes: 1 }])
    expect((await admin.get('/timers')).body.data).toMatchObject([{ user: { id: admin.user_id } }])
  })

  test('of a member who leaves are logged', async () => {
    const { agent, admin, id, scope } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket)
    expect((await agent.delete(`/auth/me/organizations/${id}`)).status).toBe(204)
    expect(await entriesOf(admin)).toMatchObject([{ ticket, user: { id: agent.user_id } }])
  })

  test('go on when other things of the member change', async () => {
    const { agent, admin, scope } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket)
    expect((await admin.patch(`/users/${agent.user_id}`, { hourly_rate: 50, active: true })).status).toBe(200)
    await agent.post('/auth/logout', { refresh_token: 'x' })
    expect((await (await signIn(agent.email)).get('/timer/active')).body.data.ticket).toEqual(ticket)
  })

  test('never outlive a ticket that is deleted at the same moment', async () => {
    const { agent, admin, scope } = await createOrganization()
    for (let round = 0; round < 20; round += 1) {
      const ticket = await insertTicketOf(scope, {})
      const answers = await Promise.all([
        start(agent, ticket),
        admin.delete(`/tickets/${ticket.id}`),
        stop(agent, ticket),
      ])
      expect(answers.filter(({ status }) => status >= 500)).toEqual([])
      expect((await agent.get('/timer/active')).body).toEqual({ data: null })
    }
  })

  test('are stopped while their ticket is being deleted without a deadlock', async () => {
    const { agent, scope } = await createOrganization()
    const { organization_id } = scope
    const ticket = await insertTicketOf(scope, {})
    await start(agent, ticket)
    let stopping: Promise<Answer> | undefined
    await inTransaction(scope, async ({ sql }) => {
      await sql`select from tickets where organization_id = ${organization_id} and id = ${ticket.id} for no key update`
      stopping = stop(agent, ticket)
      await someoneWaits()
      await sql`select from timers where organization_id = ${organization_id} and ticket_id = ${ticket.id} for update`
    })
    expect((await stopping!).status).toBe(201)
  })

  test('never outlive a membership that ends at the same moment', async () => {
    const { admin, scope, addMember } = await createOrganization()
    const ticket = await insertTicketOf(scope, {})
    for (let round = 0; round < 10; round += 1) {
      const member = await addMember('agent')
      await Promise.all([start(member, ticket), admin.delete(`/users/${member.user_id}`)])
      expect((await admin.get('/timers')).body.data).toEqual([])
    }
  })
})
