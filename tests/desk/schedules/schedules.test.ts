/** Schedules: who makes them, and what is refused. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { auditOf } from '../../support/audit-log'
import { createSchedule } from '../../support/factories'

let own: Organization
let other: Organization

beforeAll(async () => {
  await startApi(10)
  own = await createOrganization()
  other = await createOrganization('Umbrella')
})
afterAll(stopApi)

test('a schedule is made, read by everybody, listed by name, changed and deleted by admins', async () => {
  const { admin, agent } = own
  const hours = {
    mon: [
      ['08:00', '12:00'],
      ['12:00', '17:30'],
    ],
    sat: [['22:00', '24:00']],
  }
  const made = await admin.post('/schedules', {
    name: ' Office ',
    hours,
    holidays: ['2026-12-26', '2026-12-25', '2026-12-26'],
  })
  expect(made.status).toBe(201)
  const { id } = made.body.data
  const all = { mon: [], tue: [], wed: [], thu: [], fri: [], sat: [], sun: [] }
  expect(made.body.data).toMatchObject({
    name: 'Office',
    hours: { ...all, ...hours },
    holidays: ['2026-12-25', '2026-12-26'],
  })
  const night = await createSchedule(admin, { name: 'night' })
  expect((await agent.get('/schedules')).body).toMatchObject({ data: [{ id: night.id }, { id }], meta: { total: 2 } })
  const changes = { name: 'Shop', hours: { sun: [['00:00', '24:00']] }, holidays: [] }
  expect((await admin.patch(`/schedules/${id}`, changes)).body.data).toMatchObject({
    ...{ name: 'Shop', hours: { ...all, ...changes.hours }, holidays: [] },
  })
  expect((await agent.get(`/schedules/${id}`)).body.data.name).toBe('Shop')
  expect((await admin.delete(`/schedules/${id}`)).status).toBe(204)
  expectError(await agent.get(`/schedules/${id}`), 404, 'SCHEDULE_NOT_FOUND')
  expect(await auditOf(own, id)).toMatchObject([
    { action: 'schedule.created', changes: { name: { from: null, to: 'Office' } } },
    { action: 'schedule.updated', changes: { name: { from: 'Office', to: 'Shop' }, holidays: { to: [] } } },
    { action: 'schedule.deleted', changes: { name: { from: 'Shop', to: null } } },
  ])
})

test('a name that is taken, and hours and days that are none are refused, and nothing changes', async () => {
  const taken = await createSchedule(own.admin)
  const one = await createSchedule(own.admin)
  const name = taken.name.toUpperCase()
  expectError(await own.admin.post('/schedules', { name, hours: one.hours }), 422, 'SCHEDULE_NAME_EXISTS')
  expectError(await own.admin.patch(`/schedules/${one.id}`, { name }), 422, 'SCHEDULE_NAME_EXISTS')
  const wrong_days = [
    ...[
      [['09:00', '09:00']],
      [['10:00', '09:00']],
      [
        ['10:00', '12:00'],
        ['09:00', '10:00'],
      ],
    ],
    ...[
      [
        ['08:00', '12:00'],
        ['11:00', '13:00'],
      ],
      [['8:00', '12:00']],
      [['08:00', '24:01']],
      [['24:00', '24:00']],
    ],
    ...[
      [['08:00']],
      [['08:00', '09:00', '10:00']],
      ['08:00'],
      'all',
      null,
      [[8, 12]],
      Array(25).fill(['08:00', '09:00']),
    ],
  ]
  const wrong = [
    ...wrong_days.map((mon) => ({ hours: { mon } })),
    ...[{ hours: {} }, { hours: { mon: [], sun: [] } }, { hours: null }, { hours: [] }, { hours: { day: [] } }],
    ...[{ holidays: ['2026-02-30'] }, { holidays: [1] }, { holidays: null }, { name: ' ' }],
  ]
  for (const fields of wrong) {
    const refused = await own.admin.patch(`/schedules/${one.id}`, fields)
    expectError(refused, 422, 'VALIDATION_ERROR')
    expect(refused.body.error.details.errors[0].path).toStartWith(`/${Object.keys(fields)[0]}`)
  }
  expectError(await own.admin.post('/schedules', { name: 'No hours' }), 422, 'VALIDATION_ERROR')
  expect((await own.admin.get(`/schedules/${one.id}`)).body.data).toEqual(one)
})

test('an attack: agents, keys of other rights and other organizations read or write no schedule', async () => {
  const one = await createSchedule(own.admin)
  const fields = { name: 'Mine', hours: one.hours }
  expectError(await own.agent.post('/schedules', fields), 403, 'FORBIDDEN')
  expectError(await own.agent.patch(`/schedules/${one.id}`, fields), 403, 'FORBIDDEN')
  expectError(await own.agent.delete(`/schedules/${one.id}`), 403, 'FORBIDDEN')
  const reader = await createProgram(own.admin, ['schedules:read'])
  expect((await reader.get(`/schedules/${one.id}`)).body.data).toEqual(one)
  expectError(await reader.patch(`/schedules/${one.id}`, fields), 403, 'FORBIDDEN')
  expectError(await (await createProgram(own.admin, ['sla_policies:write'])).get('/schedules'), 403, 'FORBIDDEN')
  for (const id of [one.id, newId(), 'x']) {
    expectError(await other.admin.get(`/schedules/${id}`), 404, 'SCHEDULE_NOT_FOUND')
    expectError(await other.admin.patch(`/schedules/${id}`, fields), 404, 'SCHEDULE_NOT_FOUND')
    expectError(await other.admin.delete(`/schedules/${id}`), 404, 'SCHEDULE_NOT_FOUND')
  }
  expect((await own.admin.get(`/schedules/${one.id}`)).body.data).toEqual(one)
})
