/** Drafts that are sent: by their author, once, and not over a public message that came meanwhile. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { inTransaction } from '../../../src/base/scope'
import { lockConversation } from '../../../src/desk/messages/conversation'
import { type Client, createOrganization, expectError } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMessage, hearEvents, insertTicket, joinTicket, uploadFile, writtenEvents } from '../../support/factories'
import { someoneWaits } from '../../support/lock-waits'
import { drain, importMail, rawMail } from '../../support/mail'
import { fingerprint } from '../../support/world'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

async function createDraft(client: Client, ticket: { id: string }, fields: Record<string, unknown> = {}) {
  const answer = await client.post(`/tickets/${ticket.id}/drafts`, { body: 'Have you tried water?', ...fields })
  if (answer.status !== 201) throw new Error(`creating a draft answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

const send = (client: Client, { id }: { id: string }, body?: unknown, headers?: Record<string, string>) =>
  client.post(`/drafts/${id}/send`, body, headers)

const messagesOf = async (ticket: { id: string }) => (await desk.admin.get(`/tickets/${ticket.id}/messages`)).body.data

test("a key's draft that a person sends is a message of that person, with its files, and says who wrote it", async () => {
  const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
  await joinTicket(desk.scope, ticket.id, [{ name: 'Pia', email: 'pia@customer.example' }], 'confirmed')
  await hearEvents(desk.scope)
  const key = await createProgram(desk.admin, ['drafts:write'], { name: 'Helper' })
  const file = await uploadFile(key)
  const draft = await createDraft(key, ticket, { body: 'Try <b>water</b>', attachment_ids: [file.id] })
  const answer = await send(desk.agent, draft)
  expect(answer.status).toBe(201)
  expect(answer.body.data).toMatchObject({
    body: 'Try <b>water</b>',
    direction: 'outbound',
    sender: { name: 'Alan Agent' },
    attachments: [{ id: file.id }],
    cc: ['pia@customer.example'],
    email_status: 'queued',
    drafted_by: { type: 'api_key', id: key.id, name: 'Helper' },
  })
  expectError(await desk.agent.get(`/drafts/${draft.id}`), 404, 'DRAFT_NOT_FOUND')
  expectError(await send(desk.agent, draft), 404, 'DRAFT_NOT_FOUND')
  const [event] = await writtenEvents(desk.scope)
  expect(event).toMatchObject({ event: 'message.created', data: { drafted_by: { type: 'api_key', id: key.id } } })
  await drain()
  expect(desk.sink.messages.at(-1)!.to.toSorted()).toEqual([ticket.contact.email, 'pia@customer.example'].toSorted())
  const { body } = await desk.agent.get(`/tickets/${ticket.id}`)
  expect(body.data.messages[0].id).toBe(answer.body.data.id)
  const found = (await desk.agent.get('/tickets?search=water')).body.data.map(({ id }: { id: string }) => id)
  expect(found).toContain(ticket.id)
})

test('a note goes by no email and is never stale; cc and send_email are heeded; other messages have no drafted_by', async () => {
  const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
  const note = await createDraft(desk.agent, ticket, { is_internal: true })
  const reply = await createDraft(desk.agent, ticket, { cc: [] })
  await createMessage(desk.admin, ticket.id, { is_internal: true })
  const sent = await send(desk.agent, reply, { send_email: false })
  expect(sent.body.data).toMatchObject({ email_status: 'none', cc: [], drafted_by: { id: desk.agent.user_id } })
  const noted = await send(desk.agent, note, {})
  expect(noted.body.data).toMatchObject({ is_internal: true, direction: null, email_status: 'none' })
  expect((await messagesOf(ticket))[0].drafted_by).toBeNull()
})

test('a stale draft is DRAFT_STALE with the messages that came, also when they were mail; it stays and can be sent later', async () => {
  const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
  const draft = await createDraft(desk.agent, ticket)
  const filing = Promise.withResolvers<unknown>()
  // Mail waits for the ticket, and the draft is sent behind it.
  const sending = await inTransaction(desk.scope, async (scope) => {
    await lockConversation(scope, ticket.id)
    const raw = rawMail({
      From: ticket.contact.email,
      To: desk.address,
      Subject: `Re: ${ticket.subject} [${ticket.code}]`,
      'Message-ID': `<${newId()}@customer.example>`,
    })
    filing.resolve(importMail(desk.admin, desk.mailbox_id, raw))
    await someoneWaits()
    return { answer: send(desk.agent, draft) }
  })
  await filing.promise
  const refused = await sending.answer
  expectError(refused, 422, 'DRAFT_STALE')
  const [mail] = await messagesOf(ticket)
  expect(refused.body.error.details).toEqual({ message_ids: [mail.id] })
  const before = await fingerprint(desk.id)
  expectError(await send(desk.agent, draft), 422, 'DRAFT_STALE')
  expect(await fingerprint(desk.id)).toEqual(before)
  await desk.agent.patch(`/drafts/${draft.id}`, { based_on: mail.id })
  expect((await send(desk.agent, draft)).status).toBe(201)
  expect((await messagesOf(ticket)).length).toBe(2)
})

test('an error keeps the draft and its files', async () => {
  const ticket = await insertTicket(desk.scope, { contact: null })
  const file = await uploadFile(desk.agent)
  const draft = await createDraft(desk.agent, ticket, { attachment_ids: [file.id] })
  const before = await fingerprint(desk.id)
  expectError(await send(desk.agent, draft, { send_email: true }), 422, 'EMAIL_SEND_FAILED')
  expectError(await send(desk.agent, draft, { send_email: 'yes' }), 422, 'VALIDATION_ERROR')
  expect(await fingerprint(desk.id)).toEqual(before)
  expect((await send(desk.agent, draft)).body.data.attachments).toMatchObject([{ id: file.id }])
})

test('of ten who send it at once one makes a message', async () => {
  const ticket = await insertTicket(desk.scope)
  const key = await createProgram(desk.admin, ['drafts:write'])
  const draft = await createDraft(key, ticket)
  const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => send(n % 2 ? desk.agent : desk.admin, draft)))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 404)])
  expect((await messagesOf(ticket)).length).toBe(1)
})

test('a repeated Idempotency-Key gets the first answer although the draft is gone; two at once make one message', async () => {
  const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
  const draft = await createDraft(desk.agent, ticket)
  const headers = { 'idempotency-key': newId() }
  const [first, second] = await Promise.all([
    send(desk.agent, draft, undefined, headers),
    send(desk.agent, draft, undefined, headers),
  ])
  const third = await send(desk.agent, draft, undefined, headers)
  expect([first, second, third].map(({ status, body }) => [status, body.data.id])).toEqual(
    [1, 2, 3].map(() => [201, first.body.data.id]),
  )
  expect((await messagesOf(ticket)).length).toBe(1)
  expectError(await send(desk.agent, draft, undefined, { 'idempotency-key': newId() }), 404, 'DRAFT_NOT_FOUND')
  expectError(await send(desk.agent, draft, undefined, { 'idempotency-key': '\t' }), 404, 'DRAFT_NOT_FOUND')
})

test('the tag that was read counts', async () => {
  const ticket = await insertTicket(desk.scope)
  const draft = await createDraft(desk.agent, ticket)
  const tag = (await desk.agent.get(`/drafts/${draft.id}`)).headers.get('etag')!
  await desk.agent.patch(`/drafts/${draft.id}`, { body: 'Changed in another window' })
  expectError(await send(desk.agent, draft, {}, { 'if-match': tag }), 412, 'PRECONDITION_FAILED')
  const now = (await desk.agent.get(`/drafts/${draft.id}`)).headers.get('etag')!
  expect((await send(desk.agent, draft, {}, { 'if-match': now })).body.data.body).toBe('Changed in another window')
})

test('a key that may write messages sends its own draft', async () => {
  const ticket = await insertTicket(desk.scope)
  const key = await createProgram(desk.admin, ['drafts:write', 'messages:write'], { name: 'Helper' })
  const draft = await createDraft(key, ticket)
  expect((await send(key, draft)).body.data).toMatchObject({
    sender: { name: 'Helper' },
    drafted_by: { type: 'api_key', id: key.id, name: 'Helper' },
  })
})

test('changes of the ticket are made with the message, or neither is; a key needs the right to both', async () => {
  const ticket = await insertTicket(desk.scope)
  const draft = await createDraft(desk.agent, ticket)
  const changes = { status: 'resolved', assignee_id: desk.agent.user_id }
  const refused = await send(desk.agent, draft, { changes: { ...changes, assignee_id: newId() } })
  expectError(refused, 422, 'USER_NOT_FOUND')
  expect(refused.body.error.details.errors[0].path).toBe('/changes/assignee_id')
  const foreign = await createOrganization()
  const label = (await foreign.admin.post('/labels', { name: 'theirs', color: '#EF4444' })).body.data
  expectError(await send(desk.agent, draft, { changes: { add_label_ids: [label.id] } }), 422, 'LABEL_NOT_FOUND')
  expectError(await send(desk.agent, draft, { changes: { status: 'gone' } }), 422, 'INVALID_STATUS')
  expect(await messagesOf(ticket)).toEqual([])
  const key = await createProgram(desk.admin, ['drafts:write', 'messages:write'], { name: 'Helper' })
  const own = await createDraft(key, ticket)
  expectError(await send(key, own, { changes }), 403, 'FORBIDDEN')
  expect((await send(desk.agent, draft, { changes })).status).toBe(201)
  const { body } = await desk.agent.get(`/tickets/${ticket.id}`)
  expect(body.data).toMatchObject({ status: 'resolved', assignee: { id: desk.agent.user_id }, messages: [{}] })
})
