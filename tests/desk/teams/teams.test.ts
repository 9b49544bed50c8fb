/** Teams: who makes them, who is in them, and what names them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import '../../../src/operate/start/outbox-handlers'
import { createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { auditOf } from '../../support/audit-log'
import { createCompany, createLabel, createTeam, createTicket, insertMailbox } from '../../support/factories'

let own: Organization
let other: Organization

beforeAll(async () => {
  await startApi(10)
  own = await createOrganization()
  other = await createOrganization('Umbrella')
})
afterAll(stopApi)

test('a team is made, read by everybody, listed by name, changed and deleted by admins', async () => {
  const desk = await createOrganization()
  const { admin, agent } = desk
  const made = await admin.post('/teams', { name: ' Support ', member_ids: [agent.user_id, agent.user_id] })
  expect(made.status).toBe(201)
  const { id } = made.body.data
  expect(made.body.data).toMatchObject({
    ...{ name: 'Support', member_ids: [agent.user_id], assign: 'none', capacity: null },
  })
  await createTeam(desk.admin, { name: 'billing', assign: 'least_open', capacity: 5 })
  const { data, meta } = (await agent.get('/teams')).body
  expect(data.map(({ name }: { name: string }) => name)).toEqual(['billing', 'Support'])
  expect(meta.total).toBe(2)
  const changes = { name: 'Helpers', member_ids: [admin.user_id], assign: 'round_robin', capacity: 3 }
  expect((await admin.patch(`/teams/${id}`, changes)).body.data).toMatchObject({ id, ...changes })
  expect((await agent.get(`/teams/${id}`)).body.data).toMatchObject(changes)
  expect((await admin.patch(`/teams/${id}`, { capacity: null, member_ids: [] })).body.data).toMatchObject({
    ...{ capacity: null, member_ids: [], name: 'Helpers' },
  })
  expect((await admin.delete(`/teams/${id}`)).status).toBe(204)
  expectError(await agent.get(`/teams/${id}`), 404, 'TEAM_NOT_FOUND')
  expect(await auditOf(desk, id)).toMatchObject([
    { action: 'team.created', changes: { name: { from: null, to: 'Support' } } },
    { action: 'team.updated', changes: { name: { from: 'Support', to: 'Helpers' }, capacity: { to: 3 } } },
    { action: 'team.updated', changes: { capacity: { from: 3, to: null }, member_ids: { to: [] } } },
    { action: 'team.deleted', changes: { name: { from: 'Helpers', to: null } } },
  ])
})

test('a name that is taken, a member who is none and a value that is none are refused, and nothing changes', async () => {
  const taken = await createTeam(own.admin)
  const one = await createTeam(own.admin)
  const name = taken.name.toUpperCase()
  expectError(await own.admin.post('/teams', { name }), 422, 'TEAM_NAME_EXISTS')
  expectError(await own.admin.patch(`/teams/${one.id}`, { name }), 422, 'TEAM_NAME_EXISTS')
  for (const member_id of [newId(), 'x', other.agent.user_id]) {
    const refused = await own.admin.patch(`/teams/${one.id}`, {
      name: 'Other',
      member_ids: [own.agent.user_id, member_id],
    })
    expectError(refused, 422, 'USER_NOT_FOUND')
    expect(refused.body.error.details).toMatchObject({ ids: [member_id], errors: [{ path: '/member_ids' }] })
  }
  for (const fields of [{ assign: 'random' }, { capacity: 0 }, { capacity: 1.5 }, { name: ' ' }, { member_ids: 'x' }]) {
    expectError(await own.admin.patch(`/teams/${one.id}`, fields), 422, 'VALIDATION_ERROR')
  }
  expect((await own.admin.get(`/teams/${one.id}`)).body.data).toEqual(one)
})

describe('an attack:', () => {
  test('agents and keys of other rights read or write no team', async () => {
    const team = await createTeam(own.admin)
    expectError(await own.agent.post('/teams', { name: 'Mine' }), 403, 'FORBIDDEN')
    expectError(await own.agent.patch(`/teams/${team.id}`, { member_ids: [own.agent.user_id] }), 403, 'FORBIDDEN')
    expectError(await own.agent.delete(`/teams/${team.id}`), 403, 'FORBIDDEN')
    const reader = await createProgram(own.admin, ['teams:read'])
    expect((await reader.get(`/teams/${team.id}`)).body.data).toEqual(team)
    expectError(await reader.patch(`/teams/${team.id}`, { name: 'Mine' }), 403, 'FORBIDDEN')
    const stranger = await createProgram(own.admin, ['tickets:write', 'users:read'])
    expectError(await stranger.get('/teams'), 403, 'FORBIDDEN')
    const writer = await createProgram(own.admin, ['teams:write'])
    expect((await writer.patch(`/teams/${team.id}`, { capacity: 2 })).body.data).toMatchObject({ capacity: 2 })
  })

  test("another organization's team is nobody's: not read, not changed, not given to a ticket, mailbox, macro or webhook", async () => {
    const { id } = await createTeam(other.admin)
    const ticket = await createTicket(own.agent)
    expectError(await own.admin.get(`/teams/${id}`), 404, 'TEAM_NOT_FOUND')
    expectError(await own.admin.patch(`/teams/${id}`, { name: 'Mine' }), 404, 'TEAM_NOT_FOUND')
    expectError(await own.admin.delete(`/teams/${id}`), 404, 'TEAM_NOT_FOUND')
    const refused = [
      await own.agent.post('/tickets', { subject: 'Mine', contact_id: ticket.contact.id, team_id: id }),
      await own.agent.post('/tickets', { subject: 'Mine', contact_id: ticket.contact.id, team_id: 'x' }),
      await own.agent.patch(`/tickets/${ticket.id}`, { team_id: id }),
      await own.agent.post('/tickets/bulk', { ids: [ticket.id], changes: { team_id: id } }),
      await own.agent.post('/macros', { name: crypto.randomUUID(), changes: { team_id: id } }),
      await own.admin.post('/mailboxes', { address: `${newId()}@desk.example`, team_id: id }),
      await own.admin.post('/webhooks', {
        ...{ url: 'https://receiver.example/', events: ['ticket.created'], filter: { team_ids: [id] } },
      }),
    ]
    for (const answer of refused) expectError(answer, 422, 'TEAM_NOT_FOUND')
    expect((await own.agent.get(`/tickets?team_id=${id}`)).body.data).toEqual([])
    expect((await own.agent.get(`/tickets/${ticket.id}`)).body.data.team).toBeNull()
    expect((await other.admin.get(`/teams/${id}`)).body.data.name).not.toBe('Mine')
  })
})

test('who leaves the organization leaves its teams', async () => {
  const desk = await createOrganization()
  const leaver = await desk.addMember('agent')
  const one = await createTeam(desk.admin, { member_ids: [desk.agent.user_id, leaver.user_id] })
  const two = await createTeam(desk.admin, { member_ids: [leaver.user_id] })
  expect((await desk.admin.delete(`/users/${leaver.user_id}`)).status).toBe(204)
  expect((await desk.admin.get(`/teams/${one.id}`)).body.data.member_ids).toEqual([desk.agent.user_id])
  expect((await desk.admin.get(`/teams/${two.id}`)).body.data.member_ids).toEqual([])
  expectError(await desk.admin.patch(`/teams/${two.id}`, { member_ids: [leaver.user_id] }), 422, 'USER_NOT_FOUND')
})

test('a member is taken in and removed at once: the team ends without whoever is removed', async () => {
  const desk = await createOrganization()
  const team = await createTeam(desk.admin)
  for (let round = 0; round < 8; round++) {
    const { user_id } = await desk.addMember('agent')
    const [taken] = await Promise.all([
      desk.admin.patch(`/teams/${team.id}`, { member_ids: [user_id] }),
      desk.admin.delete(`/users/${user_id}`),
    ])
    expect([200, 422]).toContain(taken.status)
    expect((await desk.admin.get(`/teams/${team.id}`)).body.data.member_ids).toEqual([])
  }
})

test('a team that goes leaves its tickets and mailboxes to none, whose assignees stay', async () => {
  const desk = await createOrganization()
  const { admin, agent } = desk
  const { id } = await createTeam(desk.admin, { member_ids: [agent.user_id], assign: 'round_robin' })
  const ticket = await createTicket(agent, { team_id: id })
  expect(ticket).toMatchObject({ team: { id }, assignee: { id: agent.user_id } })
  const mailbox = (await admin.post('/mailboxes', { address: `${newId()}@desk.example`, team_id: id })).body.data
  expect(mailbox.team_id).toBe(id)
  expect((await admin.delete(`/teams/${id}`)).status).toBe(204)
  expect((await agent.get(`/tickets/${ticket.id}`)).body.data).toMatchObject({
    ...{ team: null, assignee: { id: agent.user_id } },
  })
  expect((await admin.get(`/mailboxes/${mailbox.id}`)).body.data.team_id).toBeNull()
  expect((await agent.get('/tickets?team_id=none')).body.meta.total).toBe(1)
})

describe('available', () => {
  test('is set by oneself and by admins, in the organization that is meant', async () => {
    const desk = await createOrganization()
    const { admin, agent, scope } = desk
    expect((await agent.get('/auth/me')).body.available).toBe(true)
    expect((await agent.patch('/auth/me', { available: false })).body).toMatchObject({ available: false })
    expect((await admin.get(`/users/${agent.user_id}`)).body.data).toMatchObject({ available: false, active: true })
    expect((await admin.patch(`/users/${agent.user_id}`, { available: true })).body.data.available).toBe(true)
    await agent.patch('/auth/me', { available: true, notify: { assigned: 'mail' } })
    expect(
      (await auditOf(desk, agent.user_id)).filter((entry: { action: string }) => entry.action === 'user.updated'),
    ).toEqual([
      { action: 'user.updated', changes: { available: { from: true, to: false } } },
      { action: 'user.updated', changes: { available: { from: false, to: true } } },
    ])
    expectError(await agent.patch(`/users/${admin.user_id}`, { available: false }), 403, 'FORBIDDEN')
    const second = await createOrganization()
    await second.scope.sql`
      insert into memberships (organization_id, user_id) values (${second.id}, ${agent.user_id})`
    const there = { 'x-organization-id': second.id }
    expect((await agent.patch('/auth/me', { available: false }, there)).body.available).toBe(false)
    expect((await agent.get('/auth/me')).body.available).toBe(true)
    expect((await agent.get('/auth/me', there)).body.available).toBe(false)
    const rows = await scope.sql<{ available: boolean }[]>`
      select available from memberships where user_id = ${agent.user_id} order by created_at`
    expect(rows.map(({ available }) => available)).toEqual([true, false])
  })

  test('of another organization is neither shown nor set', async () => {
    const there = { 'x-organization-id': other.id }
    const { status, body } = await own.agent.get('/auth/me', there)
    expect([status, 'available' in body]).toEqual([200, false])
    expectError(await own.agent.patch('/auth/me', { available: false, name: 'Eve' }, there), 403, 'FORBIDDEN')
    expectError(await own.agent.patch('/auth/me', { available: false }, { 'x-organization-id': 'x' }), 403, 'FORBIDDEN')
    expect((await own.agent.get('/auth/me')).body).toMatchObject({ available: true, name: 'Alan Agent' })
  })

  test('of a member who was deactivated there is not set', async () => {
    const desk = await createOrganization()
    const second = await createOrganization()
    const { agent } = desk
    await second.scope.sql`
      insert into memberships (organization_id, user_id, active) values (${second.id}, ${agent.user_id}, false)`
    const there = { 'x-organization-id': second.id }
    expectError(await agent.patch('/auth/me', { available: false }, there), 403, 'FORBIDDEN')
  })
})

describe('what names a thing that goes:', () => {
  type Named = { team: string; label: string; company: string; mailbox: string; member: string }

  /** Two things of each kind. */
  async function thingsOf({ admin, agent, addMember }: Organization): Promise<[Named, Named]> {
    const make = async (): Promise<Named> => ({
      team: (await createTeam(admin)).id,
      label: (await createLabel(agent)).id,
      company: (await createCompany(agent)).id,
      mailbox: (await admin.post('/mailboxes', { address: `${newId()}@desk.example` })).body.data.id,
      member: (await addMember('agent')).user_id,
    })
    return [await make(), await make()]
  }

  const PATHS = { team: 'teams', label: 'labels', company: 'companies', mailbox: 'mailboxes', member: 'users' }
  const FILTERED = ['team', 'label', 'company', 'mailbox'] as const

  test.each(FILTERED)('a webhook whose filter names a %s is narrowed, and fails with the last one', async (kind) => {
    const desk = await createOrganization()
    const { admin } = desk
    const [one, two] = await thingsOf(desk)
    const field = `${kind}_ids`
    const hook = async (ids: string[]) => {
      const body = { url: 'https://receiver.example/', events: ['ticket.updated'], filter: { [field]: ids } }
      return (await admin.post('/webhooks', body)).body.data.id
    }
    const [both, last, other] = [await hook([one[kind], two[kind]]), await hook([one[kind]]), await hook([two[kind]])]
    expect((await admin.delete(`/${PATHS[kind]}/${one[kind]}`)).status).toBe(204)
    const show = async (id: string) => {
      const { status, filter } = (await admin.get(`/webhooks/${id}`)).body.data
      return { status, ids: filter[field] }
    }
    expect(await show(both)).toEqual({ status: 'active', ids: [two[kind]] })
    expect(await show(last)).toEqual({ status: 'failed', ids: [one[kind]] })
    expect(await show(other)).toEqual({ status: 'active', ids: [two[kind]] })
    expect((await auditOf(desk, last)).at(-1)).toMatchObject({ action: 'webhook.failed' })
    expect((await auditOf(desk, both)).at(-1)).toMatchObject({ action: 'webhook.updated' })
    // Set active again it still lets nothing more pass.
    await admin.patch(`/webhooks/${last}`, { active: true })
    const ticket = await createTicket(desk.agent)
    await desk.agent.patch(`/tickets/${ticket.id}`, { priority: 'high' })
    expect((await admin.get(`/webhooks/${last}/deliveries`)).body.meta.total).toBe(0)
  })

  test.each(['label', 'company'] as const)(
    'a rule of retention that names a %s is narrowed, and switched off with the last one; admins are told',
    async (kind) => {
      const desk = await createOrganization()
      const { admin, scope } = desk
      await insertMailbox(scope)
      const [one, two] = await thingsOf(desk)
      const field = `${kind}_ids`
      const rule = (ids: string[], active = true) => {
        return { status: 'closed', label_ids: [], company_ids: [], days: 30, action: 'delete', active, [field]: ids }
      }
      const [both, last, off, other] = [
        ...[rule([one[kind], two[kind]]), rule([one[kind]]), rule([one[kind]], false), rule([two[kind]])],
      ]
      await admin.patch('/retention', { rules: [both, last, off, other] })
      await scope.sql`update retention set changed_at = now() - interval '2 days' where organization_id = ${desk.id}`
      expect((await admin.delete(`/${PATHS[kind]}/${one[kind]}`)).status).toBe(204)
      const after = [rule([two[kind]]), rule([one[kind]], false), off, other]
      expect((await admin.get('/retention')).body.data.rules).toEqual(after)
      const [row] = await scope.sql<{ is_rested: boolean }[]>`
        select changed_at < now() - interval '1 day' as is_rested from retention where organization_id = ${desk.id}`
      expect(row!.is_rested).toBe(false)
      const [entry] = (await admin.get('/audit-log?action=retention.updated')).body.data
      expect(entry).toMatchObject({ actor: { type: 'system' }, changes: { rules: { to: after } } })
      const letters = await scope.sql`select recipient from letters where organization_id = ${desk.id}`
      expect(letters).toHaveLength(1)
    },
  )

  test('a macro changes it no more', async () => {
    const desk = await createOrganization()
    const { admin, agent } = desk
    const [one, two] = await thingsOf(desk)
    const changes = {
      ...{ priority: 'low', team_id: one.team, assignee_id: one.member, add_label_ids: [one.label, two.label] },
    }
    const { id } = (await agent.post('/macros', { name: 'All', changes })).body.data
    const untouched = { team_id: two.team, assignee_id: two.member, add_label_ids: [two.label] }
    const other = (await agent.post('/macros', { name: 'Other', changes: untouched })).body.data
    for (const kind of ['team', 'member', 'label'] as const) {
      expect((await admin.delete(`/${PATHS[kind]}/${one[kind]}`)).status).toBe(204)
    }
    const left = (await agent.get(`/macros/${id}`)).body.data
    expect(left.changes).toEqual({ priority: 'low', add_label_ids: [two.label] })
    expect((await agent.get(`/macros/${other.id}`)).body.data).toEqual(other)
    const ticket = await createTicket(agent)
    expect((await agent.post(`/macros/${id}/apply`, { ticket_id: ticket.id })).body.data.ticket.priority).toBe('low')
  })
})
