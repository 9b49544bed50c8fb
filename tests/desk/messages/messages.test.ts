import { afterAll, beforeAll, expect, test } from 'bun:test'
import { unsignedUrl } from '../../../src/base/attachment-url'
import { newId } from '../../../src/base/db/columns'
import { inTransaction, type Scope } from '../../../src/base/scope'
import { announceAttempt } from '../../../src/delivery/outbox/first-attempt'
import { readMessageId } from '../../../src/desk/messages/anchors'
import { addMessage } from '../../../src/desk/messages/commands'
import { lockConversation } from '../../../src/desk/messages/conversation'
import type { MessageDraft } from '../../../src/desk/messages/draft'
import { getMessage } from '../../../src/desk/messages/queries'
import { type Client, createOrganization, startApi, stopApi } from '../../support/api'
import {
  activityOf,
  createMessage,
  hearEvents,
  insertMailbox,
  insertTicket,
  joinTicket,
  uploadFile,
  writtenEvents,
} from '../../support/factories'
import { type ChangedSettings, withSettings } from '../../support/settings'

let settings: ChangedSettings

beforeAll(async () => {
  await startApi()
  // Nothing sends here: only the tests about waiting wait.
  settings = withSettings({ EMAIL_INLINE_WAIT_MS: 1 })
})
afterAll(async () => {
  settings.restore()
  await stopApi()
})

const NOTHING = '01890000-0000-7000-8000-000000000000'

// Reading and writing.

test('a public message answers with every field', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const file = await uploadFile(agent)
  const answer = await agent.post(`/tickets/${ticket.id}/messages`, {
    body: 'Have you tried <b>water</b>?<script>alert(1)</script>',
    is_internal: false,
    attachment_ids: [file.id],
    cc: ['boss@customer.example'],
  })
  expect(answer.status).toBe(201)
  expect(answer.body.data).toEqual({
    id: expect.any(String),
    body: 'Have you tried <b>water</b>?<script>alert(1)</script>',
    format: 'html',
    body_html: 'Have you tried <b>water</b>?',
    reply_text: null,
    is_internal: false,
    direction: 'outbound',
    sender: { name: 'Alan Agent', email: agent.email },
    attachments: [file],
    email_sent: false,
    email_status: 'none',
    email_error: null,
    email_message_id: null,
    email_recipients: [],
    cc: ['boss@customer.example'],
    auto_reply: false,
    sender_verified: null,
    channel: 'api',
    reply_to: null,
    mentions: [],
    drafted_by: null,
    original_ticket: null,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  })
  const single = await agent.get(`/tickets/${ticket.id}/messages/${answer.body.data.id}`)
  expect([single.status, single.body]).toEqual([200, answer.body])
})

test('the messages of a ticket are listed oldest first, in full and without meta', async () => {
  const { agent, admin, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const first = await createMessage(agent, ticket.id, { body: 'first' })
  const note = await createMessage(admin, ticket.id, { body: 'a note', is_internal: true })
  const last = await createMessage(agent, ticket.id, { body: 'last' })
  await createMessage(agent, (await insertTicket(scope)).id, { body: 'elsewhere' })
  const all = await agent.get(`/tickets/${ticket.id}/messages`)
  expect([all.status, all.body]).toEqual([200, { data: [first, note, last] }])
  const public_ones = await agent.get(`/tickets/${ticket.id}/messages?include_internal=false`)
  expect(public_ones.body).toEqual({ data: [first, last] })
  expect((await agent.get(`/tickets/${ticket.id}/messages?include_internal=true`)).body).toEqual(all.body)
})

test('the messages of a ticket are paged with meta when a page is asked for', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  await createMessage(agent, ticket.id, { is_internal: true })
  const second = await createMessage(agent, ticket.id)
  const third = await createMessage(agent, ticket.id)
  const list = (query: string) => agent.get(`/tickets/${ticket.id}/messages?${query}`)
  expect((await list('page=2&per_page=2')).body).toEqual({
    data: [third],
    meta: { total: 3, page: 2, per_page: 2, next_cursor: null },
  })
  expect((await list('per_page=1&include_internal=false')).body).toEqual({
    data: [second],
    meta: { total: 2, page: 1, per_page: 1, next_cursor: expect.any(String) },
  })
})

test('a body is kept as given, spaces and all', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const { body, body_html } = await createMessage(agent, ticket.id, { body: '  1 < 2\n\nyes  ' })
  expect([body, body_html]).toEqual(['  1 < 2\n\nyes  ', expect.stringContaining('1 &lt; 2')])
})

test('a note has no direction and is never sent, whatever is asked for', async () => {
  const { agent, scope } = await createOrganization()
  await insertMailbox(scope)
  const ticket = await insertTicket(scope)
  const note = await createMessage(agent, ticket.id, { is_internal: true, send_email: true, cc: ['a@b.example'] })
  expect(note).toMatchObject({ is_internal: true, direction: null, email_status: 'none', cc: [], email_recipients: [] })
  expect(await outboxOf(scope)).toEqual([])
})

test('a new message moves the updated_at of its ticket', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const { sql } = scope
  await sql`update tickets set updated_at = now() - interval '1 day' where id = ${ticket.id}`
  await createMessage(agent, ticket.id, { is_internal: true })
  const [row] = await sql`select updated_at > now() - interval '1 hour' as is_now from tickets where id = ${ticket.id}`
  expect(row!.is_now).toBe(true)
})

test('messages and notes stand in the timeline and are told to webhooks as the API shows them', async () => {
  const { agent, scope, id: organization_id } = await createOrganization()
  const { contact, ...ticket } = await insertTicket(scope)
  await hearEvents(scope)
  const reply = await createMessage(agent, ticket.id)
  const note = await createMessage(agent, ticket.id, { is_internal: true })
  const entries = await activityOf(scope, ticket.id)
  expect([...entries]).toEqual([
    { type: 'message', data: { message_id: reply.id, direction: 'outbound' } },
    { type: 'note', data: { message_id: note.id } },
  ])
  const common = { event: 'message.created', organization_id, timestamp: expect.any(String) }
  expect(await writtenEvents(scope)).toEqual([
    { ...common, data: { ...reply, ticket } },
    { ...common, data: { ...note, ticket } },
  ])
})

test('the words of a message find its ticket', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  await createMessage(agent, ticket.id, { body: '<p>Please use <b>quicksilver</b></p>', is_internal: true })
  expect(await wordsOf(scope, ticket.id)).toContain('quicksilver')
})

// Refusals.

test.each([
  ['missing', undefined],
  ['null', null],
  ['empty', ''],
  ['blank', ' \n\t '],
  ['made of spaces that HTML knows', '<p>&nbsp;</p>'],
  ['of characters without width', '\u200b\ufeff'],
  ['HTML with nothing in it', '<div><br></div>'],
  ['HTML whose text is never shown', '<p></p><style>p { color: red }</style>'],
  ['an image without an address', '<p><img alt=""></p>'],
])('a body that is %s is EMPTY_BODY', async (_, body) => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const answer = await agent.post(`/tickets/${ticket.id}/messages`, { body })
  expect([answer.status, answer.body.error.code]).toEqual([422, 'EMPTY_BODY'])
  expect(answer.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual(['/body'])
})

test('a body that is an image is not empty', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const { body_html } = await createMessage(agent, ticket.id, { body: '<img src="https://x.example/a.png">' })
  expect(body_html).toContain('<img src="https://x.example/a.png"')
})

test.each([
  ['an answer', { is_internal: false }],
  ['a note', { is_internal: true }],
])('%s shows the https images that its author put into it, and lets others wait', async (_, kind) => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const image = (attribute: string, url: string) => `<img ${attribute}="${url}" />`
  const images = [
    image('src', 'https://x.example/a.png'),
    image('data-src', 'https://x.example/b.png'),
    image('src', 'http://x.example/c.png'),
  ]
  const { id, body_html } = await createMessage(agent, ticket.id, { ...kind, body: images.join('\n') })
  expect([...body_html.matchAll(/<img ([a-z-]+="[^"]*")/g)].map(([, attribute]) => attribute)).toEqual([
    'src="https://x.example/a.png"',
    'data-src="https://x.example/b.png"',
    'data-src="http://x.example/c.png"',
  ])
  expect((await agent.get(`/tickets/${ticket.id}/messages/${id}`)).body.data.body_html).toBe(body_html)
  expect((await agent.get(`/tickets/${ticket.id}`)).body.data.messages[0].body_html).toBe(body_html)
})

test('what a customer wrote loads no image, also when it was stored with one that would', async () => {
  const { agent, scope } = await createOrganization()
  const contact = (await agent.post('/contacts', { name: 'Carla', email: 'carla@customer.example' })).body.data
  const described = { contact_id: contact.id, description: '<img src="https://x.example/a.png">' }
  const { id } = (await agent.post('/tickets', { subject: 'Look', ...described })).body.data
  const draft = { ...inbound('Look'), body_html: '<p><img src="https://x.example/a.png" /></p>' }
  await addLocked(scope, id, draft)
  const { messages } = (await agent.get(`/tickets/${id}`)).body.data
  expect(messages.map(({ body_html }: { body_html: string }) => /<img [a-z-]+=/.exec(body_html)?.[0])).toEqual([
    '<img data-src=',
    '<img data-src=',
  ])
})

test('a body has at most 1,000,000 characters', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  expect((await createMessage(agent, ticket.id, { body: '🎉'.repeat(1_000_000) })).body.length).toBe(2_000_000)
  const answer = await agent.post(`/tickets/${ticket.id}/messages`, { body: 'x'.repeat(1_000_001) })
  expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
})

test.each([
  [{ body: 5 }, 'EMPTY_BODY', '/body'],
  [{ is_internal: 'true' }, 'VALIDATION_ERROR', '/is_internal'],
  [{ send_email: 1 }, 'VALIDATION_ERROR', '/send_email'],
  [{ attachment_ids: 'x' }, 'VALIDATION_ERROR', '/attachment_ids'],
  [{ attachment_ids: [1] }, 'VALIDATION_ERROR', '/attachment_ids/0'],
  [{ attachment_ids: Array(51).fill(NOTHING) }, 'VALIDATION_ERROR', '/attachment_ids'],
  [{ cc: ['fine@x.example', 'not an address'] }, 'INVALID_EMAIL', '/cc/1'],
  [{ cc: ['a@x.example\r\nBcc: b@x.example'] }, 'INVALID_EMAIL', '/cc/0'],
  [{ cc: [7] }, 'INVALID_EMAIL', '/cc/0'],
  [{ cc: 'a@x.example' }, 'INVALID_EMAIL', '/cc'],
  [{ cc: [`${'a'.repeat(250)}@x.example`] }, 'VALIDATION_ERROR', '/cc/0'],
  [{ cc: Array(21).fill('a@x.example') }, 'VALIDATION_ERROR', '/cc'],
])('%j is %s', async (fields, code, path) => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const answer = await agent.post(`/tickets/${ticket.id}/messages`, { body: 'hello', ...fields })
  expect([answer.status, answer.body.error.code]).toEqual([422, code])
  expect(answer.body.error.details.errors[0].path).toBe(path)
})

test('all faults are told at once, under the code of the first field', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const answer = await agent.post(`/tickets/${ticket.id}/messages`, { body: '<p></p>', is_internal: 1, cc: ['x'] })
  expect(answer.body.error.code).toBe('EMPTY_BODY')
  const paths = answer.body.error.details.errors.map(({ path }: { path: string }) => path)
  expect(paths).toEqual(['/body', '/is_internal', '/cc/0'])
})

test('attachments that are unknown, used or of another organization are ATTACHMENT_NOT_FOUND, and nothing is stored', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const used = await uploadFile(agent)
  const unused = await uploadFile(agent)
  const foreign = await uploadFile((await createOrganization()).agent)
  await createMessage(agent, ticket.id, { attachment_ids: [used.id] })
  const bad = [used.id, foreign.id, NOTHING, 'no-uuid']
  const answer = await agent.post(`/tickets/${ticket.id}/messages`, { body: 'x', attachment_ids: [unused.id, ...bad] })
  expect([answer.status, answer.body.error.code]).toEqual([422, 'ATTACHMENT_NOT_FOUND'])
  expect(answer.body.error.details).toMatchObject({ ids: bad, errors: [{ path: '/attachment_ids' }] })
  expect((await agent.get(`/tickets/${ticket.id}/messages`)).body.data).toHaveLength(1)
  await createMessage(agent, ticket.id, { attachment_ids: [unused.id.toUpperCase(), unused.id] })
})

test('of two messages that want the same upload one gets it', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const other = await insertTicket(scope)
  const { id } = await uploadFile(agent)
  const answers = await Promise.all(
    [ticket.id, other.id].map((ticket_id) =>
      agent.post(`/tickets/${ticket_id}/messages`, { body: 'mine', attachment_ids: [id] }),
    ),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 422])
})

test('a message of another ticket is MESSAGE_NOT_FOUND', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const elsewhere = await createMessage(agent, (await insertTicket(scope)).id)
  for (const method of ['GET', 'DELETE']) {
    const answer = await agent.send(method, `/tickets/${ticket.id}/messages/${elsewhere.id}`)
    expect([method, answer.status, answer.body.error.code]).toEqual([method, 404, 'MESSAGE_NOT_FOUND'])
  }
})

// Deleting.

test('a deleted message is gone with its attachments, its words and the email that has not gone out', async () => {
  const { agent, scope, id: organization_id } = await createOrganization()
  await insertMailbox(scope)
  const { contact, ...ticket } = await insertTicket(scope)
  const file = await uploadFile(agent)
  const kept = await createMessage(agent, ticket.id, { body: 'kept words', send_email: false })
  const message = await createMessage(agent, ticket.id, { body: 'quicksilver', attachment_ids: [file.id] })
  expect(await outboxOf(scope)).toHaveLength(1)
  await hearEvents(scope)
  const answer = await agent.delete(`/tickets/${ticket.id}/messages/${message.id}`)
  expect([answer.status, answer.text]).toEqual([204, ''])
  expect((await agent.get(`/tickets/${ticket.id}/messages`)).body).toEqual({ data: [kept] })
  expect((await agent.get(`/attachments/${file.id}`)).status).toBe(404)
  const removals = await scope.sql`select from storage_removals where storage_key = ${`attachments/${file.id}`}`
  expect(removals).toHaveLength(1)
  expect(await outboxOf(scope)).toEqual([])
  const words = await wordsOf(scope, ticket.id)
  expect([words.includes('quicksilver'), words.includes('kept')]).toEqual([false, true])
  expect((await activityOf(scope, ticket.id)).at(-1)).toEqual({
    type: 'message_deleted',
    data: { message_id: message.id, is_internal: false },
  })
  expect(await writtenEvents(scope)).toEqual([
    { event: 'message.deleted', organization_id, timestamp: expect.any(String), data: { ...message, ticket } },
  ])
})

test('answers to a message that was deleted still lead to its ticket', async () => {
  const { agent, scope } = await createOrganization()
  await insertMailbox(scope)
  const ticket = await insertTicket(scope)
  const message = await createMessage(agent, ticket.id)
  await agent.delete(`/tickets/${ticket.id}/messages/${message.id}`)
  expect(await anchorsOf(scope)).toEqual([
    { email_message_id: message.email_message_id, ticket_id: ticket.id, message_id: null },
  ])
})

// By email.

test('a public message goes out by email, to the contact', async () => {
  const { agent, scope } = await createOrganization()
  const mailbox = await insertMailbox(scope, { address: `Help.${newId()}@Acme.example` })
  const ticket = await insertTicket(scope, { contact: { name: 'Carla', email: `carla.${newId()}@customer.example` } })
  await hearEvents(scope)
  const message = await createMessage(agent, ticket.id)
  expect(message).toMatchObject({
    email_sent: false,
    email_status: 'queued',
    email_error: null,
    email_recipients: [{ email: ticket.contact.email, kind: 'to', status: 'queued', error: null }],
    cc: [],
  })
  expect(message.email_message_id).toEndWith('@acme.example')
  expect(readMessageId(message.email_message_id)).toBe(message.id)
  expect(await anchorsOf(scope)).toEqual([
    { email_message_id: message.email_message_id, ticket_id: ticket.id, message_id: message.id },
  ])
  expect(await outboxOf(scope)).toEqual([{ id: message.id, kind: 'email', lane_id: mailbox.id }])
  expect(await recipientsOf(scope, message.id)).toEqual([
    { position: 0, kind: 'to', name: 'Carla', email: ticket.contact.email, status: 'queued' },
  ])
  expect((await writtenEvents(scope))[0].data.email_status).toBe('queued')
})

test('send_email: false sends nothing', async () => {
  const { agent, scope } = await createOrganization()
  await insertMailbox(scope)
  const ticket = await insertTicket(scope)
  const message = await createMessage(agent, ticket.id, { send_email: false })
  expect(message).toMatchObject({ email_status: 'none', email_message_id: null, email_recipients: [] })
  expect(await outboxOf(scope)).toEqual([])
})

test.each([
  ['the one that received the conversation', {}, 'own'],
  ['the default one when that is switched off', { active: false }, 'default'],
  ['the default one when that only receives', { smtp: false }, 'default'],
])('email leaves from %s', async (_, fields, expected) => {
  const { agent, scope } = await createOrganization()
  const by_default = await insertMailbox(scope)
  const own = await insertMailbox(scope, { is_default: false, ...fields })
  const ticket = await insertTicket(scope, { mailbox_id: own.id })
  await createMessage(agent, ticket.id)
  const [row] = await outboxOf(scope)
  expect(row!.lane_id).toBe(expected === 'own' ? own.id : by_default.id)
})

test.each([
  ['there is no mailbox', async (scope: Scope) => insertTicket(scope)],
  [
    'the only mailbox is switched off',
    async (scope: Scope) => {
      await insertMailbox(scope, { active: false })
      return insertTicket(scope)
    },
  ],
  [
    'the only mailbox that can send is neither the default one nor the conversation’s',
    async (scope: Scope) => {
      await insertMailbox(scope, { is_default: false })
      return insertTicket(scope)
    },
  ],
  [
    'the mailbox is another organization’s',
    async (scope: Scope) => {
      await insertMailbox((await createOrganization()).scope)
      return insertTicket(scope)
    },
  ],
  [
    'the ticket has no contact',
    async (scope: Scope) => {
      await insertMailbox(scope)
      return insertTicket(scope, { contact: null })
    },
  ],
])('when %s, a message is not sent, and asking for it is EMAIL_SEND_FAILED', async (_, arrange) => {
  const { agent, scope } = await createOrganization()
  const ticket = await arrange(scope)
  const file = await uploadFile(agent)
  const fields = { body: 'hello', send_email: true, attachment_ids: [file.id] }
  const answer = await agent.post(`/tickets/${ticket.id}/messages`, fields)
  expect([answer.status, answer.body.error.code]).toEqual([422, 'EMAIL_SEND_FAILED'])
  expect(answer.body.error.details.errors[0].path).toBe('/send_email')
  expect((await agent.get(`/tickets/${ticket.id}/messages`)).body.data).toEqual([])
  const message = await createMessage(agent, ticket.id, { attachment_ids: [file.id] })
  expect(message).toMatchObject({ email_status: 'none', email_sent: false, email_recipients: [] })
  expect(await outboxOf(scope)).toEqual([])
})

test('the confirmed participants get a copy, but neither the contact nor own mailboxes get a second one', async () => {
  const { agent, scope } = await createOrganization()
  const mailbox = await insertMailbox(scope)
  const ticket = await insertTicket(scope)
  await joinTicket(scope, ticket.id, [{ name: 'Bob Boss', email: 'Bob@customer.example' }], 'confirmed')
  await joinTicket(scope, ticket.id, [{ name: null, email: 'forwarded@elsewhere.example' }], 'listed')
  await scope.sql`
    insert into participants (organization_id, id, ticket_id, email, email_key)
    select ${scope.organization_id}, gen_random_uuid(), ${ticket.id}, upper(address), address
    from unnest(${[ticket.contact.email, mailbox.address.replace('@', '+tag@')]}::text[]) as address`
  const message = await createMessage(agent, ticket.id)
  expect(message.cc).toEqual(['Bob@customer.example'])
  const recipients = await recipientsOf(scope, message.id)
  expect(recipients.map(({ kind, name, email }) => [kind, name, email])).toEqual([
    ['to', 'Carla Contact', ticket.contact.email],
    ['cc', 'Bob Boss', 'Bob@customer.example'],
  ])
})

test('a given cc takes the place of the participants; an empty one too', async () => {
  const { agent, scope } = await createOrganization()
  await insertMailbox(scope)
  const ticket = await insertTicket(scope)
  await joinTicket(scope, ticket.id, [{ name: null, email: 'bob@customer.example' }], 'confirmed')
  const cc = [' eve@customer.example', 'Eve@Customer.example', ticket.contact.email]
  const message = await createMessage(agent, ticket.id, { cc })
  expect(message.cc).toEqual(['eve@customer.example'])
  expect((await createMessage(agent, ticket.id, { cc: [] })).email_recipients).toHaveLength(1)
})

test('the answer to a create has the outcome of the first attempt', async () => {
  const { agent, scope } = await createOrganization()
  await insertMailbox(scope)
  const ticket = await insertTicket(scope)
  const message = await whileWaiting(agent, scope, ticket.id, async (id) => {
    // The outbox row stays as it is, so that only the announcement can end the waiting.
    await scope.sql`update messages set email_status = 'sent' where id = ${id}`
    announceAttempt(id)
  })
  expect(message).toMatchObject({ email_sent: true, email_status: 'sent' })
})

test('the outcome is seen when another process sends the email', async () => {
  const { agent, scope } = await createOrganization()
  await insertMailbox(scope)
  const ticket = await insertTicket(scope)
  const message = await whileWaiting(agent, scope, ticket.id, async (id) => {
    await scope.sql`update messages set email_error = '451 later' where id = ${id}`
    await scope.sql`update outbox set attempts = 1 where id = ${id}`
  })
  expect(message).toMatchObject({ email_sent: false, email_status: 'queued', email_error: '451 later' })
})

// The command that others build on.

test('a message of an email has its anchor once, and takes over one that was only referred to', async () => {
  const { scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  await scope.sql`
    insert into email_anchors (organization_id, email_message_id, ticket_id)
    values (${scope.organization_id}, 'abc@customer.example', ${ticket.id})`
  const draft = { ...inbound('Help'), email_message_id: 'abc@customer.example', reply_text: 'Help', auto_reply: true }
  const id = await addLocked(scope, ticket.id, draft)
  const message = await getMessage(scope, ticket.id, id)
  expect(message).toMatchObject({
    direction: 'inbound',
    sender: { name: 'Carla', email: null },
    reply_text: 'Help',
    auto_reply: true,
    email_message_id: 'abc@customer.example',
    email_status: 'none',
    email_sent: false,
  })
  expect(await anchorsOf(scope)).toEqual([
    { email_message_id: 'abc@customer.example', ticket_id: ticket.id, message_id: message.id },
  ])
})

test('a message that is rolled back leaves nothing, and its uploads free', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  await hearEvents(scope)
  const { id } = await uploadFile(agent)
  const attempt = inTransaction(scope, async (scope) => {
    await addLocked(scope, ticket.id, { ...inbound('Never happened'), attachment_ids: [id] })
    throw new Error('roll back')
  })
  await expect(attempt).rejects.toThrow('roll back')
  expect((await agent.get(`/tickets/${ticket.id}/messages`)).body.data).toEqual([])
  expect(await writtenEvents(scope)).toEqual([])
  expect(await activityOf(scope, ticket.id)).toHaveLength(0)
  await createMessage(agent, ticket.id, { attachment_ids: [id] })
})

test('images of a message that are its attachments carry fresh signatures, others load nothing', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const [own, foreign] = [await uploadFile(agent), await uploadFile(agent)]
  const image = (url: string, attribute = 'data-src') => `<p><img ${attribute}="${url}" alt="x" /></p>`
  const draft = { ...inbound('Look'), body_html: image(unsignedUrl(own.id)) + image(unsignedUrl(foreign.id)) }
  const id = await addLocked(scope, ticket.id, { ...draft, attachment_ids: [own.id] })
  const message = await getMessage(scope, ticket.id, id)
  expect(message.body_html).toContain(image(own.url.replaceAll('&', '&amp;'), 'src') + image(unsignedUrl(foreign.id)))
})

function inbound(body: string): MessageDraft {
  return {
    body,
    format: 'html',
    body_html: body,
    text: body,
    is_internal: false,
    direction: 'inbound',
    sender_name: 'Carla',
    sender_email: null,
  }
}

/** Adds a message as commands do: the ticket is locked first. */
function addLocked(scope: Scope, ticket_id: string, draft: MessageDraft): Promise<string> {
  return inTransaction(scope, async (scope) => {
    return (await addMessage(scope, await lockConversation(scope, ticket_id), draft)).id
  })
}

/** Posts a message that is to be sent, and calls `send` once it is in the outbox. */
async function whileWaiting(client: Client, scope: Scope, ticket_id: string, send: (id: string) => Promise<void>) {
  using _ = withSettings({ EMAIL_INLINE_WAIT_MS: 600_000 })
  const message = createMessage(client, ticket_id)
  let [row] = await outboxOf(scope)
  while (!row) [row] = await outboxOf(scope)
  await send(row.id)
  return await message
}

async function outboxOf({ sql, organization_id }: Scope) {
  const rows = await sql<{ id: string; kind: string; lane_id: string }[]>`
    select id, kind, lane_id from outbox where organization_id = ${organization_id} and kind = 'email'`
  return [...rows]
}

async function anchorsOf({ sql, organization_id }: Scope) {
  const rows = await sql`
    select email_message_id, ticket_id, message_id from email_anchors where organization_id = ${organization_id}`
  return [...rows]
}

async function recipientsOf({ sql }: Scope, message_id: string) {
  const rows = await sql<{ position: number; kind: string; name: string | null; email: string; status: string }[]>`
    select position, kind, name, email, status from message_recipients
    where message_id = ${message_id} order by position`
  return [...rows]
}

/** The words that find a ticket. */
async function wordsOf({ sql }: Scope, ticket_id: string): Promise<string[]> {
  const rows = await sql<{ word: string }[]>`
    select split_part(lexeme, ':', 2) as word from ticket_search, unnest(document) where ticket_id = ${ticket_id}`
  return rows.map(({ word }) => word)
}
