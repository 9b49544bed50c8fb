/** The whole job with real neighbours: Postfix relays to us, an SMTP server takes our answer, webhooks arrive. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { simpleParser } from 'mailparser'
import { startEmbedded } from '../../src/base/db/embedded/supervise'
import { urlOf } from '../support/database'
import { freePort } from '../support/ports'
import { type Relay, startRelay, whyNoRelay } from '../support/postfix'
import { type Receiver, startReceiver } from '../support/receiver'
import { type Service, startService, until } from '../support/service'
import { buildMail, type SmtpSink, sendMail, startSmtpSink } from '../support/smtp'

const reason = whyNoRelay()
if (reason) console.warn(`The relay test is skipped: ${reason}`)

const SECRET = 'a secret of webhooks'
const PDF = Buffer.from(`%PDF-1.4\n${'report '.repeat(5000)}`)
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const CUSTOMER = 'carla@customer.example'

let database: Awaited<ReturnType<typeof startEmbedded>>
let service: Service
let relay: Relay
let sink: SmtpSink
let receiver: Receiver
let data_dir: string
let port: number

beforeAll(async () => {
  if (reason) return
  data_dir = path.join(tmpdir(), `end-to-end-${crypto.randomUUID()}`)
  port = await freePort()
  database = await startDatabase()
  sink = await startSmtpSink({ tls: 'starttls', auth: { user: 'desk', pass: 'desk password' } })
  receiver = await startReceiver()
  const mail_ca = path.join(tmpdir(), `mail-ca-${crypto.randomUUID()}.pem`)
  writeFileSync(mail_ca, sink.ca)
  service = await startService({
    DATABASE_URL: urlOf(database.connection, port),
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(data_dir, 'service'),
    WEBHOOK_CA_FILE: receiver.ca_file,
    MAIL_CA_FILE: mail_ca,
    RETRY_SCHEDULE_SECONDS: '0,1,1,1,1',
  })
  relay = await startRelay(service.smtp_port)
})

afterAll(async () => {
  if (reason) return
  relay?.[Symbol.dispose]()
  await service?.stop()
  sink?.[Symbol.dispose]()
  receiver?.[Symbol.dispose]()
  await database?.stop()
})

test.skipIf(reason !== undefined)(
  'a relayed email becomes a ticket, its answer leaves by email, the reply lands on the same ticket, webhooks tell of each step',
  async () => {
    const events = ['ticket.created', 'message.created', 'contact.created', 'ticket.updated', 'ticket.status_changed']
    expect((await service.call('POST', '/webhooks', { url: receiver.url, events, secret: SECRET })).status).toBe(201)
    const smtp = {
      host: 'localhost',
      port: sink.port,
      security: 'starttls',
      username: 'desk',
      password: 'desk password',
    }
    const mailbox = await service.call('POST', '/mailboxes', { address: 'support@desk.example', name: 'Support', smtp })
    expect(mailbox.status).toBe(201)

    await relayMail({
      from: `Carla Customer <${CUSTOMER}>`,
      to: 'support@desk.example',
      subject: 'Grüße: the printer burns',
      messageId: '<first@customer.example>',
      text: 'It burns, see the picture.',
      html: '<p>It <b>burns</b>, see <img src="cid:fire@customer.example"></p>',
      attachments: [
        { filename: 'fire.png', content: PNG, cid: 'fire@customer.example', contentType: 'image/png' },
        { filename: 'report.pdf', content: PDF, contentType: 'application/pdf' },
      ],
    })
    const ticket = await onlyTicket()
    expect(ticket).toMatchObject({
      subject: 'Grüße: the printer burns',
      status: 'open',
      contact: { name: 'Carla Customer', email: CUSTOMER },
    })
    const [first] = ticket.messages
    expect(first.direction).toBe('inbound')
    expect(first.body).toContain('It burns, see the picture.')
    expect(first.body_html).toContain('<b>burns</b>')
    expect(first.body_html).toContain('/api/v1/attachments/')
    expect(first.attachments.map((one: { filename: string }) => one.filename).toSorted()).toEqual([
      'fire.png',
      'report.pdf',
    ])
    for (const { filename, url } of first.attachments) {
      const bytes = Buffer.from(await (await fetch(url)).arrayBuffer())
      expect(bytes.equals(filename === 'report.pdf' ? PDF : PNG)).toBe(true)
    }

    const answer = await service.call('POST', `/tickets/${ticket.id}/messages`, { body: 'Did you try <b>water</b>?' })
    expect(answer.status).toBe(201)
    expect(answer.body.data).toMatchObject({ email_sent: true, email_status: 'sent', direction: 'outbound' })
    await sink.waitFor(1)
    const [sent] = sink.messages
    expect(sent).toMatchObject({ from: 'support@desk.example', to: [CUSTOMER], tls: true, user: 'desk' })
    const mail = await simpleParser(sent!.raw)
    expect(mail.subject).toBe(`Re: Grüße: the printer burns [${ticket.code}]`)
    expect(mail.inReplyTo).toBe('<first@customer.example>')
    expect(mail.text).toContain('Did you try water?')

    await service.call('PATCH', `/tickets/${ticket.id}`, { status: 'resolved' })
    await relayMail({
      from: CUSTOMER,
      to: mail.replyTo!.text,
      subject: mail.subject,
      messageId: '<second@customer.example>',
      inReplyTo: mail.messageId,
      references: [mail.inReplyTo!, mail.messageId!],
      text: 'Water helped, thank you.',
    })
    await until('the reply is on the ticket', async () => (await getTicket(ticket.id)).messages.length === 3)
    expect(await getTicket(ticket.id)).toMatchObject({ status: 'open' })

    const told = () => receiver.requests.map((request) => request.json().event)
    await until('the webhooks have arrived', () => told().length >= 9)
    expect(told().toSorted()).toEqual(
      [
        ...['contact.created', 'ticket.created', 'message.created', 'message.created', 'message.created'],
        ...['ticket.updated', 'ticket.status_changed', 'ticket.updated', 'ticket.status_changed'],
      ].toSorted(),
    )
    for (const request of receiver.requests) expect(receiver.verify(request, SECRET)).toBe(true)
  },
)

test.skipIf(reason !== undefined)(
  'mail that is relayed while the database is stopped stays with the relay and arrives once it is back',
  async () => {
    const before = (await service.call('GET', '/tickets')).body.meta.total
    await database.stop()
    await relayMail({
      from: 'dora@customer.example',
      to: 'support@desk.example',
      subject: 'Is anybody there?',
      messageId: '<third@customer.example>',
      text: 'Hello?',
    })
    await until('the relay has been told to come again', () => relay.queued() === 1)
    expect((await fetch(`${service.url}/readyz`)).status).toBe(503)
    database = await startDatabase()
    await until('the service is ready again', async () => (await fetch(`${service.url}/readyz`)).status === 200)
    relay.flush()
    await until('the message has left the relay', () => relay.queued() === 0)
    await until('it is a ticket', async () => {
      const { body } = await service.call('GET', '/tickets?search=anybody')
      return body.meta?.total === 1
    })
    expect((await service.call('GET', '/tickets')).body.meta.total).toBe(before + 1)
  },
)

function startDatabase() {
  return startEmbedded(path.join(data_dir, 'database'), {
    settings: { listen_addresses: '127.0.0.1', port: String(port) },
  })
}

async function relayMail(mail: Parameters<typeof buildMail>[0]): Promise<void> {
  const raw = await buildMail(mail)
  const result = await sendMail({ port: relay.port, from: CUSTOMER, to: addressOf(String(mail.to)), raw })
  expect(result.code).toBe(250)
}

function addressOf(text: string): string {
  return /[^\s<>]+@[^\s<>]+/.exec(text)![0]
}

async function onlyTicket() {
  await until('the email is a ticket', async () => (await service.call('GET', '/tickets')).body.meta.total === 1)
  const { body } = await service.call('GET', '/tickets')
  return getTicket(body.data[0].id)
}

async function getTicket(id: string) {
  return (await service.call('GET', `/tickets/${id}`)).body.data
}
