/** Tickets that the team begins with a message, and those of people who are no contacts yet. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { simpleParser } from 'mailparser'
import { type Client, createOrganization, expectError } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { type StartedDesk, startDesk } from '../../support/desk'
import { activityOf, createContact, createTicket, hearEvents, uploadFile, writtenEvents } from '../../support/factories'
import { drain, importMail, rawMail, readTicket } from '../../support/mail'
import { fingerprint } from '../../support/world'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
beforeEach(() => {
  desk.sink.messages.length = 0
})
afterAll(() => desk.stop())

const FILES = '/message/attachment_ids'
const NOBODY = '018f0000-0000-7000-8000-000000000000'
const message = { body: 'Can you send us a new drum?' }

/** All rows of an organization but the counter, whose number a refused ticket may use up, and the audit log. */
async function rowsOf(organization_id: string) {
  const { ticket_counters: _, audit_log: __, ...rows } = await fingerprint(organization_id)
  return rows
}

const begin = (client: Client, fields: Record<string, unknown>, headers?: Record<string, string>) =>
  client.post('/tickets', { subject: 'A new drum', ...fields }, headers)

async function sent() {
  await drain()
  return Promise.all(desk.sink.messages.map(({ raw }) => simpleParser(raw)))
}

test("the first message is the caller's, and leaves without Re: and threading headers", async () => {
  const contact = await createContact(desk.agent)
  const answer = await begin(desk.agent, { contact_id: contact.id, message: { ...message, cc: ['boss@x.example'] } })
  expect(answer.status).toBe(201)
  const ticket = answer.body.data
  expect(ticket).toMatchObject({ subject: 'A new drum', status: 'open', contact: { id: contact.id } })
  const [mail, ...others] = await sent()
  // One mail for each of To and Cc at the most.
  for (const one of [mail!, ...others]) {
    expect(one.subject).toBe(`A new drum [${ticket.code}]`)
    expect([one.inReplyTo, one.references]).toEqual([undefined, undefined])
    expect(one.to).toMatchObject({ value: [{ address: contact.email }] })
    expect(one.cc).toMatchObject({ value: [{ address: 'boss@x.example' }] })
  }
  const { messages } = await readTicket(desk.agent, ticket.id)
  expect(messages).toMatchObject([
    {
      ...message,
      direction: 'outbound',
      is_internal: false,
      channel: 'api',
      sender: { name: 'Alan Agent' },
      cc: ['boss@x.example'],
      email_status: 'sent',
    },
  ])
  expect(mail!.messageId).toBe(`<${messages[0].email_message_id}>`)
  expect((await activityOf(desk.scope, ticket.id)).map(({ type }) => type).slice(0, 2)).toEqual(['created', 'message'])
})

test('a subject with Re: of its own loses it, and the second message answers the first', async () => {
  const contact = await createContact(desk.agent)
  const ticket = (await begin(desk.agent, { subject: 'Re: Drum', contact_id: contact.id, message })).body.data
  await sent()
  await desk.agent.post(`/tickets/${ticket.id}/messages`, { body: 'And paper' })
  const [first, second] = await sent()
  expect([first!.subject, second!.subject]).toEqual([`Drum [${ticket.code}]`, `Re: Drum [${ticket.code}]`])
  expect(second!.inReplyTo).toBe(first!.messageId!)
})

test('an answer to it threads, and reopens nothing else', async () => {
  const contact = await createContact(desk.agent, { email: `kim.${crypto.randomUUID()}@customer.example` })
  const ticket = (await begin(desk.agent, { contact_id: contact.id, message })).body.data
  const [mail] = await sent()
  const headers = { From: contact.email, Subject: `Re: ${mail!.subject}`, 'In-Reply-To': mail!.messageId! }
  const row = await importMail(
    desk.admin,
    desk.mailbox_id,
    rawMail({ ...headers, 'Message-ID': `<${crypto.randomUUID()}@c.example>` }),
  )
  expect(row).toMatchObject({ outcome: 'message', rule: 'in_reply_to', ticket_id: ticket.id })
})

test('files go along, send_email: false sends nothing, and the events come in their order', async () => {
  const organization = await desk.createDesk()
  const contact = await createContact(organization.agent)
  const file = await uploadFile(organization.agent)
  await hearEvents(organization.scope)
  const fields = { contact_id: contact.id, assignee_id: organization.agent.user_id }
  const given = { ...message, attachment_ids: [file.id], send_email: false }
  const ticket = (await begin(organization.agent, { ...fields, message: given })).body.data
  expect(await sent()).toEqual([])
  const { messages } = await readTicket(organization.agent, ticket.id)
  expect(messages).toMatchObject([{ email_status: 'none', attachments: [{ id: file.id }] }])
  const events = await writtenEvents(organization.scope)
  expect(events.map(({ event }) => event)).toEqual(['ticket.created', 'ticket.assigned', 'message.created'])
  expect(events[2]!.data).toMatchObject({
    id: messages[0].id,
    ticket: { id: ticket.id },
    attachments: [{ id: file.id }],
  })
  expect((await organization.agent.get('/tickets?search=drum')).body.data).toMatchObject([{ id: ticket.id }])
})

test('an API key writes in its own name, from the address of the mailbox', async () => {
  const contact = await createContact(desk.agent)
  const program = await createProgram(desk.admin, ['tickets:write', 'messages:write'], { name: 'Robot' })
  const ticket = (await begin(program, { contact_id: contact.id, message })).body.data
  const { messages } = await readTicket(desk.agent, ticket.id)
  expect(messages).toMatchObject([{ sender: { name: 'Robot', email: desk.address }, direction: 'outbound' }])
})

test('the contact is found by any of its addresses, however written, or made', async () => {
  const organization = await desk.createDesk()
  const known = await createContact(organization.agent, { email: 'Kim@x.example', emails: ['kim@home.example'] })
  await hearEvents(organization.scope)
  const found = await begin(organization.agent, {
    contact: { email: 'KIM@home.example', name: 'Other' },
    description: 'x',
  })
  expect(found.body.data.contact).toEqual({ id: known.id, name: known.name, email: 'Kim@x.example' })
  const made = (await begin(organization.agent, { contact: { email: 'New@x.example', name: 'Nora' }, message })).body
    .data
  expect(made.contact).toMatchObject({ name: 'Nora', email: 'New@x.example' })
  const unnamed = (await begin(organization.agent, { contact: { email: 'someone@x.example', name: null } })).body.data
  expect(unnamed.contact).toMatchObject({ name: 'someone' })
  expect((await writtenEvents(organization.scope)).map(({ event }) => event)).toEqual([
    ...['ticket.created', 'message.created'],
    ...['contact.created', 'ticket.created', 'message.created'],
    ...['contact.created', 'ticket.created'],
  ])
})

test('two at once make one contact', async () => {
  const organization = await createOrganization()
  const contact = { email: `one.${crypto.randomUUID()}@x.example` }
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => begin(organization.agent, { subject: `At once ${n}`, contact, message })),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
  expect(new Set(answers.map(({ body }) => body.data.contact.id)).size).toBe(1)
  const { meta } = (await organization.agent.get(`/contacts?email=${contact.email}`)).body
  expect(meta.total).toBe(1)
})

test('the same Idempotency-Key gives the same ticket, and mail is sent once', async () => {
  const contact = { email: `twice.${crypto.randomUUID()}@x.example` }
  const headers = { 'idempotency-key': crypto.randomUUID() }
  const [first, second] = await Promise.all([
    begin(desk.agent, { contact, message }, headers),
    begin(desk.agent, { contact, message }, headers),
  ])
  const third = await begin(desk.agent, { contact, message }, headers)
  expect([second!.body, third.body]).toEqual([first!.body, first!.body])
  expect((await sent()).filter(({ to }) => JSON.stringify(to).includes(contact.email))).toHaveLength(1)
  const other = await begin(desk.agent, { contact, message: { body: 'Other' } }, headers)
  expectError(other, 422, 'IDEMPOTENCY_KEY_REUSED')
})

test.each([
  [{}, 'VALIDATION_ERROR', ['/contact_id']],
  [{ contact_id: 'mine', contact: { email: 'a@x.example' } }, 'VALIDATION_ERROR', ['/contact_id']],
  [{ contact_id: NOBODY, message }, 'CONTACT_NOT_FOUND', ['/contact_id']],
  [{ contact_id: 'foreign', message }, 'CONTACT_NOT_FOUND', ['/contact_id']],
  [{ contact_id: 'mine', description: 'x', message }, 'VALIDATION_ERROR', ['/message']],
  [{ contact_id: 'mine', message: {} }, 'EMPTY_BODY', ['/message/body']],
  [{ contact_id: 'mine', message: { body: ' ' } }, 'EMPTY_BODY', ['/message/body']],
  [{ contact_id: 'mine', message: { body: '<p></p>', format: 'html' } }, 'EMPTY_BODY', ['/message/body']],
  [{ contact_id: 'mine', message: 'hello' }, 'VALIDATION_ERROR', ['/message']],
  [{ contact_id: 'mine', message: { ...message, cc: ['nobody'] } }, 'INVALID_EMAIL', ['/message/cc/0']],
  [
    { contact_id: 'mine', message: { ...message, cc: Array(21).fill('a@x.example') } },
    'VALIDATION_ERROR',
    ['/message/cc'],
  ],
  [{ contact_id: 'mine', message: { ...message, attachment_ids: [NOBODY] } }, 'ATTACHMENT_NOT_FOUND', [FILES]],
  [{ contact_id: 'mine', message: { ...message, attachment_ids: ['foreign'] } }, 'ATTACHMENT_NOT_FOUND', [FILES]],
  [{ contact: { name: 'x' } }, 'VALIDATION_ERROR', ['/contact/email']],
  [{ contact: { email: 'nobody' } }, 'INVALID_EMAIL', ['/contact/email']],
  [{ contact: { email: 'own' }, message }, 'INVALID_EMAIL', ['/contact/email']],
  [{ contact: { email: 'tagged' } }, 'INVALID_EMAIL', ['/contact/email']],
  [{ contact: { email: 'a@x.example', name: 'a\nb' } }, 'VALIDATION_ERROR', ['/contact/name']],
  [{ contact: { email: 'a@x.example' }, message: {}, description: 'x' }, 'EMPTY_BODY', ['/message/body', '/message']],
])('%j is refused and leaves nothing behind', async (given, code, paths) => {
  const { agent, id, address } = desk
  const [contact, other] = [await createContact(agent), await createOrganization()]
  const foreign = { contact: await createContact(other.agent), file: await uploadFile(other.agent) }
  const replaced = JSON.parse(JSON.stringify(given), (key, value) => {
    if (value === 'mine') return contact.id
    if (value === 'own') return address.toUpperCase()
    if (value === 'tagged') return address.replace('@', '+tag@')
    if (value === 'foreign') return key === 'contact_id' ? foreign.contact.id : foreign.file.id
    return value
  })
  const before = await rowsOf(id)
  const answer = await begin(agent, replaced)
  expectError(answer, 422, code)
  expect(answer.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual(paths)
  expect(await rowsOf(id)).toEqual(before)
  expect(await sent()).toEqual([])
})

test('ten thousand copies are refused', async () => {
  const cc = Array.from({ length: 10_000 }, (_, n) => `c${n}@x.example`)
  const contact = await createContact(desk.agent)
  expectError(await begin(desk.agent, { contact_id: contact.id, message: { ...message, cc } }), 422, 'VALIDATION_ERROR')
})

test('send_email: true without a mailbox that can send is refused', async () => {
  const { agent, id } = await createOrganization()
  const contact = await createContact(agent)
  const before = await rowsOf(id)
  const answer = await begin(agent, { contact_id: contact.id, message: { ...message, send_email: true } })
  expectError(answer, 422, 'EMAIL_SEND_FAILED')
  expect(answer.body.error.details.errors).toMatchObject([{ path: '/message/send_email' }])
  expect(await rowsOf(id)).toEqual(before)
  expect((await begin(agent, { contact_id: contact.id, message })).status).toBe(201)
})

test('a key needs messages:write for the message, and contacts:write for the contact', async () => {
  const contact = await createContact(desk.agent)
  const [least, writer, all] = await Promise.all([
    createProgram(desk.admin, ['tickets:write']),
    createProgram(desk.admin, ['tickets:write', 'messages:write']),
    createProgram(desk.admin, ['tickets:write', 'messages:write', 'contacts:write']),
  ])
  const before = await rowsOf(desk.id)
  const known = { email: contact.email }
  for (const [client, fields, required] of [
    [least, { contact_id: contact.id, message }, 'messages:write'],
    [least, { contact: known }, 'contacts:write'],
    [writer, { contact: known, message }, 'contacts:write'],
  ] as const) {
    const refused = await begin(client, fields)
    expectError(refused, 403, 'FORBIDDEN')
    expect(refused.body.error.details).toEqual({ required })
  }
  expect(await rowsOf(desk.id)).toEqual(before)
  expect((await begin(all, { contact: known, message })).status).toBe(201)
  expect((await begin(least, { contact_id: contact.id, description: 'x' })).status).toBe(201)
})

test('an email that is tried again after a merge stays one that begins', async () => {
  const contact = await createContact(desk.agent)
  desk.sink.answer(({ stage }) => (stage === 'rcpt' ? '450 4.2.0 later' : undefined))
  const older = await createTicket(desk.agent, { contact_id: contact.id })
  await desk.agent.post(`/tickets/${older.id}/messages`, { body: 'Before', send_email: false })
  const ticket = (await begin(desk.agent, { contact_id: contact.id, message })).body.data
  await sent()
  desk.sink.answer()
  await desk.agent.post(`/tickets/${older.id}/merge`, { source_ids: [ticket.id] })
  await desk.scope.sql`update outbox set run_at = now() where kind = 'email'`
  // Emails of other tests, which had to wait too, may come with it.
  const mail = (await sent()).find(({ to }) => JSON.stringify(to).includes(contact.email))
  expect([mail!.subject, mail!.inReplyTo]).toEqual([`Printer on fire [${older.code}]`, undefined])
})
