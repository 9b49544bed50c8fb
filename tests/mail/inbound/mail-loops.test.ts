/**
 * Mail loops (RFC 3834). The service sends only mail that a person wrote. So any machine may answer it, forward it or
 * send it back: an answer of an agent is one mail, and the exchange ends.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { simpleParser } from 'mailparser'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { createDatabase } from '../../support/database'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { createMessage, hearEvents, writtenEvents } from '../../support/factories'
import { deliver, drain, importMail, ledgerOf, rawMail, readTicket } from '../../support/mail'
import { type Service, startService, until } from '../../support/service'
import type { ReceivedMail } from '../../support/smtp'

const CONTACT = 'carla@customer.example'
let started: StartedDesk
let desk: Desk

beforeAll(async () => {
  started = await startDesk()
})
beforeEach(async () => {
  desk = await started.createDesk()
})
afterAll(() => started.stop())

type Fields = Record<string, string | undefined>

async function openTicket(from = CONTACT, fields: Fields = {}): Promise<string> {
  const mail = { From: from, To: desk.address, Subject: 'Printer', Message_ID: `<${newId()}@customer.example>` }
  return (await importMail(desk.admin, desk.mailbox_id, rawMail({ ...mail, ...fields }))).ticket_id
}

/** The answer of a machine to a mail; nothing when it is silent. */
type Machine = (mail: ReceivedMail) => Promise<{ from?: string; raw: Uint8Array } | undefined>

/** Sends what waits and lets mail flow until it rests. @returns how many mails of ours there were */
async function settle(machine: Machine): Promise<number> {
  started.sink.messages.length = 0
  for (let answered = 0; answered < 20; answered++) {
    await drain()
    const mail = started.sink.messages[answered]
    if (!mail) return answered
    const answer = await machine(mail)
    if (answer) await deliver(started.port, { to: desk.address, ...answer })
  }
  throw new Error('the mail does not come to rest')
}

/** Answers every mail, with these headers. */
function responder(fields: Fields = {}, envelope_sender = CONTACT): Machine {
  return async ({ raw }) => {
    const { messageId, subject, replyTo, from } = await simpleParser(raw)
    const header = {
      From: CONTACT,
      To: (replyTo ?? from)!.value[0]!.address,
      Subject: `Re: ${subject}`,
      Message_ID: `<${newId()}@customer.example>`,
      In_Reply_To: messageId,
    }
    return { from: envelope_sender, raw: rawMail({ ...header, ...fields }, 'We got your message.') }
  }
}

/** Counts everything except mail that waits to be sent. */
async function countMail() {
  const [row] = await connection().sql<{ inbound: number; outbound: number; notes: number; waiting: number }[]>`
    select count(*) filter (where direction = 'inbound') as inbound,
      count(*) filter (where direction = 'outbound') as outbound, count(*) filter (where is_internal) as notes,
      (select count(*) from outbox where organization_id = ${desk.id}) as waiting
    from messages where organization_id = ${desk.id}`
  return { ...row! }
}

const AUTOMATIC: [string, Fields][] = [
  ['Auto-Submitted', { Auto_Submitted: 'auto-replied' }],
  ['Auto-Submitted with a parameter', { Auto_Submitted: 'auto-replied (vacation); owner=x' }],
  ['a notification', { Auto_Submitted: 'auto-generated' }],
  ['X-Autoreply', { X_Autoreply: 'yes' }],
  ['X-Autorespond', { X_Autorespond: 'Away' }],
  ['a rule of Exchange', { X_MS_Exchange_Inbox_Rules_Loop: 'x@customer.example', X_Auto_Response_Suppress: 'All' }],
  ['Precedence', { Precedence: 'auto_reply' }],
  ['mass mail', { Precedence: 'bulk', List_Unsubscribe: '<https://lists.example/>' }],
  ['its subject alone', { Subject: 'Out of Office: Printer' }],
  ['a read receipt', { Content_Type: 'multipart/report; report-type=disposition-notification; boundary=b' }],
]

test('automatic mail is marked, reopens nothing and is not answered, however it says what it is', async () => {
  const ticket_id = await openTicket()
  await createMessage(desk.agent, ticket_id)
  expect(await settle(async () => undefined)).toBe(1)
  await desk.agent.patch(`/tickets/${ticket_id}`, { status: 'resolved' })
  const [mail] = started.sink.messages
  for (const [, fields] of AUTOMATIC) {
    await deliver(started.port, { to: desk.address, ...(await responder(fields)(mail!))! })
  }
  const ticket = await readTicket(desk.agent, ticket_id)
  expect(ticket.status).toBe('resolved')
  const marked = ticket.messages.slice(2).map((one: { auto_reply: boolean }) => one.auto_reply)
  const names = AUTOMATIC.map(([name]) => name)
  expect(names.filter((_, index) => !marked[index])).toEqual([])
  expect(await countMail()).toEqual({ inbound: 1 + names.length, outbound: 1, notes: 0, waiting: 0 })
})

test('automatic mail of somebody new becomes a ticket that nobody is told of by email', async () => {
  const ticket_id = await openTicket('monitor@customer.example', { Auto_Submitted: 'auto-generated' })
  expect(await settle(responder())).toBe(0)
  expect((await readTicket(desk.agent, ticket_id)).messages[0].auto_reply).toBe(true)
  expect(await countMail()).toEqual({ inbound: 1, outbound: 0, notes: 0, waiting: 0 })
})

test.each([
  ['as the null sender', { Auto_Submitted: 'auto-replied' }, ''],
  ['and marks its answers', { Auto_Submitted: 'auto-replied' }, CONTACT],
  ['and marks nothing', {}, CONTACT],
])('who answers every mail of ours %s gets one mail for each that an agent wrote', async (_, fields, sender) => {
  const ticket_id = await openTicket()
  for (let round = 1; round <= 3; round++) {
    await createMessage(desk.agent, ticket_id)
    expect(await settle(responder(fields, sender))).toBe(1)
  }
  expect(await countMail()).toEqual({ inbound: 4, outbound: 3, notes: 0, waiting: 0 })
  expect((await desk.agent.get('/tickets')).body.meta.total).toBe(1)
})

test('a responder that hides what it is reopens a ticket once for each mail of ours, and events are as many', async () => {
  const ticket_id = await openTicket()
  await createMessage(desk.agent, ticket_id)
  await settle(async () => undefined)
  await desk.agent.patch(`/tickets/${ticket_id}`, { status: 'resolved' })
  await hearEvents(desk.scope)
  const machine = responder()
  for (let round = 0; round < 5; round++) {
    await deliver(started.port, { to: desk.address, ...(await machine(started.sink.messages[0]!))! })
  }
  expect(started.sink.messages).toHaveLength(1)
  const events = (await writtenEvents(desk.scope)).map(({ event }) => event)
  expect(events.filter((event) => event === 'ticket.status_changed')).toHaveLength(1)
  expect(events.filter((event) => event === 'message.created')).toHaveLength(5)
  expect(events).toHaveLength(7)
  expect((await readTicket(desk.agent, ticket_id)).messages).toHaveLength(7)
})

test('a server that bounces every mail gets no answer to its reports', async () => {
  const ticket_id = await openTicket()
  const machine: Machine = async ({ raw }) => {
    const { messageId } = await simpleParser(raw)
    const header = { From: 'MAILER-DAEMON@mx.example', Subject: 'Undelivered', Message_ID: `<${newId()}@mx.example>` }
    return { from: '', raw: rawMail({ ...header, In_Reply_To: messageId }) }
  }
  await createMessage(desk.agent, ticket_id)
  expect(await settle(machine)).toBe(1)
  expect(await countMail()).toEqual({ inbound: 1, outbound: 1, notes: 1, waiting: 0 })
})

test('mail of ours that is forwarded back is dropped, also when a relay changed its id', async () => {
  const ticket_id = await openTicket()
  await createMessage(desk.agent, ticket_id)
  const given = `${newId()}@AM0.eurprd01.prod.outlook.com`
  started.sink.answer(({ stage }) =>
    stage === 'data' ? `250 2.0.0 OK <${given}> [Hostname=AM0.prod.outlook.com]` : undefined,
  )
  const { body } = await createMessage(desk.agent, ticket_id)
  expect(await settle(async ({ raw }) => ({ raw: Buffer.concat([Buffer.from('Received: by x\r\n'), raw]) }))).toBe(2)
  started.sink.answer()
  const rewritten = rawMail({ From: desk.address, Subject: 'Re: Printer', Message_ID: `<${given}>` }, body)
  await deliver(started.port, { to: desk.address, raw: rewritten })
  expect((await ledgerOf(desk)).map(({ outcome }: { outcome: string }) => outcome)).toEqual([
    'own',
    'own',
    'own',
    'ticket',
  ])
  expect(await countMail()).toEqual({ inbound: 1, outbound: 2, notes: 0, waiting: 0 })
})

test('a mailbox that forwards to itself files a mail once', async () => {
  const raw = rawMail({ From: CONTACT, To: desk.address, Subject: 'Printer', Message_ID: `<${newId()}@x.example>` })
  for (let hop = 0; hop < 4; hop++) {
    const hops = Array.from({ length: hop }, (_, index) => `Received: from hop${index}.example\r\n`).join('')
    await deliver(started.port, { to: desk.address, raw: Buffer.concat([Buffer.from(hops), raw]) })
  }
  expect((await desk.agent.get('/tickets')).body.meta.total).toBe(1)
  expect(await countMail()).toEqual({ inbound: 1, outbound: 0, notes: 0, waiting: 0 })
})

test('a conversation of a mailbox with itself does not begin: its mail has no contact who could be answered', async () => {
  const ticket_id = await openTicket(desk.address)
  await createMessage(desk.agent, ticket_id)
  expect(await settle(async ({ raw }) => ({ raw }))).toBe(0)
  expect(await countMail()).toEqual({ inbound: 1, outbound: 1, notes: 0, waiting: 0 })
})

test('mail of ours comes to rest at a forwarder that gives every mail a new id', async () => {
  const ticket_id = await openTicket()
  await createMessage(desk.agent, ticket_id)
  const forward: Machine = async ({ raw }) => ({
    raw: Buffer.from(raw.toString('latin1').replace(/^Message-ID:.*/im, `Message-ID: <${newId()}@forwarder.example>`)),
  })
  expect(await settle(forward)).toBe(1)
  expect((await ledgerOf(desk))[0].outcome).toBe('own')
  expect(await countMail()).toEqual({ inbound: 1, outbound: 1, notes: 0, waiting: 0 })
})

test('mail that an agent wrote does not pass for automatic mail', async () => {
  const ticket_id = await openTicket()
  await createMessage(desk.agent, ticket_id)
  await settle(async () => undefined)
  const { headers } = await simpleParser(started.sink.messages[0]!.raw)
  expect(['auto-submitted', 'precedence', 'x-autoreply'].filter((name) => headers.has(name))).toEqual([])
})

test('two installations that write to each other keep one ticket each, and come to rest', async () => {
  const names = ['one', 'two'] as const
  const databases = await Promise.all(names.map(createDatabase))
  const services = await Promise.all(
    names.map((name, index) =>
      startService({ DATABASE_URL: databases[index]!.url, SECRET_KEY: `the secret key of installation ${name}` }),
    ),
  )
  try {
    const [one, two] = services as [Service, Service]
    const smtpOf = ({ smtp_port }: Service) => ({ host: '127.0.0.1', port: smtp_port, security: 'none' })
    await one.call('POST', '/mailboxes', { address: 'help@one.example', smtp: smtpOf(two) })
    await two.call('POST', '/mailboxes', { address: 'help@two.example', smtp: smtpOf(one) })
    const contact = await one.call('POST', '/contacts', { name: 'Two', email: 'help@two.example' })
    const ticket = await one.call('POST', '/tickets', { subject: 'Order', contact_id: contact.body.data.id })
    const mine = ticket.body.data.id
    await answer(one, mine)
    const [first] = await filed(two, 1)
    expect(first).toMatchObject({ outcome: 'ticket', from: { email: 'help@one.example' } })
    for (let round = 1; round <= 2; round++) {
      await answer(two, first.ticket_id)
      expect((await filed(one, round))[0]).toMatchObject({ rule: 'in_reply_to', ticket_id: mine })
      await answer(one, mine)
      expect((await filed(two, round + 1))[0]).toMatchObject({ rule: 'in_reply_to', ticket_id: first.ticket_id })
    }
    for (const service of services) expect((await service.call('GET', '/tickets')).body.meta.total).toBe(1)
    expect([(await filed(one, 2)).length, (await filed(two, 3)).length]).toEqual([2, 3])
  } finally {
    await Promise.all(services.map((service) => service.stop()))
    await Promise.all(databases.map((database) => database.drop()))
  }
})

async function answer(service: Service, ticket_id: string): Promise<void> {
  const { body } = await service.call('POST', `/tickets/${ticket_id}/messages`, { body: 'Next' })
  expect(body.data).toMatchObject({ email_sent: true })
}

/** The ledger, newest first, once so many rows of it are filed. */
async function filed(service: Service, count: number) {
  const read = async () => (await service.call('GET', '/inbound-messages')).body.data
  await until(`${count} messages are filed`, async () => {
    const rows = await read()
    return rows.length >= count && rows.every(({ outcome }: { outcome: string }) => outcome !== 'pending')
  })
  return read()
}
