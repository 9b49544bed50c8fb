/** Tickets that come to a team go to its members: fairly, within capacity, in the transaction that brings them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import type { Client, Organization } from '../../support/api'
import { createOrganization } from '../../support/api'
import { createCustomer } from '../../support/customers'
import { type StartedDesk, startDesk } from '../../support/desk'
import {
  createContact,
  createMessage,
  createTeam,
  createTicket,
  hearEvents,
  writtenEvents,
} from '../../support/factories'
import { importMail, rawMail } from '../../support/mail'

let started: StartedDesk

beforeAll(async () => {
  started = await startDesk()
})
afterAll(() => started.stop())

type Team = { id: string; name: string }
type Desk = Organization & { team: Team; members: Client[]; contact_id: string }

/** An organization with a team of new members. */
async function deskOf(size: number, fields: Record<string, unknown> = {}): Promise<Desk> {
  const desk = await createOrganization()
  const members: Client[] = []
  for (let n = 0; n < size; n++) members.push(await desk.addMember('agent', `Member ${n}`))
  const team = await teamOf(desk, members, { assign: 'round_robin', ...fields })
  return { ...desk, team, members, contact_id: (await createContact(desk.agent)).id }
}

async function teamOf({ admin }: Organization, members: Client[], fields: Record<string, unknown>): Promise<Team> {
  const { id, name } = await createTeam(admin, { member_ids: members.map(({ user_id }) => user_id), ...fields })
  return { id, name }
}

const bring = (desk: Desk, fields: Record<string, unknown> = {}) =>
  createTicket(desk.agent, { contact_id: desk.contact_id, team_id: desk.team.id, ...fields })

/** How many tickets each member has, in the order of the members. */
async function held({ scope: { sql, organization_id }, members }: Desk): Promise<number[]> {
  const rows = await sql<{ id: string; n: number }[]>`
    select assignee_id as id, count(*)::integer as n from tickets
    where organization_id = ${organization_id} and assignee_id is not null group by assignee_id`
  const counts = new Map(rows.map(({ id, n }) => [id, n]))
  return members.map(({ user_id }) => counts.get(user_id) ?? 0)
}

const assigneeOf = async (desk: Organization, id: string) =>
  (await desk.admin.get(`/tickets/${id}`)).body.data.assignee?.id ?? null

/** The timeline of a ticket as words, oldest entry first. */
async function timelineOf({ agent }: Organization, id: string): Promise<string[]> {
  const { data } = (await agent.get(`/tickets/${id}/activity`)).body
  type Entry = { type: string; actor: { type: string }; data: { field?: string } }
  const told = data.map(({ type, actor, data }: Entry) =>
    [type, data.field, 'by', actor.type].filter(Boolean).join(' '),
  )
  return told
}

describe('16 at once', () => {
  const ways: [string, (desk: Desk) => Promise<unknown>][] = [
    ['creates', (desk) => bring(desk)],
    // An external id is written alone.
    ['creates, each in a transaction of its own', (desk) => bring(desk, { external_id: newId() })],
    [
      'changes',
      async (desk) => {
        const { id } = await createTicket(desk.agent, { contact_id: desk.contact_id })
        return desk.agent.patch(`/tickets/${id}`, { team_id: desk.team.id })
      },
    ],
  ]
  test.each(ways)('of %s: each member gets the same number in turn', async (_, come) => {
    const desk = await deskOf(4)
    await Promise.all(Array.from({ length: 16 }, () => come(desk)))
    expect(await held(desk)).toEqual([4, 4, 4, 4])
  })

  test.each(ways)('of %s: nobody gets more than the capacity, and the others stay unassigned', async (_, come) => {
    const desk = await deskOf(3, { capacity: 2 })
    await Promise.all(Array.from({ length: 16 }, () => come(desk)))
    expect(await held(desk)).toEqual([2, 2, 2])
    expect((await desk.agent.get(`/tickets?team_id=${desk.team.id}&assignee_id=none`)).body.meta.total).toBe(10)
  })

  test('by two teams with a common member: both count what the other one gives', async () => {
    const desk = await deskOf(2, { capacity: 3 })
    const second = await teamOf(desk, desk.members, { assign: 'least_open', capacity: 3 })
    const come = (n: number) => bring(desk, { external_id: newId(), team_id: n % 2 ? second.id : desk.team.id })
    await Promise.all(Array.from({ length: 16 }, (_, n) => come(n)))
    expect(await held(desk)).toEqual([3, 3])
  })

  test('to whom has the fewest', async () => {
    const desk = await deskOf(2, { assign: 'least_open' })
    const [busy] = desk.members
    for (let n = 0; n < 4; n++) {
      await createTicket(desk.agent, { contact_id: desk.contact_id, assignee_id: busy!.user_id })
    }
    await Promise.all(Array.from({ length: 16 }, () => bring(desk)))
    expect(await held(desk)).toEqual([10, 10])
  })

  test('beside deactivations, changed members and removals: it goes on, and who is away gets no more', async () => {
    const desk = await deskOf(4)
    const [gone, off, away] = desk.members as [Client, Client, Client]
    await Promise.all([
      ...Array.from({ length: 16 }, () => bring(desk, { external_id: newId() })),
      desk.admin.delete(`/users/${gone.user_id}`),
      desk.admin.patch(`/users/${off.user_id}`, { active: false }),
      away.patch('/auth/me', { available: false }),
    ])
    const before = await held(desk)
    expect(before.reduce((sum, n) => sum + n)).toBe(16)
    await Promise.all(Array.from({ length: 8 }, () => bring(desk)))
    expect(await held(desk)).toEqual([...before.slice(0, 3), before[3]! + 8])
  })
})

test('a ticket that has an assignee, or comes to a team that gives none, is given to nobody', async () => {
  const desk = await deskOf(2)
  const own = await bring(desk, { assignee_id: desk.agent.user_id })
  expect(own).toMatchObject({ team: desk.team, assignee: { id: desk.agent.user_id } })
  const quiet = await teamOf(desk, desk.members, { assign: 'none' })
  expect(await bring(desk, { team_id: quiet.id })).toMatchObject({ team: quiet, assignee: null })
  const none = await createTicket(desk.agent, { contact_id: desk.contact_id })
  expect(none).toMatchObject({ team: null, assignee: null })
  const changed = await desk.agent.patch(`/tickets/${own.id}`, { team_id: null })
  expect(changed.body.data).toMatchObject({ team: null, assignee: { id: desk.agent.user_id } })
})

test('capacity that comes later takes nobody in, and a ticket that stays in its team is given to nobody', async () => {
  const desk = await deskOf(1, { capacity: 1 })
  await bring(desk)
  const left = await bring(desk)
  expect(left.assignee).toBeNull()
  await desk.admin.patch(`/teams/${desk.team.id}`, { capacity: 5 })
  expect(await assigneeOf(desk, left.id)).toBeNull()
  const same = await desk.agent.patch(`/tickets/${left.id}`, { team_id: desk.team.id, priority: 'high' })
  expect(same.body.data).toMatchObject({ priority: 'high', assignee: null })
})

test('pending tickets and those of other teams count, resolved ones do not', async () => {
  const desk = await deskOf(1, { capacity: 2 })
  const second = await teamOf(desk, desk.members, { assign: 'round_robin', capacity: 2 })
  const one = await bring(desk)
  await desk.agent.patch(`/tickets/${one.id}`, { status: 'pending' })
  const two = await bring(desk, { team_id: second.id })
  expect((await bring(desk)).assignee).toBeNull()
  await desk.agent.patch(`/tickets/${two.id}`, { status: 'resolved' })
  expect((await bring(desk)).assignee).toMatchObject({ id: desk.members[0]!.user_id })
})

test('who was away gets one ticket on return, not all that the others got meanwhile', async () => {
  const desk = await deskOf(3)
  const [away] = desk.members
  await away!.patch('/auth/me', { available: false })
  for (let n = 0; n < 6; n++) await bring(desk)
  await away!.patch('/auth/me', { available: true })
  for (let n = 0; n < 6; n++) await bring(desk)
  expect(await held(desk)).toEqual([2, 5, 5])
})

test('team and assignee are one ticket.updated, with ticket.assigned; the timeline says who did which', async () => {
  const desk = await deskOf(1)
  const { id } = await createTicket(desk.agent, { contact_id: desk.contact_id })
  await hearEvents(desk.scope)
  const { data } = (await desk.agent.patch(`/tickets/${id}`, { team_id: desk.team.id })).body
  const [member] = desk.members
  expect(data).toMatchObject({ team: desk.team, assignee: { id: member!.user_id, name: 'Member 0' } })
  const events = await writtenEvents(desk.scope)
  expect(events.map(({ event }) => event)).toEqual(['ticket.updated', 'ticket.assigned'])
  expect(events[0]!.data.changes).toEqual({
    team: { from: null, to: desk.team },
    assignee: { from: null, to: { id: member!.user_id, name: 'Member 0' } },
  })
  expect(await timelineOf(desk, id)).toEqual(['created by user', 'changed team by user', 'changed assignee by system'])
})

test('a new ticket has ticket.created with both, ticket.assigned, and an entry of the service', async () => {
  const desk = await deskOf(1)
  await hearEvents(desk.scope, ['ticket.created', 'ticket.assigned'])
  const { id, assignee } = await bring(desk)
  expect(assignee).toMatchObject({ id: desk.members[0]!.user_id })
  const events = await writtenEvents(desk.scope)
  expect(events.map(({ event }) => event)).toEqual(['ticket.created', 'ticket.assigned'])
  for (const { data } of events) expect(data).toMatchObject({ team: desk.team, assignee })
  expect(await timelineOf(desk, id)).toEqual(['created by user', 'changed assignee by system'])
})

describe('every way that brings a ticket to a team gives it:', () => {
  test('a macro and bulk changes', async () => {
    const desk = await deskOf(2)
    const macro = (await desk.agent.post('/macros', { name: newId(), changes: { team_id: desk.team.id } })).body.data
    expect(macro.changes).toEqual({ team_id: desk.team.id })
    const [one, two, three] = await Promise.all(
      [1, 2, 3].map(() => createTicket(desk.agent, { contact_id: desk.contact_id })),
    )
    const applied = await desk.agent.post(`/macros/${macro.id}/apply`, { ticket_id: one!.id })
    expect(applied.body.data.ticket.assignee).not.toBeNull()
    const bulk = await desk.agent.post('/tickets/bulk', {
      ids: [two!.id, three!.id],
      changes: { team_id: desk.team.id },
    })
    expect(bulk.body.meta).toMatchObject({ changed: 2, failed: 0 })
    expect((await held(desk)).toSorted()).toEqual([1, 2])
  })

  test('a greedy bulk change of 100 tickets, in turn, while others come', async () => {
    const desk = await deskOf(4)
    const ids: string[] = []
    for (let n = 0; n < 100; n++) ids.push((await createTicket(desk.agent, { contact_id: desk.contact_id })).id)
    const [bulk] = await Promise.all([
      desk.agent.post('/tickets/bulk', { ids, changes: { team_id: desk.team.id } }),
      ...Array.from({ length: 8 }, () => bring(desk)),
    ])
    expect(bulk!.body.meta).toMatchObject({ changed: 100, failed: 0 })
    expect(await held(desk)).toEqual([27, 27, 27, 27])
    const again = await desk.agent.post('/tickets/bulk', { ids, changes: { team_id: desk.team.id } })
    expect(again.body.meta).toMatchObject({ unchanged: 100 })
  })

  test('mail to a mailbox with a team, what is split from it, and what a customer opens at the default mailbox', async () => {
    const desk = await deskOf(1)
    const { admin, agent, team, members } = desk
    const address = `${newId()}@desk.example`
    const mailbox = (await admin.post('/mailboxes', { address, team_id: team.id, is_default: true })).body.data
    const filed = await importMail(admin, mailbox.id, rawMail({ from: 'carla@customer.example', to: address }))
    const ticket = (await agent.get(`/tickets/${filed.ticket_id}`)).body.data
    const given = { team, assignee: { id: members[0]!.user_id } }
    expect(ticket).toMatchObject(given)
    const second = await createMessage(agent, ticket.id, { is_internal: true })
    const split = await agent.post(`/tickets/${ticket.id}/split`, { message_ids: [second.id] })
    expect(split.body.data).toMatchObject(given)
    const customer = await createCustomer(admin)
    const own = (await customer.post('/my/tickets', { subject: 'Help', body: 'It burns' })).body.data
    expect((await agent.get(`/tickets/${own.id}`)).body.data).toMatchObject(given)
    expect(await createTicket(agent, { contact_id: desk.contact_id })).toMatchObject(given)
    const other = await teamOf(desk, [], {})
    expect(await createTicket(agent, { contact_id: desk.contact_id, team_id: other.id })).toMatchObject({
      ...{ team: other, assignee: null },
    })
  })
})

test('webhooks with team_ids get what is, or was, of the team', async () => {
  const desk = await deskOf(0)
  const { sql, organization_id } = desk.scope
  const filter = { team_ids: [desk.team.id] }
  const fields = { url: 'https://receiver.example/', events: ['ticket.created', 'ticket.updated'], filter }
  expect((await desk.admin.post('/webhooks', fields)).body.data.filter).toEqual(filter)
  const other = await createTicket(desk.agent, { contact_id: desk.contact_id })
  await bring(desk)
  await desk.agent.patch(`/tickets/${other.id}`, { team_id: desk.team.id })
  await desk.agent.patch(`/tickets/${other.id}`, { team_id: null })
  await desk.agent.patch(`/tickets/${other.id}`, { priority: 'high' })
  const rows = await sql<{ event: string }[]>`
    select event from deliveries where organization_id = ${organization_id} order by id`
  expect(rows.map(({ event }) => event)).toEqual(['ticket.created', 'ticket.updated', 'ticket.updated'])
})
