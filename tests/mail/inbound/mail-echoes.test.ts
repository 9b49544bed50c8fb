/** Our own mail that comes back under a foreign Message-ID is recognized by its Reply-To, and dropped. */
import { afterAll, beforeAll, beforeEach, expect, spyOn, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { replyAddress } from '../../../src/desk/messages/anchors'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { createMessage } from '../../support/factories'
import { deliver, drain, importMail, ledgerOf, rawMail, readTicket } from '../../support/mail'

const CONTACT = 'carla@customer.example'
const LIST = 'team@lists.example'

let started: StartedDesk
let desk: Desk

beforeAll(async () => {
  started = await startDesk()
})
beforeEach(async () => {
  started.sink.messages.length = 0
  desk = await started.createDesk()
})
afterAll(() => started.stop())

type Fields = Record<string, string | string[] | undefined>

function mailOf(fields: Fields): Buffer {
  return rawMail({
    From: CONTACT,
    To: desk.address,
    Subject: 'Printer',
    Message_ID: `<${newId()}@customer.example>`,
    ...fields,
  })
}

type Sent = { ticket_id: string; tagged: string; email_message_id: string; raw: Uint8Array }

/** A conversation that an email of ours has resolved. */
async function resolve(at = desk, from = CONTACT, words = {}): Promise<Sent> {
  const { ticket_id } = await importMail(at.admin, at.mailbox_id, mailOf({ From: from, To: at.address }))
  const { email_message_id } = await createMessage(at.agent, ticket_id, words)
  await drain()
  await at.agent.patch(`/tickets/${ticket_id}`, { status: 'resolved' })
  const { raw } = started.sink.messages.at(-1)!
  return { ticket_id, tagged: replyAddress(at.address, ticket_id), email_message_id, raw }
}

/** A copy under another id. @param fields that take the place of those of that name */
function echoOf({ raw }: Sent, fields: Fields = {}): Buffer {
  const text = Buffer.from(raw).toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  const changed: Fields = { Message_ID: `<${newId()}@relay.example>`, ...fields }
  const names = Object.keys(changed).map((name) => `${name.replaceAll('_', '-')}:`.toLowerCase())
  const kept = text
    .slice(0, end)
    .split(/\r\n(?![ \t])/)
    .filter((field) => !names.some((name) => field.toLowerCase().startsWith(name)))
  return Buffer.concat([
    rawMail(changed).subarray(0, -'\r\nHello\r\n'.length),
    Buffer.from(`${kept.join('\r\n')}${text.slice(end)}`, 'latin1'),
  ])
}

const ECHOES: [string, (sent: Sent) => Fields, string][] = [
  ['a forwarder', () => ({}), 'forwarder@customer.example'],
  ['a forwarder without a sender', () => ({}), ''],
  [
    'a forwarder that keeps nothing of the conversation',
    () => ({ In_Reply_To: undefined, References: undefined, Subject: 'Printer' }),
    'forwarder@customer.example',
  ],
  ['a forwarder that changes case', ({ tagged }) => ({ Reply_To: tagged.toUpperCase() }), 'x@customer.example'],
  ['a forwarder that takes the id away', () => ({ Message_ID: undefined }), 'x@customer.example'],
  ['a mailing list', () => ({ Subject: '[Team] Re: Printer', List_Id: '<team.lists.example>' }), LIST],
  ['a mailing list that writes in its own name', () => ({ From: `Help via Team <${LIST}>` }), LIST],
  ['a mailing list that wants answers too', ({ tagged }) => ({ Reply_To: `Team <${LIST}>, ${tagged}` }), LIST],
  ['a mailing list that adds a field for them', ({ tagged }) => ({ Reply_To: [LIST, tagged] }), LIST],
]

test('mail of ours that comes back is dropped: no ticket is opened or reopened, no contact made', async () => {
  const sent = await resolve()
  for (const [name, fields, from] of ECHOES) {
    await deliver(started.port, { from, to: desk.address, raw: echoOf(sent, fields(sent)) })
    const [{ outcome, rule, ticket_id }] = await ledgerOf(desk)
    expect([name, outcome, rule, ticket_id]).toEqual([name, 'own', null, null])
  }
  const ticket = await readTicket(desk.agent, sent.ticket_id)
  expect([ticket.status, ticket.messages.length, ticket.messages[1].email_status]).toEqual(['resolved', 2, 'sent'])
  expect((await desk.agent.get('/contacts')).body.meta.total).toBe(1)
  expect((await desk.agent.get('/tickets')).body.meta.total).toBe(1)
})

test('long mail of ours is compared in the process that parses', async () => {
  const sent = await resolve(desk, CONTACT, { body: '<p>Please open <b>the valve</b>.</p>'.repeat(1000) })
  using read = spyOn(String.prototype, 'matchAll')
  const copy = await importMail(desk.admin, desk.mailbox_id, echoOf(sent, { List_Id: '<team.lists.example>' }))
  const other = await importMail(desk.admin, desk.mailbox_id, mailOf({ Reply_To: sent.tagged, To: desk.address }))
  expect([copy.outcome, other.outcome]).toEqual(['own', 'ticket'])
  expect(read.mock.contexts.filter((text) => String(text).length > 1000)).toEqual([])
})

test('of long mails the newest are compared', async () => {
  const sent = await resolve()
  const body = `${'<p>Please open the valve.</p>'.repeat(30_000)}`
  for (let count = 0; count < 4; count++) await createMessage(desk.agent, sent.ticket_id, { body: `${body}${count}` })
  await drain()
  const echoes = started.sink.messages.map(({ raw }) => echoOf({ ...sent, raw }))
  const filed = []
  for (const raw of echoes) filed.push((await importMail(desk.admin, desk.mailbox_id, raw)).outcome)
  expect(filed.map((outcome) => outcome === 'own')).toEqual([false, false, true, true, true])
})

test('mail of ours that comes back is dropped after its ticket is deleted, too', async () => {
  const sent = await resolve()
  await desk.agent.delete(`/tickets/${sent.ticket_id}`)
  expect(await importMail(desk.admin, desk.mailbox_id, echoOf(sent))).toMatchObject({ outcome: 'own' })
})

/** Values of the Reply-To in mail that others wrote. */
const OTHERS: [string, (sent: Sent) => string | undefined | Promise<string>][] = [
  ['nothing', () => undefined],
  ['their own address', () => CONTACT],
  ['our mailbox', () => desk.address],
  ['a name that is our address', ({ tagged }) => `"${tagged}" <${CONTACT}>`],
  ['a forged tag', ({ tagged }) => tagged.replace(/.(?=@)/, (digit) => (digit === '0' ? '1' : '0'))],
  ['the tag of a ticket that is not there', () => replyAddress(desk.address, newId())],
  ['the tag of another organization', async () => (await resolve(await started.createDesk())).tagged],
]

test.each(OTHERS)('an answer that has %s in its Reply-To reopens the ticket', async (_, replyTo) => {
  const sent = await resolve()
  const fields = { Reply_To: await replyTo(sent), In_Reply_To: `<${sent.email_message_id}>`, To: sent.tagged }
  const row = await importMail(desk.admin, desk.mailbox_id, mailOf(fields))
  expect(row).toMatchObject({ outcome: 'message', rule: 'in_reply_to', ticket_id: sent.ticket_id })
  expect((await readTicket(desk.agent, sent.ticket_id)).status).toBe('open')
})

test('mail of another organization of the service opens a ticket and threads, under whatever id it comes', async () => {
  const other = await started.createDesk()
  const theirs = await resolve(other, desk.address)
  const row = await importMail(desk.admin, desk.mailbox_id, echoOf(theirs))
  expect(row).toMatchObject({ outcome: 'ticket', from: { email: other.address } })
  const mine = await resolve()
  const answer = echoOf(theirs, { In_Reply_To: `<${mine.email_message_id}>` })
  expect(await importMail(desk.admin, desk.mailbox_id, answer)).toMatchObject({
    outcome: 'message',
    ticket_id: mine.ticket_id,
  })
})

test('who forwards our mail as an attachment, or quotes its header, writes mail of their own', async () => {
  const sent = await resolve()
  const original = Buffer.from(sent.raw).toString('latin1')
  const bodies: [string, string][] = [
    ['multipart/mixed; boundary=x', `--x\n\nSee there.\n--x\nContent-Type: message/rfc822\n\n${original}\n--x--`],
    ['text/plain', `See there.\n\n${original.slice(0, original.indexOf('\r\n\r\n'))}`],
  ]
  for (const [Content_Type, body] of bodies) {
    const fields = { From: CONTACT, To: sent.tagged, Message_ID: `<${newId()}@customer.example>`, Content_Type }
    const row = await importMail(desk.admin, desk.mailbox_id, rawMail(fields, body))
    expect(row).toMatchObject({ outcome: 'message', rule: 'reply_tag', ticket_id: sent.ticket_id })
  }
})

test('a report that has the Reply-To of the message that it is about is a report', async () => {
  const sent = await resolve()
  const fields = {
    From: 'MAILER-DAEMON@mx.example',
    Reply_To: sent.tagged,
    Subject: 'Undelivered Mail Returned to Sender',
    In_Reply_To: `<${sent.email_message_id}>`,
    Content_Type: 'multipart/report; report-type=delivery-status; boundary=x',
  }
  const status = `Final-Recipient: rfc822; ${CONTACT}\nAction: failed\nStatus: 5.1.1\n`
  const raw = rawMail(fields, `--x\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\n${status}\n--x--`)
  await deliver(started.port, { from: '', to: desk.address, raw })
  expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'bounce', ticket_id: sent.ticket_id })
})
