/** The recipients of the next answer, as the API tells them and as it leaves, and those that a reply leaves out. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { expectError, stranger } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { type Desk, provenZone, type StartedDesk, startDeskWithDns } from '../../support/desk'
import { createMessage, createTicket } from '../../support/factories'
import { deliver, drain, ledgerOf, rawMail } from '../../support/mail'

let desk: StartedDesk
let other: Desk

beforeAll(async () => {
  desk = await startDeskWithDns(provenZone('passes.example'), { name: 'Help' })
  other = await desk.createDesk()
})
afterAll(() => desk.stop())

type Fields = Record<string, string | string[] | undefined>

/** Delivers over SMTP; gives the ledger row. */
async function file(from: string, fields: Fields = {}) {
  const id = `<${newId()}@mail.example>`
  const header = { From: from, To: desk.address, Subject: 'Pump', Message_ID: id, ...fields }
  await deliver(desk.port, { from, to: desk.address, raw: rawMail(header) })
  return { ...(await ledgerOf(desk))[0], id }
}

async function recipients(ticket_id: string) {
  const answer = await desk.agent.get(`/tickets/${ticket_id}/recipients`)
  expect(answer.status).toBe(200)
  return answer.body.data
}

async function emailsOf(ticket_id: string) {
  const { to, cc } = await recipients(ticket_id)
  return [...to, ...cc].map(({ email }: { email: string }) => email)
}

async function unconfirmed(ticket_id: string): Promise<string[]> {
  const { data } = (await desk.agent.get(`/tickets/${ticket_id}/activity?per_page=100`)).body
  return data.flatMap(({ type, data }: { type: string; data: { email: string } }) =>
    type === 'participant_unconfirmed' ? [data.email] : [],
  )
}

/** An answer of the team to a mail that named others in Cc. */
async function converse(...names: string[]) {
  const of = newId().slice(-12)
  const [kim, ...cc] = ['kim', ...names].map((name) => `${name}.${of}@passes.example`) as [string, ...string[]]
  const first = await file(kim, { Cc: cc.join(', ') })
  const { ticket_id } = first
  const answer = await createMessage(desk.agent, ticket_id)
  await drain()
  const reply = (fields: Fields) => file(kim, { In_Reply_To: `<${answer.email_message_id}>`, ...fields })
  return { ticket_id, kim, cc, answer, first: first.id, reply }
}

test('the recipients that the API tells are those of the next email, with the mailbox that sends it', async () => {
  const { ticket_id, kim, cc } = await converse('bob')
  expect(await recipients(ticket_id)).toEqual({
    from: { name: 'Help', email: desk.address },
    to: [{ name: expect.any(String), email: kim }],
    cc: [{ name: null, email: cc[0] }],
    quote: 'none',
  })
  const { email_recipients } = await createMessage(desk.agent, ticket_id)
  expect(email_recipients).toEqual([
    { kind: 'to', email: kim, status: 'queued', error: null },
    { kind: 'cc', email: cc[0], status: 'queued', error: null },
  ])
  await drain()
})

test('the recipients are nobody where no email would be sent', async () => {
  const receiving = await desk.createDesk({ smtp: null })
  const ticket = await createTicket(receiving.agent)
  expect((await receiving.agent.get(`/tickets/${ticket.id}/recipients`)).body.data).toEqual({
    from: null,
    to: [],
    cc: [],
    quote: 'none',
  })
})

test('the recipients of a ticket are for those who may read its messages', async () => {
  const { ticket_id } = await converse('bob')
  const path = `/tickets/${ticket_id}/recipients`
  expectError(await other.agent.get(path), 404, 'TICKET_NOT_FOUND')
  expectError(await desk.agent.get(`/tickets/${newId()}/recipients`), 404, 'TICKET_NOT_FOUND')
  expectError(await stranger().get(path), 401, 'INVALID_TOKEN')
  expectError(await (await createProgram(desk.admin, ['tickets:read'])).get(path), 403, 'FORBIDDEN')
  expect((await (await createProgram(desk.admin, ['messages:read'])).get(path)).status).toBe(200)
})

test('whom the contact leaves out of a proven reply that names others gets no further answer', async () => {
  const { ticket_id, kim, cc, reply } = await converse('bob', 'eve')
  await reply({ Cc: cc[0]! })
  expect(await emailsOf(ticket_id)).toEqual([kim, cc[0]!])
  expect(await unconfirmed(ticket_id)).toEqual([cc[1]!])
  const { data } = (await desk.agent.get(`/tickets/${ticket_id}/participants`)).body
  expect(data.map(({ email, confirmed }: { email: string; confirmed: boolean }) => [email, confirmed])).toEqual([
    [cc[0], true],
    [cc[1], false],
  ])
})

test('a reply to an earlier mail of the customer takes out who was in To of that one', async () => {
  const from = `kim.${newId()}@passes.example`
  const first = await file(from, { To: `${desk.address}, tom@t.example`, Cc: 'ann@t.example' })
  await file(from, { In_Reply_To: first.id, Cc: 'ann@t.example' })
  expect(await emailsOf(first.ticket_id)).toEqual([from, 'ann@t.example'])
  expect(await unconfirmed(first.ticket_id)).toEqual(['tom@t.example'])
})

test('a reply to us alone takes nobody out and marks whom it leaves out, until a reply names them', async () => {
  const { ticket_id, kim, cc, reply } = await converse('bob')
  await reply({})
  expect((await recipients(ticket_id)).cc).toEqual([{ name: null, email: cc[0], left_out: true }])
  expect(await emailsOf(ticket_id)).toEqual([kim, cc[0]!])
  // The contact's own address is nobody else's.
  await reply({ Cc: kim })
  expect((await recipients(ticket_id)).cc).toEqual([{ name: null, email: cc[0], left_out: true }])
  await reply({ Cc: cc[0]! })
  expect((await recipients(ticket_id)).cc).toEqual([{ name: null, email: cc[0] }])
  expect(await unconfirmed(ticket_id)).toEqual([])
})

test('whom an agent has added stays, whomever a reply leaves out', async () => {
  const { ticket_id, kim, cc, reply } = await converse('bob', 'eve')
  const path = `/tickets/${ticket_id}/participants`
  expect((await desk.agent.post(path, { email: 'new@t.example' })).status).toBe(201)
  const answer = await createMessage(desk.agent, ticket_id)
  await drain()
  await reply({ In_Reply_To: `<${answer.email_message_id}>`, Cc: cc[0]! })
  expect(await emailsOf(ticket_id)).toEqual([kim, cc[0]!, 'new@t.example'])
  expect(await unconfirmed(ticket_id)).toEqual([cc[1]!])
})

test.each<[string, (of: Awaited<ReturnType<typeof converse>>) => Promise<unknown>]>([
  ['an automatic answer', ({ reply, cc }) => reply({ Cc: cc[0]!, Auto_Submitted: 'auto-replied' })],
  ['a reply whose sender is not proven', ({ reply, cc }) => reply({ From: 'kim@unknown.example', Cc: cc[0]! })],
  [
    'the reply of another participant',
    ({ answer, cc }) => file(cc[0]!, { In_Reply_To: `<${answer.email_message_id}>`, Cc: 'x@t.example' }),
  ],
  ['a mail that answers nothing', ({ kim, ticket_id, cc }) => fileByCode(kim, ticket_id, { Cc: cc[0]! })],
])('%s takes nobody out', async (_, write) => {
  const made = await converse('bob', 'eve')
  await write(made)
  expect(await emailsOf(made.ticket_id)).toEqual([made.kim, ...made.cc])
  expect(await unconfirmed(made.ticket_id)).toEqual([])
})

async function fileByCode(from: string, ticket_id: string, fields: Fields) {
  const { code } = (await desk.agent.get(`/tickets/${ticket_id}`)).body.data
  const row = await file(from, { Subject: `[${code}] More`, ...fields })
  expect(row).toMatchObject({ ticket_id, rule: 'subject_code' })
}
