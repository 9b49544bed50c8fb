/** Answers that leave by email: their content, their recipients, the outcome that is recorded, and new attempts. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { simpleParser } from 'mailparser'
import { config } from '../../../src/base/config'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { replyAddress } from '../../../src/desk/messages/anchors'
import { createOrganization } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { activityOf, createContact, createMessage, createTicket, formOf, uploadFile } from '../../support/factories'
import {
  createMailbox,
  deliver,
  drain,
  importMail,
  keepDraining,
  ledgerOf,
  rawMail,
  readTicket,
} from '../../support/mail'
import { type ChangedSettings, withSettings } from '../../support/settings'
import { type SmtpSink, startSmtpSink } from '../../support/smtp'

let desk: StartedDesk
let sink: SmtpSink
let secure: SmtpSink
let settings: ChangedSettings

beforeAll(async () => {
  desk = await startDesk({ address: 'default@desk.example', name: 'Default' })
  sink = desk.sink
  secure = await startSmtpSink({ tls: 'starttls', auth: { user: 'desk', pass: 'desk password' } })
  const MAIL_CA_FILE = path.join(tmpdir(), `mail-ca-${newId()}.pem`)
  writeFileSync(MAIL_CA_FILE, secure.ca)
  settings = withSettings({ MAIL_CA_FILE })
})
beforeEach(() => {
  sink.answer()
  sink.messages.length = 0
})
afterAll(async () => {
  settings.restore()
  secure[Symbol.dispose]()
  await desk.stop()
})

/** A ticket that came in by email. */
async function arrive(mailbox: { id: string }, fields: Record<string, string> = {}) {
  const mail = {
    From: 'Carla <carla@customer.example>',
    Subject: 'Printer',
    Message_ID: `<${newId()}@customer.example>`,
  }
  const row = await importMail(desk.admin, mailbox.id, rawMail({ ...mail, ...fields }))
  return readTicket(desk.agent, row.ticket_id)
}

/** Answers, sends what waits, gives the message as it is then. */
async function answer(ticket_id: string, fields: Record<string, unknown> = {}) {
  const { id } = await createMessage(desk.agent, ticket_id, fields)
  await drain()
  return readMessage(ticket_id, id)
}

async function readMessage(ticket_id: string, id: string) {
  return (await desk.agent.get(`/tickets/${ticket_id}/messages/${id}`)).body.data
}

async function lastMail() {
  const { raw, ...envelope } = sink.messages.at(-1)!
  return { raw: raw.toString(), envelope, mail: await simpleParser(raw) }
}

async function outboxRow(id: string) {
  const [row] = await connection().sql<{ attempts: number; delay_s: number }[]>`
    select attempts, extract(epoch from run_at - now())::float8 as delay_s from outbox where id = ${id}`
  return row
}

async function makeDue(): Promise<void> {
  await connection().sql`update outbox set run_at = now() where kind = 'email'`
}

test('the name in From is made of who answers and of the mailbox, as its template says', async () => {
  const from_name = '{{user.name}}, {{mailbox.name}} ({{ organization.name }})'
  const mailbox = await createMailbox(desk.admin, { name: 'Help', smtp: smtpTo(sink), from_name })
  const path = `/mailboxes/${mailbox.id}`
  const ticket = await arrive(mailbox)
  const organization = (await desk.admin.get('/organization')).body.data.name
  const shown = async () => (await desk.agent.get(`/tickets/${ticket.id}/recipients`)).body.data.from.name
  const sent = async () => (await lastMail()).mail.from!.value[0]
  await answer(ticket.id)
  const name = `Alan Agent, Help (${organization})`
  expect([await shown(), await sent()]).toEqual([name, { name, address: mailbox.address }])
  const client = await createProgram(desk.admin, ['tickets:read', 'messages:read', 'messages:write'], {
    name: 'Robot "R"',
  })
  await createMessage(client, ticket.id)
  await drain()
  expect((await sent())!.name).toBe(`Robot "R", Help (${organization})`)
  for (const wrong of ['{{ticket.code}}', '{{user.email}}', 'Two\r\nBcc: eve@evil.example', 'x'.repeat(256)]) {
    const refused = await desk.admin.patch(path, { from_name: wrong })
    expect([refused.status, refused.body.error.details.errors[0].path]).toEqual([422, '/from_name'])
  }
  for (const [given, expected] of [
    ['{{user.name}}', 'Alan Agent'],
    [' ', 'Help'],
    [null, 'Help'],
  ]) {
    expect((await desk.admin.patch(path, { from_name: given })).body.data.from_name).toBe(given?.trim() || null)
    await answer(ticket.id)
    expect([await shown(), (await sent())!.name]).toEqual([expected!, expected!])
  }
})

test('an answer carries the headers of its conversation and both forms of its text', async () => {
  const mailbox = await createMailbox(desk.admin, { name: 'Help', smtp: smtpTo(sink) })
  const ticket = await arrive(mailbox, { Subject: 'RE: re: Printer', Message_ID: '<first@customer.example>' })
  const first = await answer(ticket.id, { body: 'Try <b>water</b>' })
  expect(first).toMatchObject({ email_sent: true, email_status: 'sent', email_error: null, direction: 'outbound' })
  const { mail, envelope } = await lastMail()
  expect(envelope).toMatchObject({ from: mailbox.address, to: ['carla@customer.example'] })
  expect(mail.from!.value[0]).toMatchObject({ name: 'Help', address: mailbox.address })
  expect(mail.subject).toBe(`Re: Printer [${ticket.code}]`)
  expect(mail.messageId).toBe(`<${first.email_message_id}>`)
  expect(mail.inReplyTo).toBe('<first@customer.example>')
  expect(mail.replyTo!.text).toBe(replyAddress(mailbox.address, ticket.id))
  expect(mail.text!.trim()).toBe('Try water')
  expect(mail.html).toContain('<b>water</b>')
  expect(mail.headers.get('content-type')).toMatchObject({ value: 'multipart/alternative' })
  expect(mail.headers.has('bcc')).toBe(false)

  await answer(ticket.id)
  const second = await lastMail()
  expect(second.mail.inReplyTo).toBe(`<${first.email_message_id}>`)
  expect(second.mail.references).toEqual(['<first@customer.example>', `<${first.email_message_id}>`])
  const types = (await activityOf(desk.scope, ticket.id)).filter(({ type }) => type === 'email_sent')
  expect(types[0]!.data).toEqual({ message_id: first.id, recipients: ['carla@customer.example'] })
})

test('without plus addressing there is no Reply-To', async () => {
  const mailbox = await createMailbox(desk.admin, { smtp: smtpTo(sink), plus_addressing: false })
  await answer((await arrive(mailbox)).id)
  expect((await lastMail()).mail.replyTo).toBeUndefined()
})

test('a conversation that no mailbox received, or one that cannot send, is answered from the default one', async () => {
  await answer((await createTicket(desk.agent)).id)
  expect((await lastMail()).envelope.from).toBe('default@desk.example')
  await answer((await arrive(await createMailbox(desk.admin))).id)
  expect((await lastMail()).envelope.from).toBe('default@desk.example')
})

test('attachments go along, and images that the text shows are inline', async () => {
  const ticket = await createTicket(desk.agent)
  const png = new Uint8Array(Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'))
  const { data: image } = (await desk.agent.post('/attachments', formOf(png, 'fire.png', 'image/png'))).body
  const file = await uploadFile(desk.agent, 'hello', 'Bericht ü.txt')
  const body = `<p>See <img src="${image.url}" alt="fire"></p>`
  await answer(ticket.id, { body, attachment_ids: [image.id, file.id] })
  const { mail, raw } = await lastMail()
  expect(raw).toContain('multipart/related')
  const inline = mail.attachments.find(({ contentDisposition }) => contentDisposition === 'inline')
  expect(inline).toMatchObject({ filename: 'fire.png', contentType: 'image/png' })
  expect(Buffer.from(inline!.content).equals(png)).toBe(true)
  expect(raw.replace(/=\r\n/g, '')).toContain(`cid:${inline!.contentId!.slice(1, -1)}`)
  const other = mail.attachments.find((one) => one !== inline)
  expect(other).toMatchObject({ filename: 'Bericht ü.txt', contentDisposition: 'attachment' })
  expect(other!.content.toString()).toBe('hello')
})

test('a mailbox signs in to its server after STARTTLS', async () => {
  const smtp = smtpTo(secure, { host: 'localhost', security: 'starttls', username: 'desk', password: 'desk password' })
  const mailbox = await createMailbox(desk.admin, { smtp })
  expect(await answer((await arrive(mailbox)).id)).toMatchObject({ email_status: 'sent' })
  expect(secure.messages.at(-1)).toMatchObject({ tls: true, user: 'desk', from: mailbox.address })
})

test('a recipient of an international domain gets the message once', async () => {
  const contact = await createContact(desk.agent, { email: `carla.${newId().slice(-8)}@bücher.example` })
  const ticket = await createTicket(desk.agent, { contact_id: contact.id })
  const message = await answer(ticket.id)
  expect(message).toMatchObject({ email_status: 'sent', email_recipients: [{ email: contact.email, status: 'sent' }] })
  expect(await outboxRow(message.id)).toBeUndefined()
})

test('a 4xx answer is tried again by the schedule, with the same Message-ID', async () => {
  const ticket = await createTicket(desk.agent)
  sink.answer(({ stage }) => (stage === 'data' ? '451 4.7.1 Later' : undefined))
  const message = await answer(ticket.id)
  expect(message).toMatchObject({
    email_sent: false,
    email_status: 'queued',
    email_error: expect.stringContaining('451'),
  })
  const row = await outboxRow(message.id)
  expect(row!.attempts).toBe(1)
  expect(row!.delay_s).toBeWithin(50, 67)
  await drain()
  expect(sink.messages).toHaveLength(0)
  sink.answer()
  await makeDue()
  await drain()
  expect(await readMessage(ticket.id, message.id)).toMatchObject({
    email_sent: true,
    email_status: 'sent',
    email_error: null,
  })
  expect((await lastMail()).mail.messageId).toBe(`<${message.email_message_id}>`)
})

test('a 5xx answer is final', async () => {
  const ticket = await createTicket(desk.agent)
  sink.answer(({ stage }) => (stage === 'data' ? '554 5.7.1 No thanks' : undefined))
  const message = await answer(ticket.id)
  expect(message).toMatchObject({
    email_sent: false,
    email_status: 'failed',
    email_error: expect.stringContaining('554 5.7.1 No thanks'),
    email_recipients: [{ status: 'failed', error: expect.stringContaining('554') }],
  })
  expect(await outboxRow(message.id)).toBeUndefined()
  expect((await activityOf(desk.scope, ticket.id)).at(-1)).toMatchObject({ type: 'email_failed' })
})

test('a refused recipient does not stop the others, and a later attempt goes only to those who wait', async () => {
  const contact = await createContact(desk.agent)
  const ticket = await createTicket(desk.agent, { contact_id: contact.id })
  const cc = ['never@customer.example', 'later@customer.example']
  sink.answer(({ stage, address }) => {
    if (stage !== 'rcpt') return undefined
    if (address === cc[0]) return '550 5.1.1 No such user'
    return address === cc[1] ? '450 4.2.1 Later' : undefined
  })
  const message = await answer(ticket.id, { cc })
  expect(message).toMatchObject({
    email_sent: true,
    email_status: 'sent',
    email_recipients: [
      { email: contact.email, status: 'sent', error: null },
      { email: cc[0], status: 'failed', error: expect.stringContaining('550 5.1.1') },
      { email: cc[1], status: 'queued', error: expect.stringContaining('450 4.2.1') },
    ],
  })
  expect((await lastMail()).envelope.to).toEqual([contact.email])
  sink.answer()
  await makeDue()
  await drain()
  const { mail, envelope } = await lastMail()
  expect(sink.messages).toHaveLength(2)
  expect(envelope.to).toEqual([cc[1]!])
  expect(mail.messageId).toBe(`<${message.email_message_id}>`)
  expect([mail.to, mail.cc].flat().map((one) => one?.text)).toEqual([
    expect.stringContaining(contact.email),
    cc.join(', '),
  ])
  const after = await readMessage(ticket.id, message.id)
  expect(after.email_recipients.map(({ status }: { status: string }) => status)).toEqual(['sent', 'failed', 'sent'])
})

test('a message that is put off is tried again until the attempts are used up', async () => {
  const ticket = await createTicket(desk.agent)
  sink.answer(({ stage }) => (stage === 'rcpt' ? '450 4.2.0 Greylisted' : undefined))
  const message = await answer(ticket.id)
  expect(message).toMatchObject({ email_status: 'queued', email_error: '450 4.2.0 Greylisted' })
  for (let attempt = 2; attempt <= config.RETRY_SCHEDULE_SECONDS.length; attempt++) {
    expect((await outboxRow(message.id))!.attempts).toBe(attempt - 1)
    await makeDue()
    await drain()
  }
  expect(await readMessage(ticket.id, message.id)).toMatchObject({
    email_sent: false,
    email_status: 'failed',
    email_error: '450 4.2.0 Greylisted',
  })
  expect(await outboxRow(message.id)).toBeUndefined()
  expect((await activityOf(desk.scope, ticket.id)).filter(({ type }) => type === 'email_failed')).toHaveLength(1)
})

test('nothing is sent of a message or ticket that was deleted before', async () => {
  const [first, second] = [await createTicket(desk.agent), await createTicket(desk.agent)]
  const message = await createMessage(desk.agent, first.id)
  await desk.agent.delete(`/tickets/${first.id}/messages/${message.id}`)
  await createMessage(desk.agent, second.id)
  await desk.agent.delete(`/tickets/${second.id}`)
  await drain()
  expect(sink.messages).toHaveLength(0)
})

test('an email whose mailbox is switched off waits for it', async () => {
  const mailbox = await createMailbox(desk.admin, { smtp: smtpTo(sink) })
  const ticket = await arrive(mailbox)
  const message = await createMessage(desk.agent, ticket.id)
  await desk.admin.patch(`/mailboxes/${mailbox.id}`, { active: false })
  await drain()
  expect(await readMessage(ticket.id, message.id)).toMatchObject({
    email_status: 'queued',
    email_error: expect.stringContaining('switched off'),
  })
  await desk.admin.patch(`/mailboxes/${mailbox.id}`, { active: true })
  await makeDue()
  await drain()
  expect(await readMessage(ticket.id, message.id)).toMatchObject({ email_status: 'sent', email_error: null })
})

test('an email whose mailbox went fails and says so', async () => {
  const mailbox = await createMailbox(desk.admin, { smtp: smtpTo(sink) })
  const ticket = await arrive(mailbox)
  const message = await createMessage(desk.agent, ticket.id)
  await desk.admin.delete(`/mailboxes/${mailbox.id}`)
  await drain()
  expect(await readMessage(ticket.id, message.id)).toMatchObject({
    email_status: 'failed',
    email_error: expect.stringContaining('removed'),
  })
})

test('a message create waits for its first attempt, as long as the setting says', async () => {
  const ticket = await createTicket(desk.agent)
  using _patient = withSettings({ EMAIL_INLINE_WAIT_MS: 20_000 })
  await using _ = keepDraining()
  expect(await createMessage(desk.agent, ticket.id)).toMatchObject({ email_sent: true, email_status: 'sent' })
  sink.answer(({ stage }) => (stage === 'mail' ? '550 5.7.1 Not from you' : undefined))
  expect(await createMessage(desk.agent, ticket.id)).toMatchObject({ email_sent: false, email_status: 'failed' })
  const { promise: held, resolve: release } = Promise.withResolvers<undefined>()
  sink.answer(({ stage }) => (stage === 'data' ? held : undefined))
  using _hurried = withSettings({ EMAIL_INLINE_WAIT_MS: 1 })
  const message = await createMessage(desk.agent, ticket.id)
  expect(message).toMatchObject({ email_sent: false, email_status: 'queued' })
  release(undefined)
  await sink.waitFor(2)
  while ((await readMessage(ticket.id, message.id)).email_status !== 'sent') await Bun.sleep(20)
})

test('the Message-ID that a relay gave in place of ours leads to the ticket for its contact, and is our own', async () => {
  const mailbox = await createMailbox(desk.admin, { smtp: smtpTo(sink) })
  const ticket = await arrive(mailbox)
  const given = `${newId()}@AM0.eurprd01.prod.outlook.com`
  sink.answer(({ stage }) =>
    stage === 'data' ? `250 2.0.0 OK <${given}> [Hostname=AM0.eurprd01.prod.outlook.com]` : undefined,
  )
  await answer(ticket.id)
  const file = (From: string, fields: Record<string, string>) =>
    importMail(desk.admin, mailbox.id, rawMail({ From, Subject: 'x', Message_ID: `<${newId()}@x.example>`, ...fields }))
  expect(await file('carla@customer.example', { In_Reply_To: `<${given}>` })).toMatchObject({ ticket_id: ticket.id })
  expect(await file(`eve@${newId()}.example`, { In_Reply_To: `<${given}>` })).toMatchObject({ outcome: 'ticket' })
  const { mail } = await lastMail()
  const copy = { From: 'carla@customer.example', Subject: 'x', Message_ID: `<${given}>` }
  expect(await importMail(desk.admin, mailbox.id, rawMail(copy, mail.text!))).toMatchObject({ outcome: 'own' })
})

test('two organizations that write to each other keep one ticket each, and automatic answers come to rest', async () => {
  const other = await createOrganization('Supplier')
  const smtp = { smtp: smtpTo(desk) }
  const mine = await createMailbox(desk.admin, { address: `help.${newId()}@desk.example`, ...smtp })
  const theirs = await createMailbox(other.admin, { address: `help.${newId()}@supplier.example`, ...smtp })
  const contact = await createContact(desk.agent, { email: theirs.address })
  const mail = { From: theirs.address, To: mine.address, Subject: 'Order', Message_ID: `<${newId()}@supplier.example>` }
  await deliver(desk.port, { to: mine.address, raw: rawMail(mail) })
  const [row] = await ledgerOf(desk)
  for (let round = 0; round < 3; round++) {
    await createMessage(desk.agent, row.ticket_id, { body: `Round ${round}` })
    await sendAndFile()
    const [arrived] = await ledgerOf(other)
    expect(arrived).toMatchObject(round === 0 ? { outcome: 'ticket' } : { outcome: 'message', rule: 'in_reply_to' })
    await createMessage(other.agent, arrived.ticket_id, { body: `Answer ${round}` })
    await sendAndFile()
    expect((await ledgerOf(desk))[0]).toMatchObject({
      outcome: 'message',
      rule: 'in_reply_to',
      ticket_id: row.ticket_id,
    })
  }
  const away = { ...mail, Message_ID: `<${newId()}@supplier.example>`, Auto_Submitted: 'auto-replied', Subject: 'Away' }
  const [before] = await counts()
  await deliver(desk.port, { to: mine.address, raw: rawMail(away) })
  await drain()
  expect(await counts()).toEqual([{ ledger: before!.ledger + 1, emails: before!.emails, waiting: 0 }])
  expect((await readTicket(desk.agent, row.ticket_id)).messages).toHaveLength(7)
  expect((await other.agent.get('/tickets')).body.meta.total).toBe(1)
  expect((await desk.agent.get(`/tickets?contact_id=${contact.id}`)).body.meta.total).toBe(2)
})

/** The first run sends mail, the second one files it. */
async function sendAndFile(): Promise<void> {
  await drain()
  await drain()
}

async function counts() {
  const rows = await connection().sql<{ ledger: number; emails: number; waiting: number }[]>`
    select (select count(*) from inbound_messages) as ledger,
      (select count(*) from messages where direction = 'outbound') as emails,
      (select count(*) from outbox where run_at <= now()) as waiting`
  return [...rows]
}
