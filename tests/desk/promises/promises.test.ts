/** Promises of tickets: what begins, pauses, keeps and breaks them, and who is told. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { register } from 'prom-client'
import { connection } from '../../../src/base/db/pool'
import type { OutboxJob } from '../../../src/delivery/outbox/job'
import { endOf } from '../../../src/desk/deeds/deeds'
import { keepPromises } from '../../../src/desk/promises/keep'
import { tellPromises } from '../../../src/desk/tickets/tell-promises'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { stepClock } from '../../support/clock'
import { createCustomer } from '../../support/customers'
import {
  createCompany,
  createContact,
  createLabel,
  createMessage,
  createPolicy,
  createSchedule,
  createTicket,
  hearEvents,
  writtenEvents,
} from '../../support/factories'
import { createMailbox, drain, importMail, rawMail } from '../../support/mail'

const MINUTE_MS = 60_000
const PRIORITIES = ['low', 'normal', 'high', 'urgent']

beforeAll(() => startApi(10))
afterAll(stopApi)

type Minutes = { first_reply_minutes?: number; next_reply_minutes?: number; resolve_minutes?: number }

const toAll = (minutes: Minutes) => PRIORITIES.map((priority) => ({ priority, ...minutes }))

/** An organization that promises something to all tickets. */
async function deskWith(minutes: Minutes) {
  const desk = await createOrganization()
  const policy = await createPolicy(desk.admin, { targets: toAll(minutes) })
  await reviewed(desk)
  return { ...desk, policy }
}

/** Waits until the reviews of an organization have ended. */
async function reviewed({ scope: { sql, organization_id } }: Organization): Promise<void> {
  for (;;) {
    const deeds = await sql<{ id: string }[]>`select id from deeds where organization_id = ${organization_id}`
    if (deeds.length === 0) return
    await Promise.all(deeds.map(({ id }) => endOf(id)))
  }
}

const show = async ({ agent }: Organization, id: string) => (await agent.get(`/tickets/${id}`)).body.data.sla

function stored({ scope: { sql, organization_id } }: Organization, ticket_id: string) {
  return sql<{ metric: string; outcome: string | null; is_breached: boolean }[]>`
    select metric, outcome, breached_at is not null as is_breached from promises
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} order by began_at, metric`
}

/** How many minutes from now a ticket is due, rounded. */
const minutesTo = ({ due_at }: { due_at: string }) => Math.round((Date.parse(due_at) - Date.now()) / MINUTE_MS)

test('a first reply is promised from the creation, the next from the first message that waits', async () => {
  const desk = await deskWith({ first_reply_minutes: 60, next_reply_minutes: 120 })
  const { agent, policy } = desk
  const carla = await createCustomer(desk.admin)
  const ticket = await createTicket(agent, { description: 'Help', contact_id: carla.contact.id })
  expect(ticket.sla).toMatchObject({
    policy: { id: policy.id, name: policy.name },
    metric: 'first_reply',
    breached: false,
  })
  expect(minutesTo(ticket.sla)).toBe(60)
  expect(await show(desk, ticket.id)).toEqual(ticket.sla)
  await createMessage(agent, ticket.id, { body: 'A note', is_internal: true })
  expect(await show(desk, ticket.id)).toEqual(ticket.sla)
  await createMessage(agent, ticket.id)
  expect(await show(desk, ticket.id)).toEqual({
    policy: ticket.sla.policy,
    metric: null,
    due_at: null,
    soon_at: null,
    breached: false,
  })
  await carla.post(`/my/tickets/${ticket.id}/messages`, { body: 'And now?' })
  const next = await show(desk, ticket.id)
  expect([next.metric, minutesTo(next)]).toEqual(['next_reply', 120])
  await createMessage(agent, ticket.id)
  expect([...(await stored(desk, ticket.id))]).toEqual([
    { metric: 'first_reply', outcome: 'kept', is_breached: false },
    { metric: 'next_reply', outcome: 'kept', is_breached: false },
  ])
})

test('pending pauses the end, and resolving keeps it; a ticket that is open again goes on', async () => {
  const desk = await deskWith({ first_reply_minutes: 600, resolve_minutes: 60 })
  const { agent } = desk
  const { id, sla } = await createTicket(agent, { description: 'Help' })
  expect([sla.metric, minutesTo(sla)]).toEqual(['resolve', 60])
  expect((await agent.patch(`/tickets/${id}`, { status: 'pending' })).body.data.sla.metric).toBe('first_reply')
  expect((await agent.patch(`/tickets/${id}`, { status: 'open' })).body.data.sla.metric).toBe('resolve')
  expect((await agent.patch(`/tickets/${id}`, { status: 'resolved' })).body.data.sla).toMatchObject({
    metric: null,
    due_at: null,
  })
  expect((await stored(desk, id)).map(({ metric, outcome }) => [metric, outcome])).toEqual([
    ['first_reply', 'void'],
    ['resolve', 'kept'],
  ])
  const again = (await agent.patch(`/tickets/${id}`, { status: 'open' })).body.data.sla
  expect([again.metric, minutesTo(again)]).toEqual(['resolve', 60])
  expect((await stored(desk, id)).map(({ outcome }) => outcome)).toEqual([null, null])
})

test('the first policy that fits counts, at the creation and when what it names changes', async () => {
  const desk = await createOrganization()
  const { admin, agent } = desk
  const label = await createLabel(agent)
  const company = await createCompany(agent)
  const targets = toAll({ resolve_minutes: 10 })
  await createPolicy(admin, { name: 'Rest', position: 9, targets })
  await createPolicy(admin, { name: 'Labelled', position: 3, targets, filter: { label_ids: [label.id] } })
  await createPolicy(admin, { name: 'Company', position: 2, targets, filter: { company_ids: [company.id] } })
  await createPolicy(admin, { name: 'Off', position: 1, targets, active: false })
  const contact = await createContact(agent)
  const ticket = await createTicket(agent, { contact_id: contact.id, label_ids: [label.id] })
  const name = async () => (await show(desk, ticket.id)).policy.name
  expect(ticket.sla.policy.name).toBe('Labelled')
  await agent.send('DELETE', `/tickets/${ticket.id}/labels`, { label_ids: [label.id] })
  expect(await name()).toBe('Rest')
  await agent.patch(`/contacts/${contact.id}`, { company_id: company.id })
  expect(await name()).toBe('Company')
  await agent.delete(`/companies/${company.id}`)
  expect(await name()).toBe('Rest')
})

test('the last fifth of a promise is counted in minutes of its schedule', async () => {
  const desk = await deskWith({ first_reply_minutes: 100, resolve_minutes: 60 })
  const { admin, agent, policy } = desk
  const { id, sla } = await createTicket(agent)
  const lengthOf = ({ due_at, soon_at }: { due_at: string; soon_at: string }) =>
    Math.round((Date.parse(due_at) - Date.parse(soon_at)) / MINUTE_MS)
  expect(lengthOf(sla)).toBe(12)
  expect((await agent.get('/tickets')).body.data[0].sla).toEqual(sla)
  const later = new Date(Date.now() + 3 * 24 * 60 * MINUTE_MS)
  const day = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'][later.getUTCDay()]!
  const schedule = await createSchedule(admin, { hours: { [day]: [['08:00', '12:00']] } })
  await admin.patch(`/sla-policies/${policy.id}`, { schedule_id: schedule.id })
  await reviewed(desk)
  expect(lengthOf(await show(desk, id))).toBe(12)
  expect((await agent.get('/tickets')).body.data[0].sla).toEqual(await show(desk, id))
})

test('a changed policy or schedule computes open tickets anew, from the begin of the promise', async () => {
  const desk = await deskWith({ resolve_minutes: 60 })
  const { admin, agent, policy } = desk
  const { id } = await createTicket(agent)
  await admin.patch(`/sla-policies/${policy.id}`, { targets: toAll({ resolve_minutes: 30 }) })
  await reviewed(desk)
  expect(minutesTo(await show(desk, id))).toBe(30)
  const schedule = await createSchedule(admin, { hours: { mon: [['00:00', '00:01']] } })
  await admin.patch(`/sla-policies/${policy.id}`, { schedule_id: schedule.id })
  await reviewed(desk)
  expect(minutesTo(await show(desk, id))).toBeGreaterThan(28 * 7 * 24 * 60)
  await admin.delete(`/schedules/${schedule.id}`)
  await reviewed(desk)
  expect(await show(desk, id)).toBeNull()
  expect((await stored(desk, id))[0]).toMatchObject({ outcome: 'void' })
  await admin.patch(`/sla-policies/${policy.id}`, { active: true })
  await reviewed(desk)
  expect(minutesTo(await show(desk, id))).toBe(30)
})

describe('who follows is told', () => {
  test('once when a promise is due soon, and once when it is breached, also when its minutes grow later', async () => {
    const desk = await deskWith({ first_reply_minutes: 100 })
    const { agent, admin, policy, scope } = desk
    await hearEvents(scope)
    const { id } = await createTicket(agent, { description: 'Help' })
    const told = async () => {
      const events = await writtenEvents(scope)
      return events.flatMap(({ event, data }) =>
        event.startsWith('ticket.sla_') ? { event, promise: data.promise } : [],
      )
    }
    /** Does the work of the outbox as if it were later. */
    const tellAt = async (minutes: number) => {
      stepClock(minutes * MINUTE_MS)
      try {
        const job = { organization_id: desk.id, id: `${id.slice(0, 14)}8${id.slice(15)}` } as OutboxJob
        expect(await tellPromises(job, connection())).toMatchObject({ type: minutes < 100 ? 'retry' : 'done' })
      } finally {
        stepClock(0)
      }
    }
    await tellAt(79)
    expect(await told()).toEqual([])
    await Promise.all([tellAt(81), tellAt(81)])
    const promise = { metric: 'first_reply', due_at: expect.any(String) }
    expect(await told()).toEqual([{ event: 'ticket.sla_due_soon', promise }])
    await tellAt(101)
    await tellAt(102)
    const both = [
      { event: 'ticket.sla_due_soon', promise },
      { event: 'ticket.sla_breached', promise },
    ]
    expect(await told()).toEqual(both)
    expect((await stored(desk, id))[0]).toMatchObject({ outcome: null, is_breached: true })
    await admin.patch(`/sla-policies/${policy.id}`, { targets: toAll({ first_reply_minutes: 300 }) })
    await reviewed(desk)
    expect((await stored(desk, id))[0]).toMatchObject({ outcome: null, is_breached: false })
    await tellAt(301)
    expect((await stored(desk, id))[0]).toMatchObject({ outcome: null, is_breached: true })
    expect(await told()).toEqual(both)
    // It is breached, whenever it is answered.
    stepClock(302 * MINUTE_MS)
    await keepPromises(scope, [id])
    stepClock(0)
    expect((await stored(desk, id))[0]).toMatchObject({ outcome: null, is_breached: true })
  })

  test('by a row of the outbox, which goes with the last promise', async () => {
    const desk = await deskWith({ first_reply_minutes: 100, resolve_minutes: 300 })
    const { agent, scope } = desk
    const { id } = await createTicket(agent, { description: 'Help' })
    const waits = async () => {
      const rows = await scope.sql<{ left: number }[]>`
        select round(extract(epoch from run_at - now()) / 60)::float8 as left from outbox
        where organization_id = ${desk.id} and kind = 'promise'`
      return rows.map(({ left }) => left)
    }
    expect(await waits()).toEqual([80])
    await createMessage(agent, id)
    expect(await waits()).toEqual([240])
    // One that runs too early puts it back.
    await scope.sql`update outbox set run_at = now() where organization_id = ${desk.id} and kind = 'promise'`
    await drain()
    expect(await waits()).toEqual([240])
    expect(await register.getSingleMetricAsString('deskwire_outbox_stale_outcomes_total')).not.toContain('promise')
    await agent.patch(`/tickets/${id}`, { status: 'pending' })
    expect(await waits()).toEqual([])
    await agent.patch(`/tickets/${id}`, { status: 'resolved' })
    expect(await waits()).toEqual([])
  })
})

test('a mail, what a merge takes in, what is split, and what is deleted', async () => {
  const desk = await deskWith({ first_reply_minutes: 60, next_reply_minutes: 30, resolve_minutes: 600 })
  const { admin, agent } = desk
  const mailbox = await createMailbox(admin)
  const mailed = await importMail(admin, mailbox.id, rawMail({ From: 'carla@customer.example', Subject: 'Help' }))
  expect((await show(desk, mailed.ticket_id)).metric).toBe('first_reply')
  const target = await createTicket(agent, { description: 'Help' })
  await agent.post(`/tickets/${target.id}/merge`, { source_ids: [mailed.ticket_id] })
  expect(await show(desk, mailed.ticket_id)).toBeNull()
  expect((await stored(desk, mailed.ticket_id)).map(({ outcome }) => outcome)).toEqual(['void', 'void'])
  const split = await agent.post(`/tickets/${target.id}/split`, { message_ids: [mailed.message_id] })
  expect([split.body.data.sla.metric, minutesTo(split.body.data.sla)]).toEqual(['first_reply', 60])
  await agent.delete(`/tickets/${target.id}`)
  expect((await stored(desk, target.id)).map(({ outcome }) => outcome)).toEqual(['void', 'void'])
})
