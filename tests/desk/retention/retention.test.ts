/** Rules that erase or delete old tickets, and labels that keep them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { inTransaction } from '../../../src/base/scope'
import { applyRetention } from '../../../src/desk/retention/apply'
import { deleteClosedTickets } from '../../../src/desk/tickets/closed'
import { purgeDeletedTickets } from '../../../src/desk/tickets/purge'
import { createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import {
  createCompany,
  createContact,
  createLabel,
  createMessage,
  createTicket,
  hearEvents,
  uploadFile,
  writtenEvents,
} from '../../support/factories'
import { someoneWaits } from '../../support/lock-waits'

beforeAll(() => startApi())
afterAll(stopApi)

const EVENTS = ['ticket.created', 'ticket.erased', 'ticket.deleted', 'message.created'] as const

/** A closed ticket that was changed so many days ago. */
async function oldTicket({ admin, scope }: Organization, days: number, fields: Record<string, unknown> = {}) {
  const contact = await createContact(admin)
  const ticket = await createTicket(admin, { contact_id: contact.id, subject: 'A secret subject', ...fields })
  const file = await uploadFile(admin, 'secret file')
  await createMessage(admin, ticket.id, { body: 'A secret text', attachment_ids: [file.id] })
  await admin.patch(`/tickets/${ticket.id}`, { status: 'closed' })
  await age(scope, ticket.id, days)
  return { id: ticket.id as string, contact_id: contact.id as string }
}

async function age({ sql }: Organization['scope'], id: string, days: number) {
  await sql`update tickets set updated_at = now() - make_interval(days => ${days}) where id = ${id}`
}

function rule(fields: Record<string, unknown> = {}) {
  return { status: 'closed', label_ids: [], company_ids: [], days: 30, action: 'delete', active: true, ...fields }
}

/** Sets rules as if it had been two days ago, or ends the pause after the last run. */
async function rest({ sql, organization_id }: Organization['scope']) {
  await sql`
    update retention set changed_at = now() - interval '2 days', applied_at = null
    where organization_id = ${organization_id}`
}

async function setRules({ admin, scope }: Organization, body: Record<string, unknown>) {
  const answer = await admin.patch('/retention', body)
  expect(answer.status).toBe(200)
  await rest(scope)
}

const apply = () => applyRetention(connection())
const statusOf = async ({ admin }: Organization, id: string) => (await admin.get(`/tickets/${id}`)).status

describe('rules', () => {
  test('are read and changed by admins, read by keys with the permission, and audited', async () => {
    const desk = await createOrganization()
    const { admin } = desk
    expect((await admin.get('/retention')).body.data).toEqual({ rules: [], hold_label_ids: [] })
    const [label, company] = [await createLabel(admin), await createCompany(admin)]
    const rules = [rule({ label_ids: [label.id], company_ids: [company.id] }), rule({ action: 'erase', days: 1 })]
    const changed = await admin.patch('/retention', { rules, hold_label_ids: [label.id] })
    expect(changed.body.data).toEqual({ rules, hold_label_ids: [label.id] })
    expect((await admin.patch('/retention', { rules: [rule()] })).body.data.hold_label_ids).toEqual([label.id])
    const key = await createProgram(admin, ['retention:read'])
    expect((await key.get('/retention')).body.data.rules).toEqual([rule()])
    expect((await key.post('/retention/preview', {})).status).toBe(200)
    const log = (await admin.get('/audit-log?action=retention.updated')).body.data
    expect(log).toHaveLength(2)
    expect(log[0].changes.rules.to).toEqual([rule()])
    const other = await createOrganization()
    expect((await other.admin.get('/retention')).body.data).toEqual({ rules: [], hold_label_ids: [] })
  })

  test.each<[Record<string, unknown>, string, string]>([
    [{ rules: [rule({ days: 0 })] }, 'VALIDATION_ERROR', '/rules/0/days'],
    [{ rules: [rule({ days: 36_501 })] }, 'VALIDATION_ERROR', '/rules/0/days'],
    [{ rules: [rule({ status: 'open' })] }, 'VALIDATION_ERROR', '/rules/0/status'],
    [{ rules: [rule({ action: 'hide' })] }, 'VALIDATION_ERROR', '/rules/0/action'],
    [{ rules: Array(21).fill(rule()) }, 'VALIDATION_ERROR', '/rules'],
    [{ rules: [rule({ label_ids: Array(21).fill(newId()) })] }, 'VALIDATION_ERROR', '/rules/0/label_ids'],
    [{ rules: [rule(), rule({ label_ids: [newId()] })] }, 'LABEL_NOT_FOUND', '/rules/1/label_ids'],
    [{ rules: [rule({ company_ids: ['x'] })] }, 'COMPANY_NOT_FOUND', '/rules/0/company_ids'],
  ])('%j is refused', async (body, code, path) => {
    const { admin } = await createOrganization()
    for (const answer of [await admin.patch('/retention', body), await admin.post('/retention/preview', body)]) {
      expectError(answer, 422, code)
      expect(answer.body.error.details.errors[0].path).toBe(path)
    }
    expect((await admin.get('/retention')).body.data.rules).toEqual([])
  })

  test('a preview counts by the first rule that fits a ticket, and what is on hold, and changes nothing', async () => {
    const desk = await createOrganization()
    const { admin } = desk
    const [kept, hold] = [await createLabel(admin), await createLabel(admin)]
    const old = await oldTicket(desk, 400)
    const older = await oldTicket(desk, 500)
    await oldTicket(desk, 400, { label_ids: [kept.id] })
    await oldTicket(desk, 10)
    await oldTicket(desk, 400, { label_ids: [hold.id] })
    const rules = [rule({ label_ids: [kept.id], days: 3650 }), rule({ action: 'erase' })]
    const { body } = await admin.post('/retention/preview', { rules, hold_label_ids: [hold.id] })
    expect(body.data.held).toBe(1)
    expect(body.data.rules.map(({ tickets }: { tickets: number }) => tickets)).toEqual([0, 2])
    const oldest = body.data.rules[1].oldest
    expect(oldest.map(({ id }: { id: string }) => id)).toEqual([older.id, old.id])
    expect(oldest[0]).toEqual((await admin.get('/tickets?status=closed&sort=updated_at')).body.data[0])
    expect((await admin.get('/retention')).body.data.rules).toEqual([])
    expect(await statusOf(desk, old.id)).toBe(200)
  })

  test('that are not active, are as if they were not there; those of an earlier release are active', async () => {
    const desk = await createOrganization()
    const { admin, scope } = desk
    const old = await oldTicket(desk, 40)
    const off = rule({ days: 1, action: 'erase', active: false })
    const { active: _, ...plain } = rule()
    const { body } = await admin.post('/retention/preview', { rules: [off, plain] })
    expect(body.data.rules.map(({ tickets }: { tickets: number }) => tickets)).toEqual([0, 1])
    await setRules(desk, { rules: [off] })
    expect((await admin.get('/retention')).body.data.rules).toEqual([off])
    await apply()
    expect(await statusOf(desk, old.id)).toBe(200)
    await scope.sql`
      update retention set rules = ${JSON.stringify([off, plain])}::text::jsonb
      where organization_id = ${scope.organization_id}`
    await rest(scope)
    expect((await admin.get('/retention')).body.data.rules).toEqual([off, rule()])
    await apply()
    expect(await statusOf(desk, old.id)).toBe(404)
  })

  test('wait a day after each change, and apply once a day', async () => {
    const desk = await createOrganization()
    const old = await oldTicket(desk, 40)
    await desk.admin.patch('/retention', { rules: [rule()] })
    await apply()
    expect(await statusOf(desk, old.id)).toBe(200)
    await rest(desk.scope)
    await apply()
    expect(await statusOf(desk, old.id)).toBe(404)
    const next = await oldTicket(desk, 40)
    await apply()
    expect(await statusOf(desk, next.id)).toBe(200)
    await rest(desk.scope)
    await Promise.all([apply(), apply()])
    expect(await statusOf(desk, next.id)).toBe(404)
    const log = (await desk.admin.get('/audit-log?action=retention.applied')).body.data
    expect(
      log.map(({ changes, actor }: never) => [
        (changes as { delete: object }).delete,
        (actor as { type: string }).type,
      ]),
    ).toEqual([
      [{ from: null, to: [next.id] }, 'system'],
      [{ from: null, to: [old.id] }, 'system'],
    ])
  })

  test('erase what a ticket says, once; the contact, the code and other tickets stay', async () => {
    const desk = await createOrganization()
    const { admin, scope } = desk
    await hearEvents(scope, EVENTS)
    const old = await oldTicket(desk, 40)
    const young = await oldTicket(desk, 20)
    const before = (await admin.get(`/tickets/${old.id}`)).body.data
    await setRules(desk, { rules: [rule({ action: 'erase' })] })
    await apply()
    const { data } = (await admin.get(`/tickets/${old.id}`)).body
    expect(data).toMatchObject({ code: before.code, subject: '[erased]', contact: { id: old.contact_id } })
    expect(data.messages).toMatchObject([{ body: '[erased]', attachments: [] }])
    expect((await admin.get(`/contacts/${old.contact_id}`)).status).toBe(200)
    expect((await admin.get('/tickets?search=secret')).body.data.map(({ id }: { id: string }) => id)).toEqual([
      young.id,
    ])
    const told = JSON.stringify(
      await scope.sql`
      select body from events where organization_id = ${scope.organization_id} and body like ${`%${old.id}%`}`,
    )
    expect(told).toContain('ticket.erased')
    expect(told).not.toContain('secret')
    expect(await scope.sql`select 1 from retention_erasures`).toHaveLength(0)

    await age(scope, old.id, 40)
    await rest(scope)
    await apply()
    const events = (await writtenEvents(scope)).filter(({ event }) => event === 'ticket.erased')
    expect(events).toHaveLength(1)
  })

  test('erase what says `[erased]` in the words of a customer, and what was written since the last time', async () => {
    const desk = await createOrganization()
    const { admin, scope } = desk
    await hearEvents(scope, EVENTS)
    const contact = await createContact(admin)
    const { id } = await createTicket(admin, { contact_id: contact.id, subject: '[erased]', description: '[erased]' })
    await admin.patch(`/tickets/${id}`, { status: 'closed', custom: { secret: 'secret' } })
    await age(scope, id, 40)
    await setRules(desk, { rules: [rule({ action: 'erase' })] })
    expect((await admin.post('/retention/preview', {})).body.data.rules).toMatchObject([{ tickets: 1 }])
    await apply()
    const { data } = (await admin.get(`/tickets/${id}`)).body
    expect(data).toMatchObject({
      custom: {},
      messages: [{ body: '[erased]', sender: { name: '[erased]', email: null } }],
    })

    await createMessage(admin, id, { body: 'A later secret' })
    await scope.sql`
      update tickets set updated_at = now() - interval '40 days', erased_at = now() - interval '80 days' where id = ${id}`
    await rest(scope)
    await apply()
    const { messages } = (await admin.get(`/tickets/${id}`)).body.data
    expect(messages.map(({ body }: { body: string }) => body)).toEqual(['[erased]', '[erased]'])
    expect((await admin.post('/retention/preview', {})).body.data.rules).toMatchObject([{ tickets: 0 }])
    expect((await writtenEvents(scope)).filter(({ event }) => event === 'ticket.erased')).toHaveLength(2)
  })

  test('take with a ticket what was merged into it, and leave what changed meanwhile', async () => {
    const desk = await createOrganization()
    const [target, source, busy] = [await oldTicket(desk, 40), await oldTicket(desk, 40), await oldTicket(desk, 40)]
    await desk.admin.post(`/tickets/${target.id}/merge`, { source_ids: [source.id] })
    for (const id of [target.id, source.id]) await age(desk.scope, id, 40)
    await setRules(desk, { rules: [rule({ action: 'erase' })] })
    // The job waits for the lock of this ticket, and then finds it changed.
    const locked = Promise.withResolvers<void>()
    const changing = inTransaction(desk.scope, async ({ sql, organization_id }) => {
      await sql`update tickets set updated_at = now() where organization_id = ${organization_id} and id = ${busy.id}`
      locked.resolve()
      await someoneWaits()
    })
    await locked.promise
    await Promise.all([apply(), changing])
    const { data } = (await desk.admin.get(`/tickets/${target.id}`)).body
    expect(data.messages.map(({ body }: { body: string }) => body)).toEqual(['[erased]', '[erased]'])
    expect((await desk.admin.get(`/tickets/${source.id}`)).body.data.subject).toBe('[erased]')
    expect((await desk.admin.get(`/tickets/${busy.id}`)).body.data.subject).toBe('A secret subject')
  })
})

test('a preview tells of each rule which tickets are oldest, beside hold labels of merged tickets', async () => {
  const desk = await createOrganization()
  const { admin } = desk
  const hold = await createLabel(admin)
  const tickets = []
  for (const days of [300, 200, 100]) tickets.push(await oldTicket(desk, days))
  const resolved = await oldTicket(desk, 50)
  for (const status of ['open', 'resolved']) await admin.patch(`/tickets/${resolved.id}`, { status })
  const [target, source] = [await oldTicket(desk, 60), await oldTicket(desk, 60, { label_ids: [hold.id] })]
  await admin.post(`/tickets/${target.id}/merge`, { source_ids: [source.id] })
  for (const { id } of [resolved, target, source]) await age(desk.scope, id, 60)
  const rules = [rule({ days: 150 }), rule(), rule({ status: 'resolved', action: 'erase' })]
  const before = await admin.post('/retention/preview', { rules: rules.slice(1) })
  expect(before.body.data.rules.map(({ tickets }: { tickets: number }) => tickets)).toEqual([4, 1])
  const { body } = await admin.post('/retention/preview', { rules, hold_label_ids: [hold.id] })
  const ids = (place: number) => body.data.rules[place].oldest.map(({ id }: { id: string }) => id)
  // The first rule decides about a closed ticket, also where a later one has fewer days.
  expect([ids(0), ids(1), ids(2)]).toEqual([[tickets[0]!.id, tickets[1]!.id], [], [resolved.id]])
  expect(body.data.held).toBe(0)
  const held = await admin.post('/retention/preview', { rules: [rule()], hold_label_ids: [hold.id] })
  expect(held.body.data).toMatchObject({ held: 1, rules: [{ tickets: 3 }] })
})

describe('what is on hold', () => {
  async function heldTicket() {
    const desk = await createOrganization()
    const label = await createLabel(desk.admin)
    const ticket = await oldTicket(desk, 400, { label_ids: [label.id] })
    await setRules(desk, { rules: [rule()], hold_label_ids: [label.id] })
    return { desk, label, ticket, admin: desk.admin, agent: desk.agent }
  }

  test('stays: the ticket, the contact, the label and what the jobs would remove', async () => {
    const { desk, label, ticket, admin } = await heldTicket()
    const other = await createContact(admin)
    const [message] = (await admin.get(`/tickets/${ticket.id}/messages`)).body.data
    const refused = [
      await admin.delete(`/tickets/${ticket.id}`),
      await admin.delete(`/contacts/${ticket.contact_id}`),
      await admin.post(`/contacts/${ticket.contact_id}/erase`),
      await admin.post(`/contacts/${other.id}/merge`, { source_ids: [ticket.contact_id] }),
      await admin.delete(`/labels/${label.id}`),
      await admin.delete(`/tickets/${ticket.id}/messages/${message.id}`),
    ]
    for (const answer of refused) expectError(answer, 422, 'ON_HOLD')
    await apply()
    await deleteClosedTickets(connection(), 1)
    const { body } = await admin.get(`/tickets/${ticket.id}`)
    expect(body.data).toMatchObject({ subject: 'A secret subject', messages: [{ body: 'A secret text' }] })

    await desk.scope.sql`update tickets set deleted_at = now() - interval '1 year' where id = ${ticket.id}`
    await purgeDeletedTickets(connection(), 30)
    expect(await desk.scope.sql`select 1 from messages where ticket_id = ${ticket.id}`).toHaveLength(1)
    expectError(await admin.post(`/contacts/${ticket.contact_id}/erase`), 422, 'ON_HOLD')
    await admin.patch('/retention', { hold_label_ids: [] })
    await purgeDeletedTickets(connection(), 30)
    expect(await desk.scope.sql`select 1 from tickets where id = ${ticket.id}`).toHaveLength(0)
  })

  test('keeps people who take part or have written there from being erased', async () => {
    const { ticket, admin } = await heldTicket()
    const other = await createContact(admin)
    await admin.post(`/tickets/${ticket.id}/participants`, { email: other.email })
    expectError(await admin.post(`/contacts/${other.id}/erase`), 422, 'ON_HOLD')
    const stranger = await createContact(admin)
    expect((await admin.post(`/contacts/${stranger.id}/erase`)).status).toBe(200)
  })

  test('is released by admins alone', async () => {
    const { desk, label, ticket, admin, agent } = await heldTicket()
    const key = await createProgram(admin, ['*:write'])
    for (const client of [agent, key]) {
      const body = { label_ids: [label.id] }
      expectError(await client.send('DELETE', `/tickets/${ticket.id}/labels`, body), 403, 'FORBIDDEN')
      for (const dry_run of [true, false]) {
        const bulk = await client.post('/tickets/bulk', {
          ids: [ticket.id],
          changes: { remove_label_ids: body.label_ids },
          dry_run,
        })
        expect(bulk.body.data[0]).toMatchObject({ result: 'failed', error: { code: 'FORBIDDEN' } })
      }
      expect((await client.post(`/tickets/${ticket.id}/labels`, body)).status).toBe(200)
    }
    expectError(await agent.delete(`/tickets/${ticket.id}`), 422, 'ON_HOLD')
    expect((await admin.send('DELETE', `/tickets/${ticket.id}/labels`, { label_ids: [label.id] })).status).toBe(200)
    expect((await admin.delete(`/tickets/${ticket.id}`)).status).toBe(204)
    expect(await statusOf(desk, ticket.id)).toBe(404)
  })

  test('is not freed by a merge, a split, or the undoing of a merge', async () => {
    const { desk, label, ticket, admin, agent } = await heldTicket()
    const target = await oldTicket(desk, 40)
    await agent.post(`/tickets/${target.id}/merge`, { source_ids: [ticket.id] })
    expectError(await agent.delete(`/tickets/${target.id}`), 422, 'ON_HOLD')
    expectError(await admin.delete(`/contacts/${target.contact_id}`), 422, 'ON_HOLD')
    const [message] = (await admin.get(`/tickets/${target.id}/messages`)).body.data
    const split = await agent.post(`/tickets/${target.id}/split`, { message_ids: [message.id] })
    expect(split.body.data.labels).toMatchObject([{ id: label.id }])
    expectError(await agent.delete(`/tickets/${split.body.data.id}`), 422, 'ON_HOLD')

    const late = await oldTicket(desk, 40)
    await agent.post(`/tickets/${split.body.data.id}/merge`, { source_ids: [late.id] })
    const back = await agent.post(`/tickets/${late.id}/unmerge`)
    expect(back.body.data.labels).toMatchObject([{ id: label.id }])
    expectError(await agent.delete(`/tickets/${late.id}`), 422, 'ON_HOLD')
  })
})
