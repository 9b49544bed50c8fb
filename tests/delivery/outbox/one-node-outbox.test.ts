/**
 * Mail and webhooks, from their arrival to what became of them. On a cluster (CITUS_URL) each statement is answered by
 * one node, except the question which organizations have due work. Citus tells of the others by a notice, not by an
 * error as in `one-node-writes.test.ts`, because that question runs on the same connections.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { closeDatabase, connectDatabase, connection } from '../../../src/base/db/pool'
import { EVENTS } from '../../../src/base/db/schema'
import { bounceAddress } from '../../../src/desk/messages/anchors'
import type { Client } from '../../support/api'
import { nodeUrls } from '../../support/cluster'
import { type Desk, NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { createMessage, createTicket } from '../../support/factories'
import { deliver, drain, fileAsSet, ledgerOf, rawMail } from '../../support/mail'
import type { Receiver } from '../../support/receiver'
import { withSettings } from '../../support/settings'
import { buildMail, sendInSession, startSession } from '../../support/smtp'
import { type StatementCounter, startStatementCounter } from '../../support/statement-counter'
import { createWebhook, deliveriesOf, makeDue, startTrustedReceiver, statusesOf } from '../../support/webhooks'

/** The server tries a plan for all values at the sixth execution on a connection. */
const ROUNDS = nodeUrls() ? 7 : 1
/** The questions of `due-lanes.ts`, and of `giveTurns` in `lane-faults.ts`. */
const ASKS_ALL =
  /from outbox\s.*group by organization_id, lane_id|from "lane_faults" t where \(\s+t\.try_at <= now\(\)/s

let desk: StartedDesk
let counter: StatementCounter
let receiver: Receiver

beforeAll(async () => {
  desk = await startDesk()
  receiver = await startTrustedReceiver()
  if (nodeUrls()) {
    const name = new URL(desk.database.url).pathname.slice(1)
    await connection().sql.unsafe(`alter database ${name} set citus.multi_task_query_log_level = 'notice'`)
  }
  counter = await startStatementCounter(desk.database.url)
  await closeDatabase()
  // One connection keeps the plans of all statements.
  connectDatabase(counter.url, 1)
})
afterAll(async () => {
  receiver[Symbol.dispose]()
  await desk.stop()
  counter.stop()
})

/** The statements of some work that several nodes answered. */
async function bySeveral(work: () => Promise<unknown>): Promise<string[]> {
  using _ = withSettings({ RETRY_SCHEDULE_SECONDS: [0, 60] })
  const { by_several } = await counter.during(async () => {
    for (let round = 0; round < ROUNDS; round++) await work()
  })
  if (nodeUrls()) expect(by_several.some((text) => ASKS_ALL.test(text))).toBe(true)
  return by_several.filter((text) => !ASKS_ALL.test(text))
}

const person = () => `person.${newId()}@customer.example`

function mailOf(at: Desk, From: string, fields: Record<string, string> = {}): Buffer {
  return rawMail({ From, To: at.address, Subject: 'Printer', Message_ID: `<${newId()}@customer.example>`, ...fields })
}

test('mail is filed by one node', async () => {
  const found = await bySeveral(async () => {
    const [at, other] = [await desk.createDesk(), await desk.createDesk()]
    await createWebhook(at.admin, { url: receiver.url, events: EVENTS })
    const from = person()
    const first = mailOf(at, from)
    for (const raw of [first, first]) await deliver(desk.port, { from, to: at.address, raw })
    await deliver(desk.port, { from, to: [at.address, other.address], raw: mailOf(at, from) })
    await deliver(desk.port, { from, to: at.address, raw: mailOf(at, from, { Auto_Submitted: 'auto-replied' }) })
    await deliver(desk.port, { to: at.address, raw: mailOf(at, at.agent.email) })
    const attachments = [{ filename: 'log.txt', content: 'log' }]
    const large = await buildMail({ from, to: at.address, subject: 'Files', text: 'See files', attachments })
    await deliver(desk.port, { from, to: at.address, raw: large })
    const session = await startSession(desk.port)
    for (const mail of [mailOf(at, from), mailOf(at, person()), large]) {
      expect((await sendInSession(session, { from, to: at.address, raw: mail })).code).toBe(250)
    }
    expect((await sendInSession(session, { from, to: `no.${at.address}`, raw: first })).code).toBe(550)
    session.destroy()
    await fileAsSet(at.id)
    const rows: { outcome: string }[] = await ledgerOf(at)
    expect([...new Set(rows.map(({ outcome }) => outcome))].sort()).toEqual(['duplicate', 'ticket'])
  })
  expect(found).toEqual([])
}, 600_000)

test('answers and letters leave, and replies and bounces come back, by one node', async () => {
  const found = await bySeveral(async () => {
    const at = await desk.createDesk({ smtp: smtpTo(desk.sink) })
    const { id: ticket_id, contact } = await createTicket(at.agent)
    desk.sink.answer(({ address, stage }) =>
      stage === 'rcpt' && address.startsWith('no.') ? '550 5.1.1 No' : undefined,
    )
    const sent = await answer(at, ticket_id, ['cc@customer.example', 'no.one@customer.example'])
    desk.sink.answer(({ stage }) => (stage === 'data' ? '451 4.3.0 Later' : undefined))
    await answer(at, ticket_id)
    desk.sink.answer()
    await makeDue(at.scope)
    await drain()
    const reply = mailOf(at, contact.email, { In_Reply_To: `<${sent.email_message_id}>` })
    await deliver(desk.port, { from: contact.email, to: at.address, raw: reply })
    const to = bounceAddress(at.address, sent.id)
    await deliver(desk.port, { from: '', to, raw: report(at, contact.email) })
    await at.admin.post('/users', { email: person(), name: 'Ivy' })
    await at.admin.post('/auth/password/forgot', { email: at.agent.email })
    await drain()
    await at.admin.patch(`/mailboxes/${at.mailbox_id}`, { smtp: smtpTo(NO_SERVER) })
    await answer(at, ticket_id)
    const statuses = (await at.agent.get(`/tickets/${ticket_id}/messages`)).body.data
    expect(statuses.map(({ email_status }: { email_status: string }) => email_status)).toContain('bounced')
  })
  expect(found).toEqual([])
}, 600_000)

async function answer({ agent }: Desk, ticket_id: string, cc: string[] = []) {
  const { id, email_message_id } = await createMessage(agent, ticket_id, { cc })
  await drain()
  return { id, email_message_id }
}

/** A delivery report (RFC 3464). */
function report(at: Desk, address: string): Buffer {
  const Content_Type = 'multipart/report; report-type=delivery-status; boundary=b'
  const status = `Final-Recipient: rfc822; ${address}\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 No`
  const part = `--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\n${status}\n\n--b--`
  return rawMail({ From: 'MAILER-DAEMON@mx.example', To: at.address, MIME_Version: '1.0', Content_Type }, part)
}

test('webhooks are delivered, tried again, held and set free by one node', async () => {
  const found = await bySeveral(async () => {
    const at = await desk.createDesk()
    const { id } = await createWebhook(at.admin, { url: receiver.url, events: EVENTS })
    await deliverWhile(at, 200)
    await deliverWhile(at, 500)
    await makeDue(at.scope)
    await drain()
    await deliverWhile(at, 410)
    for (const active of [false, true]) await at.admin.patch(`/webhooks/${id}`, { active })
    await deliverWhile(at, () => switchedOff(at.admin, id))
    await at.admin.patch(`/webhooks/${id}`, { active: true })
    const [first] = await deliveriesOf(at.admin, id)
    receiver.answer = 200
    await at.admin.post(`/webhooks/${id}/deliveries/${first.id}/retry`)
    await at.admin.post(`/webhooks/${id}/test`)
    await createTicket(at.agent)
    await drain()
    const statuses = new Set(await statusesOf(at.admin, id))
    expect([...statuses].sort()).toEqual(['cancelled', 'failed', 'success'])
    await createTicket(at.agent)
    await at.admin.delete(`/webhooks/${id}`)
    await drain()
  })
  expect(found).toEqual([])
}, 600_000)

/** Publishes events and sends them, while the receiver answers so. */
async function deliverWhile({ agent }: Desk, reply: Receiver['answer']): Promise<void> {
  receiver.answer = reply
  await createTicket(agent)
  await drain()
}

async function switchedOff(admin: Client, id: string): Promise<number> {
  await admin.patch(`/webhooks/${id}`, { active: false })
  return 500
}
