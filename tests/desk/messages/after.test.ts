/** A message that is written only while its author has seen all that came before it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { inTransaction } from '../../../src/base/scope'
import { addMessage } from '../../../src/desk/messages/commands'
import { lockConversation } from '../../../src/desk/messages/conversation'
import { createOrganization, expectError } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMessage, hearEvents, insertTicket } from '../../support/factories'
import { someoneWaits } from '../../support/lock-waits'
import { importMail, rawMail } from '../../support/mail'
import { fingerprint } from '../../support/world'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

const send = (ticket_id: string, after: unknown, more: Record<string, unknown> = {}) =>
  desk.agent.post(`/tickets/${ticket_id}/messages`, { body: 'Have you tried water?', after, ...more })

test('after: the last message, or null while there is none, is taken', async () => {
  const ticket = await insertTicket(desk.scope)
  const first = await send(ticket.id, null)
  expect(first.status).toBe(201)
  const note = await send(ticket.id, first.body.data.id.toUpperCase(), { is_internal: true })
  expect(note.status).toBe(201)
  expect((await send(ticket.id, note.body.data.id)).status).toBe(201)
})

test('a message or note that came after is PRECONDITION_FAILED, with the first 20; nothing is stored or sent', async () => {
  const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
  await hearEvents(desk.scope)
  const { id } = await createMessage(desk.agent, ticket.id, { send_email: false })
  for (let n = 0; n < 22; n++) {
    await createMessage(desk.admin, ticket.id, { body: `Reply ${n}`, is_internal: n % 2 === 0, send_email: false })
  }
  const { data } = (await desk.agent.get(`/tickets/${ticket.id}/messages`)).body
  const before = await fingerprint(desk.id)
  const refused = await send(ticket.id, id)
  expectError(refused, 412, 'PRECONDITION_FAILED')
  expect(refused.body.error.details).toEqual({ messages: data.slice(1, 21), total: 22 })
  const unseen = await send(ticket.id, null, { is_internal: true })
  expect(unseen.body.error.details).toEqual({ messages: data.slice(0, 20), total: 23 })
  expect(await fingerprint(desk.id)).toEqual(before)
})

test('of messages that are too large together fewer are shown, and all are counted', async () => {
  const ticket = await insertTicket(desk.scope)
  for (let n = 0; n < 3; n++) await createMessage(desk.agent, ticket.id, { body: 'x'.repeat(400_000) })
  const { details } = (await send(ticket.id, null)).body.error
  expect([details.messages.length, details.total]).toEqual([2, 3])
})

test('a message that is unknown, deleted, of another ticket or organization is MESSAGE_NOT_FOUND', async () => {
  const [ticket, other] = [await insertTicket(desk.scope), await insertTicket(desk.scope)]
  const stranger = await createOrganization()
  const foreign = await createMessage(stranger.agent, (await insertTicket(stranger.scope)).id)
  const elsewhere = await createMessage(desk.agent, other.id)
  const deleted = await createMessage(desk.agent, ticket.id)
  expect((await desk.agent.delete(`/tickets/${ticket.id}/messages/${deleted.id}`)).status).toBe(204)
  const before = await fingerprint(desk.id)
  for (const id of [newId(), 'no id', '', foreign.id, elsewhere.id, deleted.id]) {
    const answer = await send(ticket.id, id)
    expectError(answer, 422, 'MESSAGE_NOT_FOUND')
    expect(answer.body.error.details).toMatchObject({ ids: [id], errors: [{ path: '/after' }] })
  }
  for (const value of [7, true, [], {}]) expectError(await send(ticket.id, value), 422, 'VALIDATION_ERROR')
  expect(await fingerprint(desk.id)).toEqual(before)
  expect((await send(ticket.id, null)).status).toBe(201)
})

test('after is checked last, and If-Match stays ignored', async () => {
  const ticket = await insertTicket(desk.scope, { contact: null })
  const path = `/tickets/${ticket.id}/messages`
  const { id } = await createMessage(desk.agent, ticket.id)
  expectError(await send(ticket.id, null, { body: ' ' }), 422, 'EMPTY_BODY')
  expectError(await send(ticket.id, null, { attachment_ids: [newId()] }), 422, 'ATTACHMENT_NOT_FOUND')
  expectError(await send(ticket.id, newId(), { send_email: true }), 422, 'EMAIL_SEND_FAILED')
  const header = { 'if-match': '"stale"' }
  expect((await desk.agent.post(path, { body: 'Yes', after: id }, header)).status).toBe(201)
})

test('of ten with one after, one wins', async () => {
  const ticket = await insertTicket(desk.scope)
  const { id } = await createMessage(desk.agent, ticket.id)
  const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => send(ticket.id, id, { body: `Reply ${n}` })))
  const [winner, ...losers] = answers.toSorted((a, b) => a.status - b.status)
  expect([winner!.status, ...losers.map(({ status }) => status)]).toEqual([201, ...losers.map(() => 412)])
  for (const { body } of losers) expect(body.error.details.messages[0].id).toBe(winner!.body.data.id)
  const { data } = (await desk.agent.get(`/tickets/${ticket.id}/messages`)).body
  expect(data.map((message: { id: string }) => message.id)).toEqual([id, winner!.body.data.id])
})

test('a repeated request gets its first answer, although others wrote since', async () => {
  const ticket = await insertTicket(desk.scope)
  const headers = { 'idempotency-key': 'once' }
  const post = () => desk.agent.post(`/tickets/${ticket.id}/messages`, { body: 'Yes', after: null }, headers)
  const first = await post()
  await createMessage(desk.admin, ticket.id)
  const again = await post()
  expect([first.status, again.status, again.body]).toEqual([201, 201, first.body])
})

test('mail that waited while an answer was written comes after it, and is not gone over', async () => {
  const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
  const filing = Promise.withResolvers<unknown>()
  const answer = await inTransaction(desk.scope, async (scope) => {
    const conversation = await lockConversation(scope, ticket.id)
    const raw = rawMail({
      From: ticket.contact.email,
      To: desk.address,
      Subject: `Re: ${ticket.subject} [${ticket.code}]`,
      'Message-ID': `<${newId()}@customer.example>`,
    })
    filing.resolve(importMail(desk.admin, desk.mailbox_id, raw))
    await someoneWaits()
    const text = 'Written while mail waits'
    const sender = { sender_name: 'Ada', sender_email: null }
    const { id } = await addMessage(scope, conversation, {
      ...sender,
      body: text,
      format: 'text',
      body_html: text,
      text,
      is_internal: false,
      direction: 'outbound',
    })
    return id
  })
  await filing.promise
  const refused = await send(ticket.id, answer)
  expectError(refused, 412, 'PRECONDITION_FAILED')
  expect(refused.body.error.details).toMatchObject({ messages: [{ direction: 'inbound' }], total: 1 })
})

test('a message comes after those of a process whose clock is ahead', async () => {
  const ticket = await insertTicket(desk.scope)
  const ahead = Bun.randomUUIDv7('hex', Date.now() + 3_600_000)
  await desk.scope.sql`
    insert into messages (organization_id, id, ticket_id, body, body_html, direction, sender_name)
    values (${desk.id}, ${ahead}, ${ticket.id}, 'ahead', 'ahead', 'inbound', 'Carla')`
  const answers = await Promise.all([send(ticket.id, ahead), send(ticket.id, ahead)])
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 412])
  const { data } = (await desk.agent.get(`/tickets/${ticket.id}/messages`)).body
  expect([data.length, data[0].id, data[1].id > ahead]).toEqual([2, ahead, true])
})
