/** Macros: prepared answers and changes, with variables. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { type Client, createOrganization, expectError } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { type StartedDesk, startDesk } from '../../support/desk'
import {
  createCompany,
  createContact,
  createLabel,
  createMessage,
  createTicket,
  hearEvents,
  insertTicket,
  writtenEvents,
} from '../../support/factories'
import { drain, importMail } from '../../support/mail'
import { fingerprint } from '../../support/world'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

async function createMacro(client: Client, fields: Record<string, unknown> = {}) {
  const answer = await client.post('/macros', { name: newId(), ...fields })
  if (answer.status !== 201) throw new Error(`creating a macro answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

const apply = (client: Client, { id }: { id: string }, ticket_id: string, headers?: Record<string, string>) =>
  client.post(`/macros/${id}/apply`, { ticket_id }, headers)

const preview = async (body: string, ticket: { id: string }) => {
  const { id } = await createMacro(desk.agent, { body })
  return (await desk.agent.post(`/macros/${id}/preview`, { ticket_id: ticket.id })).body.data.body
}

const messagesOf = async ({ id }: { id: string }) => (await desk.agent.get(`/tickets/${id}/messages`)).body.data

test('a macro is made, read, listed by name, changed and removed', async () => {
  const { agent, admin, addMember } = await createOrganization()
  const label = await createLabel(agent)
  const member = await addMember('agent')
  const changes = { status: 'pending', assignee_id: member.user_id, add_label_ids: [label.id] }
  const macro = await createMacro(agent, {
    name: ' Water ',
    body: 'Try {{ticket.code}}',
    changes: { ...changes, assignee_id: member.user_id.toUpperCase() },
  })
  const times = { created_at: expect.any(String), updated_at: expect.any(String) }
  const id = expect.any(String)
  const said = { body: 'Try {{ticket.code}}', format: 'text' }
  expect(macro).toEqual({ id, name: 'Water', ...said, is_internal: false, changes, ...times })
  const other = await createMacro(admin, { name: 'air', body: ' ', changes: { assignee_id: null } })
  expect(other).toMatchObject({ body: null, changes: { assignee_id: null } })
  expect((await agent.get(`/macros/${macro.id}`)).body.data).toEqual(macro)
  expect((await agent.get('/macros')).body.data).toEqual([other, macro])
  const changed = await agent.patch(`/macros/${macro.id}`, { body: null, is_internal: true, changes: {} })
  expect(changed.body.data).toMatchObject({ name: 'Water', body: null, is_internal: true, changes: {} })
  expect((await agent.delete(`/macros/${macro.id}`)).status).toBe(204)
  expectError(await agent.get(`/macros/${macro.id}`), 404, 'MACRO_NOT_FOUND')
})

test('a name that is taken, an unknown variable, value or id is refused, and nothing changes', async () => {
  const { agent, id } = await createOrganization()
  const stranger = await createOrganization()
  const foreign = await createLabel(stranger.agent)
  await createMacro(agent, { name: 'Water' })
  const macro = await createMacro(agent, { name: 'Air' })
  const before = await fingerprint(id)
  for (const [fields, code, path] of [
    [{ name: 'WATER' }, 'MACRO_NAME_EXISTS', '/name'],
    [{ name: ' ' }, 'VALIDATION_ERROR', '/name'],
    [{ body: 'Hi {{contact.password}}' }, 'INVALID_VARIABLE', '/body'],
    [{ body: 'Hi {{}}' }, 'INVALID_VARIABLE', '/body'],
    [{ body: 'x'.repeat(100_001) }, 'VALIDATION_ERROR', '/body'],
    [{ changes: { status: 'gone' } }, 'INVALID_STATUS', '/changes/status'],
    [{ changes: { priority: 3 } }, 'INVALID_PRIORITY', '/changes/priority'],
    [{ changes: { assignee_id: stranger.agent.user_id } }, 'USER_NOT_FOUND', '/changes/assignee_id'],
    [{ changes: { add_label_ids: [foreign.id] } }, 'LABEL_NOT_FOUND', '/changes/add_label_ids'],
    [{ changes: { custom: { floor: {} } } }, 'INVALID_CUSTOM', '/changes/custom/floor'],
    [{ changes: 'none' }, 'VALIDATION_ERROR', '/changes'],
  ] as const) {
    const answers = [
      await agent.post('/macros', { name: newId(), ...fields }),
      await agent.patch(`/macros/${macro.id}`, fields),
    ]
    for (const answer of answers) {
      expectError(answer, 422, code)
      expect(answer.body.error.details.errors[0].path).toBe(path)
    }
  }
  expect(await fingerprint(id)).toEqual(before)
})

describe('variables', () => {
  test('have the values of ticket, contact, company, caller and organization; empty when absent', async () => {
    const company = await createCompany(desk.agent, { name: 'Customer Ltd', ticket_prefix: 'CUST' })
    const contact = await createContact(desk.agent, { name: 'Carla', company_id: company.id })
    const ticket = await createTicket(desk.agent, { subject: 'No ink', contact_id: contact.id })
    const all =
      '{{ticket.code}}|{{ ticket.subject }}|{{contact.name}}|{{contact.email}}|{{company.name}}|{{user.name}}|{{organization.name}}'
    expect(await preview(all, ticket)).toBe(`${ticket.code}|No ink|Carla|${contact.email}|Customer Ltd|Alan Agent|Acme`)
    const bare = await insertTicket(desk.scope, { contact: null })
    expect(await preview('<{{contact.name}}|{{company.name}}>', bare)).toBe('<|>')
  })

  test('are expanded once, escaped in HTML, and turn no text into HTML', async () => {
    const name = `<img src="https://evil.example/x"> & '{{user.name}}' $&`
    const contact = await createContact(desk.agent, { name })
    const ticket = await createTicket(desk.agent, { contact_id: contact.id })
    expect(await preview('<b title="{{contact.name}}">{{contact.name}}</b>', ticket)).toBe(
      ['<b title="', '">', '</b>'].join(
        '&lt;img src=&quot;https://evil.example/x&quot;&gt; &amp; &#39;{{user.name}}&#39; $&amp;',
      ),
    )
    const macro = await createMacro(desk.agent, { body: 'Dear {{contact.name}}\nBye', is_internal: true })
    const { message } = (await apply(desk.agent, macro, ticket.id)).body.data
    expect(message.body_html).not.toContain('<img')
    expect(message.body_html).toContain('Dear &lt;img src=&quot;')
    const plain = await createContact(desk.agent, { name: 'A < B & C' })
    const other = await createTicket(desk.agent, { contact_id: plain.id })
    expect(await preview('Dear {{contact.name}}', other)).toBe('Dear A < B & C')
  })
})

describe('applying', () => {
  test('writes the message, sends it, then makes the changes, with their events', async () => {
    const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
    const label = await createLabel(desk.agent, { name: newId() })
    const custom = { floor: 3, colour: null }
    const changes = { status: 'pending', priority: 'high', add_label_ids: [label.id], custom }
    await desk.agent.patch(`/tickets/${ticket.id}`, { custom: { colour: 'red', room: 'b' } })
    const macro = await createMacro(desk.agent, { body: 'Dear {{contact.name}}', changes })
    await hearEvents(desk.scope)
    const answer = await apply(desk.agent, macro, ticket.id.toUpperCase())
    expect(answer.status).toBe(200)
    const { message } = answer.body.data
    expect(message).toMatchObject({ body: 'Dear Carla Contact', direction: 'outbound', email_status: 'queued' })
    expect(macro.changes.custom).toEqual(custom)
    const { ticket: after } = answer.body.data
    expect(after).toMatchObject({ status: 'pending', priority: 'high', labels: [{ id: label.id }] })
    expect(after.custom).toEqual({ floor: 3, room: 'b' })
    const types = (await writtenEvents(desk.scope)).map(({ event }) => event)
    expect(types).toEqual(['message.created', 'ticket.updated', 'ticket.status_changed'])
    await drain()
    expect((await messagesOf(ticket))[0]).toMatchObject({ id: message.id, email_status: 'sent' })
  })

  test('is all or nothing: what a change refuses takes the message back', async () => {
    const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
    await desk.agent.patch(`/tickets/${ticket.id}`, { status: 'closed' })
    const pending = await createMacro(desk.agent, { body: 'Wait', changes: { status: 'pending' } })
    const empty = await createMacro(desk.agent, { body: '{{company.name}}', changes: { priority: 'low' } })
    const before = await fingerprint(desk.id)
    expectError(await apply(desk.agent, pending, ticket.id), 422, 'INVALID_STATUS')
    expectError(await apply(desk.agent, empty, ticket.id), 422, 'EMPTY_BODY')
    for (const id of [newId(), 'none']) {
      const answer = await apply(desk.agent, pending, id)
      expectError(answer, 422, 'TICKET_NOT_FOUND')
      expect(answer.body.error.details).toMatchObject({ ids: [id], errors: [{ path: '/ticket_id' }] })
    }
    expectError(await desk.agent.post(`/macros/${pending.id}/apply`, {}), 422, 'VALIDATION_ERROR')
    expect(await fingerprint(desk.id)).toEqual(before)
  })

  test('without a body makes the changes alone; a note is a note', async () => {
    const ticket = await insertTicket(desk.scope)
    const silent = await createMacro(desk.agent, { changes: { priority: 'urgent' } })
    const { data } = (await apply(desk.agent, silent, ticket.id)).body
    expect([data.message, data.ticket.priority]).toEqual([null, 'urgent'])
    const note = await createMacro(desk.agent, { body: 'Look at {{ticket.code}}', is_internal: true })
    expect((await apply(desk.agent, note, ticket.id)).body.data.message).toMatchObject({
      body: `Look at ${ticket.code}`,
      is_internal: true,
      email_status: 'none',
    })
  })

  test('needs tickets:write and messages:write of a key, a preview tickets:read', async () => {
    const ticket = await insertTicket(desk.scope)
    const macro = await createMacro(desk.agent, { body: 'From {{user.name}}' })
    const keyOf = (permissions: string[]) => createProgram(desk.admin, permissions, { name: 'Helper' })
    const required = async (permissions: string[]) => {
      const answer = await apply(await keyOf(permissions), macro, ticket.id)
      expectError(answer, 403, 'FORBIDDEN')
      return answer.body.error.details.required
    }
    expect(await required(['messages:write', 'macros:write'])).toBe('tickets:write')
    expect(await required(['tickets:write', 'macros:write'])).toBe('messages:write')
    const key = await keyOf(['tickets:write', 'messages:write'])
    expect((await apply(key, macro, ticket.id)).body.data.message).toMatchObject({ body: 'From Helper' })
    const reader = await keyOf(['tickets:read'])
    const path = `/macros/${macro.id}/preview`
    expect((await reader.post(path, { ticket_id: ticket.id })).body.data).toEqual({
      body: 'From Helper',
      format: 'text',
      is_internal: false,
      changes: {},
    })
  })
})

describe('the signature of a mailbox', () => {
  const sign = (signature: string | null) => desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { signature })

  test('stands below public answers, in the email only, as text and HTML, and no other text does', async () => {
    const { body } = await sign('<p>{{user.name}}, <b>{{organization.name}}</b><script>x</script></p>')
    expect(body.data.signature).toStartWith('<p>')
    const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
    const message = await createMessage(desk.agent, ticket.id, { body: 'Try water.' })
    expect([message.body, message.body_html]).toEqual(['Try water.', 'Try water.'])
    await sign('Another')
    await drain()
    const mail = desk.sink.messages.at(-1)!.raw.toString()
    expect(mail).toContain('Try water.\r\n\r\nAlan Agent, Acme\r\n')
    expect(mail).toContain('Try water.<br><div><p>Alan Agent, <b>Acme</b></p></div>')
    expect(mail).not.toContain('Another')
    await sign(' ')
    await createMessage(desk.agent, ticket.id, { body: 'Once more.' })
    await drain()
    expect(desk.sink.messages.at(-1)!.raw.toString()).toContain('Once more.\r\n')
    expect((await desk.admin.get(`/mailboxes/${desk.mailbox_id}`)).body.data.signature).toBeNull()
  })

  test('is part of what was sent: the email is known when a forwarder brings it back', async () => {
    await sign('Bye {{contact.name}}')
    const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
    await createMessage(desk.agent, ticket.id, { body: 'Try water.' })
    await sign('Another')
    await drain()
    const raw = desk.sink.messages
      .at(-1)!
      .raw.toString('latin1')
      .replace(/^From: .*$/m, 'From: <f@forwarder.example>')
    const row = await importMail(desk.admin, desk.mailbox_id, Buffer.from(raw, 'latin1'))
    expect(row.outcome).toBe('own')
    await sign(null)
  })

  test('names known variables only, in at most 10,000 characters', async () => {
    const answer = await sign('{{user.password}}')
    expectError(answer, 422, 'INVALID_VARIABLE')
    expect(answer.body.error.details.errors[0].path).toBe('/signature')
    expectError(await sign('x'.repeat(10_001)), 422, 'VALIDATION_ERROR')
  })
})
