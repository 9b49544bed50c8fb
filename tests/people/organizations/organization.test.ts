import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { createOrganization as createWithAdmin } from '../../../src/people/organizations/commands'
import { createOrganization, PASSWORD, signIn, startApi, stopApi } from '../../support/api'
import { createTicket } from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

describe('the organization', () => {
  test('is shown to each member with its defaults', async () => {
    const { id, agent, admin } = await createOrganization('Acme')
    const answer = await agent.get('/organization')
    expect(answer.status).toBe(200)
    expect(answer.body.data).toEqual({
      id,
      name: 'Acme',
      ticket_prefix: 'TKT',
      hourly_rate: null,
      currency: 'USD',
      time_zone: 'UTC',
      ask_rating_after_minutes: null,
      reopen_on_reply: true,
      sender_policy: 'flag',
      spam_policy: 'hold',
      form_senders: [],
      require_second_factor: false,
      portal_origins: [],
    })
    expect((await admin.get('/organization')).body).toEqual(answer.body)
  })

  test('is changed by an admin, field by field', async () => {
    const { admin, agent } = await createOrganization('Acme')
    const changes = {
      name: ' Acme & Söhne ',
      ticket_prefix: 'AC7',
      hourly_rate: 99.95,
      currency: 'EUR',
      time_zone: 'Asia/Kolkata',
      reopen_on_reply: false,
      sender_policy: 'restrict',
      spam_policy: 'mark',
      form_senders: ['Form@Firm.example', 'wix.example', 'bücher.example'],
    }
    const { id, ...before } = (await admin.get('/organization')).body.data
    for (const [field, value] of Object.entries(changes)) {
      const answer = await admin.patch('/organization', { [field]: value, id: newId() })
      expect(answer.status).toBe(200)
      Object.assign(before, { [field]: field === 'name' ? 'Acme & Söhne' : value })
      expect(answer.body.data).toEqual({ id, ...before })
    }
    expect((await agent.get('/organization')).body.data).toEqual({ id, ...before })
  })

  test('has each form sender once, whatever its case, and none after an empty list', async () => {
    const { admin } = await createOrganization()
    const given = [' forms@firm.example ', 'FORMS@firm.example', 'wix.example']
    const answer = await admin.patch('/organization', { form_senders: given })
    expect(answer.body.data.form_senders).toEqual(['FORMS@firm.example', 'wix.example'])
    expect((await admin.patch('/organization', { form_senders: [] })).body.data.form_senders).toEqual([])
  })

  test('gets its defaults back with null', async () => {
    const { admin } = await createOrganization()
    await admin.patch('/organization', { ticket_prefix: 'ACME', hourly_rate: 0, currency: 'EUR' })
    const answer = await admin.patch('/organization', { ticket_prefix: null, hourly_rate: null, currency: null })
    expect(answer.body.data).toMatchObject({ ticket_prefix: 'TKT', hourly_rate: null, currency: 'USD' })
  })

  test('gives its prefix to the codes of new tickets', async () => {
    const { admin, agent } = await createOrganization()
    expect((await createTicket(agent)).code).toBe('TKT-1')
    await admin.patch('/organization', { ticket_prefix: 'ACME' })
    expect((await createTicket(agent)).code).toBe('ACME-2')
  })

  test.each([
    [{ name: '' }, '/name'],
    [{ name: null }, '/name'],
    [{ name: 'n'.repeat(256) }, '/name'],
    [{ ticket_prefix: 'acme' }, '/ticket_prefix'],
    [{ ticket_prefix: '7UP' }, '/ticket_prefix'],
    [{ ticket_prefix: '' }, '/ticket_prefix'],
    [{ ticket_prefix: ' ACME' }, '/ticket_prefix'],
    [{ ticket_prefix: 'ABCDEFGHIJK' }, '/ticket_prefix'],
    [{ hourly_rate: -0.01 }, '/hourly_rate'],
    [{ hourly_rate: 1_000_000.01 }, '/hourly_rate'],
    [{ hourly_rate: 10.005 }, '/hourly_rate'],
    [{ hourly_rate: '10' }, '/hourly_rate'],
    [{ currency: 'eur' }, '/currency'],
    [{ currency: 'XYZ' }, '/currency'],
    [{ currency: 'EURO' }, '/currency'],
    [{ time_zone: 'Europe/Bonn' }, '/time_zone'],
    [{ time_zone: '+01:00' }, '/time_zone'],
    [{ time_zone: '' }, '/time_zone'],
    [{ time_zone: 1 }, '/time_zone'],
    [{ reopen_on_reply: 'true' }, '/reopen_on_reply'],
    [{ reopen_on_reply: null }, '/reopen_on_reply'],
    [{ sender_policy: 'off' }, '/sender_policy'],
    [{ spam_policy: 'delete' }, '/spam_policy'],
    [{ sender_policy: null }, '/sender_policy'],
    [{ form_senders: null }, '/form_senders'],
    [{ form_senders: 'wix.example' }, '/form_senders'],
    [{ form_senders: ['wix.example', 'wix'] }, '/form_senders/1'],
    [{ form_senders: ['a@b@wix.example'] }, '/form_senders/0'],
    [{ form_senders: Array(51).fill('wix.example') }, '/form_senders'],
  ])('is not changed by %j', async (changes, path) => {
    const { admin } = await createOrganization()
    const before = (await admin.get('/organization')).body
    const answer = await admin.patch('/organization', { name: 'Changed', ...changes })
    expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
    expect(answer.body.error.details.errors.map((error: { path: string }) => error.path)).toEqual([path])
    expect((await admin.get('/organization')).body).toEqual(before)
  })

  test('accepts the limits of its fields', async () => {
    const { admin } = await createOrganization()
    for (const changes of [
      { name: '😀'.repeat(255) },
      { ticket_prefix: 'A' },
      { ticket_prefix: 'ABCDEFGHI9' },
      { hourly_rate: 0 },
      { hourly_rate: 1_000_000 },
    ]) {
      expect((await admin.patch('/organization', changes)).body.data).toMatchObject(changes)
    }
  })

  test('is changed by no other organization', async () => {
    const { admin } = await createOrganization('Acme')
    const other = await createOrganization('Other')
    await other.admin.patch('/organization', { name: 'Changed' })
    expect((await admin.get('/organization')).body.data.name).toBe('Acme')
  })
})

describe('an operator creates an organization', () => {
  test('with an admin who can sign in and work', async () => {
    const email = `first.${newId()}@deskwire.example`
    const admin = { email, name: 'Grace', password: PASSWORD }
    const created = await createWithAdmin(connection(), { name: 'New', admin })
    expect(created).toEqual({ id: expect.any(String), admin: { type: 'member', id: expect.any(String), email } })
    const client = await signIn(email)
    expect((await client.get('/auth/me')).body.organizations).toEqual([{ id: created.id, name: 'New', role: 'admin' }])
    expect((await createTicket(client)).code).toBe('TKT-1')
  })

  test('for a person whom another organization knows: an invitation, and no admin yet', async () => {
    const { agent } = await createOrganization()
    const admin = { email: agent.email.toUpperCase(), name: 'Somebody else' }
    const created = await createWithAdmin(connection(), { name: 'New', admin })
    expect(created.admin).toMatchObject({ type: 'invited', link: expect.stringContaining('?token=') })
    const me = (await (await signIn(agent.email)).get('/auth/me')).body
    expect([me.name, me.organizations.length]).toEqual(['Alan Agent', 1])
  })
})
