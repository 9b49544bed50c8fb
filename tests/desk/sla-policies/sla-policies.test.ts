/** SLA policies: who makes them, what is refused, and what they name. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import '../../../src/operate/start/outbox-handlers'
import { createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { auditOf } from '../../support/audit-log'
import {
  createCompany,
  createLabel,
  createPolicy,
  createSchedule,
  createTeam,
  insertMailbox,
} from '../../support/factories'

let own: Organization
let other: Organization

beforeAll(async () => {
  await startApi(10)
  own = await createOrganization()
  other = await createOrganization('Umbrella')
})
afterAll(stopApi)

const TARGETS = [{ priority: 'urgent', first_reply_minutes: 30, next_reply_minutes: null, resolve_minutes: 525_600 }]

test('a policy is made, read by everybody, listed by position, changed and deleted by admins', async () => {
  const { admin, agent } = own
  const schedule = await createSchedule(admin)
  const label = await createLabel(agent)
  const targets = [
    { priority: 'urgent', first_reply_minutes: 30 },
    { priority: 'low', resolve_minutes: 60 },
  ]
  const filter = { priority: ['urgent'], label_ids: [label.id.toUpperCase(), label.id] }
  const made = await admin.post('/sla-policies', { name: ' Gold ', schedule_id: schedule.id, filter, targets })
  expect(made.status).toBe(201)
  const { id, position } = made.body.data
  expect(made.body.data).toMatchObject({
    ...{
      name: 'Gold',
      active: true,
      schedule_id: schedule.id,
      filter: { priority: ['urgent'], label_ids: [label.id] },
    },
    targets: [
      TARGETS[0] && { ...TARGETS[0], resolve_minutes: null },
      { priority: 'low', first_reply_minutes: null, resolve_minutes: 60 },
    ],
  })
  const next = await createPolicy(admin)
  expect(next).toMatchObject({ position: position + 1, filter: {}, schedule_id: null })
  const changes = {
    name: 'Silver',
    position: position + 2,
    filter: {},
    schedule_id: null,
    targets: TARGETS,
    active: false,
  }
  expect((await admin.patch(`/sla-policies/${id}`, changes)).body.data).toMatchObject(changes)
  expect((await agent.get('/sla-policies')).body).toMatchObject({ data: [{ id: next.id }, { id }], meta: { total: 2 } })
  expect((await admin.delete(`/sla-policies/${id}`)).status).toBe(204)
  expectError(await agent.get(`/sla-policies/${id}`), 404, 'SLA_POLICY_NOT_FOUND')
  expect(await auditOf(own, id)).toMatchObject([
    { action: 'sla_policy.created', changes: { name: { from: null, to: 'Gold' } } },
    { action: 'sla_policy.updated', changes: { active: { from: true, to: false }, schedule_id: { to: null } } },
    { action: 'sla_policy.deleted', changes: { name: { from: 'Silver', to: null } } },
  ])
})

test('a name or position that is taken and values that are none are refused, and nothing changes', async () => {
  const taken = await createPolicy(own.admin)
  const one = await createPolicy(own.admin)
  const name = taken.name.toUpperCase()
  expectError(await own.admin.post('/sla-policies', { name, targets: TARGETS }), 422, 'SLA_POLICY_NAME_EXISTS')
  expectError(await own.admin.patch(`/sla-policies/${one.id}`, { name }), 422, 'SLA_POLICY_NAME_EXISTS')
  const target = TARGETS[0]!
  const wrong = [
    ...[{ position: taken.position }, { position: -1 }, { position: 1.5 }, { position: null }, { active: null }],
    ...[
      { targets: [] },
      { targets: [target, target] },
      { targets: [{ ...target, resolve_minutes: 0 }] },
      { targets: null },
    ],
    ...[{ targets: [{ ...target, first_reply_minutes: 525_601 }] }, { targets: [{ first_reply_minutes: 1 }] }],
    ...[
      { filter: { label_ids: [] } },
      { filter: { status: ['open'] } },
      { filter: null },
      { name: '' },
      { schedule_id: 5 },
    ],
  ]
  for (const fields of wrong) {
    const refused = await own.admin.patch(`/sla-policies/${one.id}`, fields)
    expectError(refused, 422, 'VALIDATION_ERROR')
    expect(refused.body.error.details.errors[0].path).toStartWith(`/${Object.keys(fields)[0]}`)
  }
  const priority = { ...target, priority: 'asap' }
  expectError(await own.admin.patch(`/sla-policies/${one.id}`, { targets: [priority] }), 422, 'INVALID_PRIORITY')
  expect((await own.admin.get(`/sla-policies/${one.id}`)).body.data).toEqual(one)
})

test('16 at once get a position each, and nobody has more than 100', async () => {
  const { admin } = await createOrganization()
  const made = await Promise.all(Array.from({ length: 16 }, () => createPolicy(admin)))
  expect(new Set(made.map(({ position }) => position)).size).toBe(16)
  const rest = await Promise.all(
    Array.from({ length: 86 }, () => admin.post('/sla-policies', { name: newId(), targets: TARGETS })),
  )
  expect(rest.filter(({ status }) => status === 201)).toHaveLength(84)
  expectError(rest.find(({ status }) => status !== 201)!, 422, 'VALIDATION_ERROR')
})

describe('an attack:', () => {
  test('agents, keys of other rights and other organizations read or write no policy', async () => {
    const one = await createPolicy(own.admin)
    const fields = { name: 'Mine', targets: TARGETS }
    expectError(await own.agent.post('/sla-policies', fields), 403, 'FORBIDDEN')
    expectError(await own.agent.patch(`/sla-policies/${one.id}`, fields), 403, 'FORBIDDEN')
    expectError(await own.agent.delete(`/sla-policies/${one.id}`), 403, 'FORBIDDEN')
    const reader = await createProgram(own.admin, ['sla_policies:read'])
    expect((await reader.get(`/sla-policies/${one.id}`)).body.data).toEqual(one)
    expectError(await reader.patch(`/sla-policies/${one.id}`, fields), 403, 'FORBIDDEN')
    expectError(await (await createProgram(own.admin, ['schedules:write'])).get('/sla-policies'), 403, 'FORBIDDEN')
    for (const id of [one.id, newId(), 'x']) {
      expectError(await other.admin.get(`/sla-policies/${id}`), 404, 'SLA_POLICY_NOT_FOUND')
      expectError(await other.admin.patch(`/sla-policies/${id}`, fields), 404, 'SLA_POLICY_NOT_FOUND')
      expectError(await other.admin.delete(`/sla-policies/${id}`), 404, 'SLA_POLICY_NOT_FOUND')
    }
    expect((await own.admin.get(`/sla-policies/${one.id}`)).body.data).toEqual(one)
  })

  test("another organization's things are named by no policy", async () => {
    const one = await createPolicy(own.admin)
    const { agent, admin, scope } = other
    const named = [
      [{ schedule_id: (await createSchedule(admin)).id }, 'SCHEDULE_NOT_FOUND'],
      [{ schedule_id: 'x' }, 'SCHEDULE_NOT_FOUND'],
      [{ filter: { label_ids: [(await createLabel(agent)).id] } }, 'LABEL_NOT_FOUND'],
      [{ filter: { company_ids: [(await createCompany(agent)).id] } }, 'COMPANY_NOT_FOUND'],
      [{ filter: { team_ids: [(await createTeam(admin)).id] } }, 'TEAM_NOT_FOUND'],
      [{ filter: { mailbox_ids: [(await insertMailbox(scope, { smtp: false })).id] } }, 'MAILBOX_NOT_FOUND'],
    ] as const
    for (const [fields, code] of named) expectError(await own.admin.patch(`/sla-policies/${one.id}`, fields), 422, code)
    expect((await own.admin.get(`/sla-policies/${one.id}`)).body.data).toEqual(one)
  })
})

describe('what a policy names and is deleted:', () => {
  test('a schedule switches it off, and the admins are told once a day', async () => {
    await insertMailbox(own.scope)
    const schedule = await createSchedule(own.admin)
    const { id } = await createPolicy(own.admin, { schedule_id: schedule.id })
    expect((await own.admin.delete(`/schedules/${schedule.id}`)).status).toBe(204)
    const after = (await own.admin.get(`/sla-policies/${id}`)).body.data
    expect(after).toMatchObject({ schedule_id: null, active: false })
    expect((await auditOf(own, id)).at(-1)).toMatchObject({
      action: 'sla_policy.updated',
      changes: { active: { from: true, to: false }, schedule_id: { from: schedule.id, to: null } },
    })
    const again = await createSchedule(own.admin)
    await own.admin.patch(`/sla-policies/${id}`, { schedule_id: again.id, active: true })
    expect((await own.admin.delete(`/schedules/${again.id}`)).status).toBe(204)
    const { sql, organization_id } = own.scope
    const letters = await sql`
      select recipient from letters where organization_id = ${organization_id} and about_id = ${id}`
    expect(letters).toHaveLength(1)
  })

  test.each(['label', 'company', 'team', 'mailbox'] as const)(
    'a %s narrows its filter, and the last one switches it off',
    async (kind) => {
      const { admin, agent, scope } = own
      const make = {
        label: async () => `/labels/${(await createLabel(agent)).id}`,
        company: async () => `/companies/${(await createCompany(agent)).id}`,
        team: async () => `/teams/${(await createTeam(admin)).id}`,
        mailbox: async () => `/mailboxes/${(await insertMailbox(scope, { smtp: false, is_default: false })).id}`,
      }[kind]
      const things = [await make(), await make()]
      const ids = things.map((path) => path.split('/')[2]!)
      const { id } = await createPolicy(admin, { filter: { [`${kind}_ids`]: ids, priority: ['high'] } })
      expect((await admin.delete(things[0]!)).status).toBe(204)
      const narrowed = { filter: { [`${kind}_ids`]: [ids[1]!], priority: ['high'] } }
      expect((await admin.get(`/sla-policies/${id}`)).body.data).toMatchObject({ ...narrowed, active: true })
      expect((await admin.delete(things[1]!)).status).toBe(204)
      expect((await admin.get(`/sla-policies/${id}`)).body.data).toMatchObject({ ...narrowed, active: false })
      expect(await auditOf(own, id)).toMatchObject([
        { action: 'sla_policy.created' },
        { action: 'sla_policy.updated', changes: { filter: expect.anything() } },
        { action: 'sla_policy.updated', changes: { active: { from: true, to: false } } },
      ])
    },
  )
})
