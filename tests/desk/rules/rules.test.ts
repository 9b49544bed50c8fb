/** Rules: who makes them, what they name, and what is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import '../../../src/operate/start/outbox-handlers'
import { createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createLabel, insertMailbox } from '../../support/factories'
import { createMacro, createRule } from '../../support/rules'

let own: Organization
let other: Organization

beforeAll(async () => {
  await startApi(10)
  own = await createOrganization()
  other = await createOrganization('Umbrella')
})
afterAll(stopApi)

const auditOf = async ({ admin }: Organization, id: string) => {
  const { data } = (await admin.get('/audit-log?resource_type=rule&per_page=100')).body
  return data.filter((entry: { resource: { id: string } }) => entry.resource.id === id).toReversed()
}

test('a rule is made, read by everybody, listed by name, changed and deleted by admins', async () => {
  const { admin, agent } = own
  const [label, macro] = [await createLabel(agent), await createMacro(agent)]
  const fields = { name: ' Thanks ', on: 'message.created', macro_id: macro.id.toUpperCase() }
  const filter = { label_ids: [label.id], direction: 'inbound' }
  const made = await admin.post('/rules', { ...fields, filter })
  expect(made.status).toBe(201)
  const { id } = made.body.data
  expect(made.body.data).toMatchObject({
    ...{ name: 'Thanks', on: 'message.created', filter, macro_id: macro.id },
    ...{ active: true, status: 'active', failures: 0 },
  })
  await createRule(admin, { name: 'alert' })
  const { data, meta } = (await agent.get('/rules')).body
  expect([meta.total, data.map(({ name }: { name: string }) => name)]).toEqual([2, ['alert', 'Thanks']])
  const changes = { name: 'Hello', on: 'ticket.assigned', filter: null, active: false }
  expect((await admin.patch(`/rules/${id}`, changes)).body.data).toMatchObject({ id, ...changes, macro_id: macro.id })
  expect((await agent.get(`/rules/${id}`)).body.data).toMatchObject(changes)
  expect((await admin.delete(`/rules/${id}`)).status).toBe(204)
  expectError(await agent.get(`/rules/${id}`), 404, 'RULE_NOT_FOUND')
  expect(await auditOf(own, id)).toMatchObject([
    { action: 'rule.created', changes: { on: { from: null, to: 'message.created' } } },
    { action: 'rule.updated', changes: { name: { from: 'Thanks', to: 'Hello' }, active: { to: false } } },
    { action: 'rule.deleted', changes: { name: { from: 'Hello', to: null } } },
  ])
})

test('what is wrong is refused, and nothing changes', async () => {
  const { admin } = own
  const taken = await createRule(admin)
  const one = await createRule(admin)
  const gone = newId()
  const refused: [Record<string, unknown>, string][] = [
    [{ name: taken.name.toUpperCase() }, 'RULE_NAME_EXISTS'],
    [{ macro_id: gone }, 'MACRO_NOT_FOUND'],
    [{ macro_id: 'x' }, 'MACRO_NOT_FOUND'],
    [{ filter: { label_ids: [gone] } }, 'LABEL_NOT_FOUND'],
    [{ filter: { subject: 'x' } }, 'VALIDATION_ERROR'],
    [{ filter: { direction: 'both' } }, 'VALIDATION_ERROR'],
    [{ name: ' ' }, 'VALIDATION_ERROR'],
    ...[
      ...['ticket.deleted', 'ticket.erased', 'ticket.merged', 'message.deleted', 'message.erased'],
      ...['contact.created', 'inbound_message.filed', 'test.ping', 'x'],
    ].map((on): [Record<string, unknown>, string] => [{ on }, 'INVALID_EVENTS']),
  ]
  for (const [fields, code] of refused) {
    const { name, on, macro_id } = one
    expectError(await admin.post('/rules', { name: `${name} 2`, on, macro_id, ...fields }), 422, code)
    expectError(await admin.patch(`/rules/${one.id}`, fields), 422, code)
  }
  expectError(await admin.post('/rules', { name: 'x', on: 'ticket.created' }), 422, 'VALIDATION_ERROR')
  expect((await admin.get(`/rules/${one.id}`)).body.data).toEqual(one)
})

test('an organization has at most 50, also when two are made at once', async () => {
  const { admin } = await createOrganization()
  const macro = await createMacro(admin)
  const make = (place: number) => admin.post('/rules', { name: `${place}`, on: 'ticket.created', macro_id: macro.id })
  for (let place = 0; place < 49; place++) expect((await make(place)).status).toBe(201)
  const answers = await Promise.all([make(100), make(101)])
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 422])
  expect((await admin.get('/rules')).body.meta.total).toBe(50)
})

describe('an attack:', () => {
  const RIGHTS = ['rules:write', 'tickets:write', 'messages:write'] as const

  test('agents write no rule, and a key only one that does what it may do itself', async () => {
    const { admin, agent } = own
    const rule = await createRule(admin, { on: 'message.created' })
    const body = { name: crypto.randomUUID(), on: 'message.created', macro_id: rule.macro_id }
    expectError(await agent.post('/rules', body), 403, 'FORBIDDEN')
    expectError(await agent.patch(`/rules/${rule.id}`, { active: false }), 403, 'FORBIDDEN')
    expectError(await agent.delete(`/rules/${rule.id}`), 403, 'FORBIDDEN')
    for (const missing of RIGHTS) {
      const key = await createProgram(admin, [...RIGHTS.filter((right) => right !== missing), 'macros:write'])
      for (const answer of [await key.post('/rules', body), await key.patch(`/rules/${rule.id}`, { name: 'x' })]) {
        expectError(answer, 403, 'FORBIDDEN')
        expect(answer.body.error.details.required).toBe(missing)
      }
    }
    const key = await createProgram(admin, [...RIGHTS])
    expect((await key.post('/rules', body)).status).toBe(201)
    expectError(await (await createProgram(admin, ['tickets:write'])).get('/rules'), 403, 'FORBIDDEN')
  })

  test('a macro of a rule is changed and deleted by admins and such keys alone', async () => {
    const { admin, agent } = own
    const { macro_id } = await createRule(admin)
    const path = `/macros/${macro_id}`
    const before = (await agent.get(path)).body.data
    const key = await createProgram(admin, ['macros:write', 'tickets:write', 'messages:write'])
    for (const client of [agent, key]) {
      expectError(await client.patch(path, { body: 'Send me money' }), 403, 'FORBIDDEN')
      expectError(await client.delete(path), 403, 'FORBIDDEN')
    }
    expect((await agent.get(path)).body.data).toEqual(before)
    const able = await createProgram(admin, ['macros:write', ...RIGHTS])
    expect((await able.patch(path, { body: 'One' })).status).toBe(200)
    expect((await admin.patch(path, { body: 'Two' })).status).toBe(200)
    const free = await createMacro(agent)
    expect((await agent.patch(`/macros/${free.id}`, { body: 'Free' })).status).toBe(200)
  })

  test("another organization's rule, macro and label are nobody's", async () => {
    const { admin } = own
    const theirs = await createRule(other.admin)
    const label = await createLabel(other.agent)
    const macro = await createMacro(own.agent)
    expectError(await admin.get(`/rules/${theirs.id}`), 404, 'RULE_NOT_FOUND')
    expectError(await admin.patch(`/rules/${theirs.id}`, { active: false }), 404, 'RULE_NOT_FOUND')
    expectError(await admin.delete(`/rules/${theirs.id}`), 404, 'RULE_NOT_FOUND')
    const body = { name: crypto.randomUUID(), on: 'ticket.created', macro_id: theirs.macro_id }
    expectError(await admin.post('/rules', body), 422, 'MACRO_NOT_FOUND')
    const filtered = { ...body, macro_id: macro.id, filter: { label_ids: [label.id] } }
    expectError(await admin.post('/rules', filtered), 422, 'LABEL_NOT_FOUND')
    expect((await other.admin.get(`/rules/${theirs.id}`)).body.data).toEqual(theirs)
  })
})

describe('what a rule names and goes', () => {
  test('a macro switches it off until it gets another one; admins are told once a day', async () => {
    const desk = await createOrganization()
    const { admin, scope } = desk
    await insertMailbox(scope)
    const rule = await createRule(admin)
    expect((await admin.delete(`/macros/${rule.macro_id}`)).status).toBe(204)
    const show = async () => (await admin.get(`/rules/${rule.id}`)).body.data
    expect(await show()).toMatchObject({ macro_id: null, active: false, status: 'active' })
    expect((await auditOf(desk, rule.id)).at(-1)).toMatchObject({
      ...{ action: 'rule.updated', changes: { active: { from: true, to: false }, macro_id: { to: null } } },
    })
    const letters = () => scope.sql`select from letters where organization_id = ${desk.id}`
    expect(await letters()).toHaveLength(1)
    expectError(await admin.patch(`/rules/${rule.id}`, { active: true }), 422, 'VALIDATION_ERROR')
    const macro_id = (await createMacro(admin)).id
    expect((await admin.patch(`/rules/${rule.id}`, { active: true, macro_id })).body.data).toMatchObject({ macro_id })
    await admin.delete(`/macros/${macro_id}`)
    expect(await letters()).toHaveLength(1)
  })

  test('a label narrows its filter, and the last one switches it off', async () => {
    const desk = await createOrganization()
    const { admin } = desk
    const [one, two] = [await createLabel(admin), await createLabel(admin)]
    const both = await createRule(admin, { filter: { label_ids: [one.id, two.id] } })
    const last = await createRule(admin, { filter: { label_ids: [one.id] } })
    expect((await admin.delete(`/labels/${one.id}`)).status).toBe(204)
    expect((await admin.get(`/rules/${both.id}`)).body.data).toMatchObject({
      ...{ active: true, filter: { label_ids: [two.id] } },
    })
    expect((await admin.get(`/rules/${last.id}`)).body.data).toMatchObject({
      ...{ active: false, filter: { label_ids: [one.id] } },
    })
  })
})
