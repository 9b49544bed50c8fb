/** Kills the service at any moment: nothing that it acknowledged is lost or doubled. */
import { expect, test } from 'bun:test'
import { mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createDatabase } from '../support/database'
import { type Receiver, startReceiver } from '../support/receiver'
import { type Service, startService, until } from '../support/service'
import { sendMail } from '../support/smtp'

const ROUNDS = 5

/** Changes that the service acknowledged. */
type Acknowledged = { tickets: Map<string, string>; replies: Map<string, string>; mails: Set<string> }

test(`${ROUNDS} times kill -9 on the embedded database: every acknowledged ticket, message and event is there once`, async () => {
  const DATA_DIR = path.join(tmpdir(), `kill-${crypto.randomUUID()}`)
  mkdirSync(DATA_DIR, { mode: 0o755 })
  using receiver = await startReceiver()
  const env = { DATA_DIR, WEBHOOK_CA_FILE: receiver.ca_file, LOG_LEVEL: 'fatal' }
  const acknowledged: Acknowledged = { tickets: new Map(), replies: new Map(), mails: new Set() }
  let service = await startService(env)
  try {
    const contact_id = await prepare(service, receiver)
    for (let round = 0; round < ROUNDS; round++) {
      const writers = [writeTickets(service, contact_id, acknowledged), relayMails(service, round, acknowledged)]
      // At any moment, but not before something was acknowledged, however slow the machine is.
      const before = { tickets: acknowledged.tickets.size, mails: acknowledged.mails.size }
      await until('a ticket and a mail are acknowledged', () => {
        return acknowledged.tickets.size > before.tickets && acknowledged.mails.size > before.mails
      })
      await Bun.sleep(Math.random() * 300)
      await service.kill()
      await Promise.all(writers)
      service = await startService(env)
    }
    await checkTickets(service, acknowledged)
    await checkMails(service, acknowledged)
    await checkEvents(receiver, acknowledged)
  } finally {
    await service.stop()
    rmSync(DATA_DIR, { recursive: true, force: true })
  }
})

test('two services share a database: killing one loses nothing, and no delivery is sent twice at a time', async () => {
  const database = await createDatabase()
  const under_way = new Map<string, number>()
  let overlaps = 0
  using receiver = await startReceiver({
    answer: async (request) => {
      const id = request.headers.get('x-service-delivery')!
      const count = (under_way.get(id) ?? 0) + 1
      under_way.set(id, count)
      if (count > 1) overlaps++
      await Bun.sleep(5)
      under_way.set(id, under_way.get(id)! - 1)
      return 200
    },
  })
  const env = {
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(tmpdir(), `pair-${crypto.randomUUID()}`),
    WEBHOOK_CA_FILE: receiver.ca_file,
    LOG_LEVEL: 'fatal',
  }
  const [first, second] = await Promise.all([startService(env), startService(env)])
  try {
    const contact_id = await prepare(first, receiver)
    const acknowledged: Acknowledged = { tickets: new Map(), replies: new Map(), mails: new Set() }
    const writing = [writeTickets(first, contact_id, acknowledged), writeTickets(second, contact_id, acknowledged, 60)]
    await until('both have written', () => acknowledged.tickets.size >= 40)
    await first.kill()
    await Promise.all(writing)
    await checkTickets(second, acknowledged)
    await checkEvents(receiver, acknowledged)
    expect(overlaps).toBe(0)
  } finally {
    await Promise.all([first.stop(), second.stop()])
    await database.drop()
  }
})

async function prepare(service: Service, receiver: Receiver): Promise<string> {
  await service.call('POST', '/webhooks', { url: receiver.url, events: ['ticket.created', 'message.created'] })
  await service.call('POST', '/mailboxes', { address: 'support@desk.example' })
  const contact = await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
  return contact.body.data.id
}

/** Until the service is gone, or `most` tickets are there. */
async function writeTickets(service: Service, contact_id: string, { tickets, replies }: Acknowledged, most = 1e9) {
  for (let count = 0; count < most; count++) {
    const subject = `ticket ${crypto.randomUUID()}`
    const ticket = await service.call('POST', '/tickets', { subject, contact_id }).catch(() => undefined)
    if (ticket?.status !== 201) return
    tickets.set(ticket.body.data.id, subject)
    const body = `reply ${crypto.randomUUID()}`
    const message = await service
      .call('POST', `/tickets/${ticket.body.data.id}/messages`, { body, is_internal: true })
      .catch(() => undefined)
    if (message?.status !== 201) return
    replies.set(message.body.data.id, ticket.body.data.id)
  }
}

async function relayMails(service: Service, round: number, { mails }: Acknowledged) {
  for (let count = 0; ; count++) {
    const subject = `mail ${round}-${count}`
    const message_id = `<${round}.${count}.${crypto.randomUUID()}@customer.example>`
    const raw = `From: dora@customer.example\r\nSubject: ${subject}\r\nMessage-ID: ${message_id}\r\n\r\nHello\r\n`
    const to = 'support@desk.example'
    const result = await sendMail({ port: service.smtp_port, from: 'dora@customer.example', to, raw }).catch(() => null)
    if (result?.code !== 250) return
    mails.add(subject)
  }
}

async function checkTickets(service: Service, { tickets, replies }: Acknowledged) {
  expect(tickets.size).toBeGreaterThanOrEqual(ROUNDS)
  for (const [id, subject] of tickets) {
    const { body } = await service.call('GET', `/tickets/${id}`)
    expect(body.data?.subject).toBe(subject)
  }
  for (const [id, ticket_id] of replies) {
    expect((await service.call('GET', `/tickets/${ticket_id}/messages/${id}`)).status).toBe(200)
  }
}

/** One ticket and one ledger row for each mail that got a 250; a mail without an answer may be there too, once. */
async function checkMails(service: Service, { mails }: Acknowledged) {
  expect(mails.size).toBeGreaterThanOrEqual(ROUNDS)
  await until('all mail is filed', async () => {
    const { body } = await service.call('GET', '/inbound-messages?outcome=pending')
    return body.meta.total === 0
  })
  const subjects: string[] = []
  for (let page = 1; ; page++) {
    const { body } = await service.call('GET', `/tickets?search=mail&per_page=100&page=${page}`)
    subjects.push(...body.data.map((ticket: { subject: string }) => ticket.subject))
    if (subjects.length >= body.meta.total) break
  }
  expect(new Set(subjects).size).toBe(subjects.length)
  expect(mails.difference(new Set(subjects)).size).toBe(0)
}

/** At least once for each acknowledged change; a repeated delivery has the same id and bytes. */
async function checkEvents(receiver: Receiver, { tickets, replies }: Acknowledged) {
  const wanted = new Set([...tickets.keys(), ...replies.keys()])
  const told = () => new Set(receiver.requests.map((request) => String(request.json().data.id)))
  await until('every event has arrived', () => wanted.difference(told()).size === 0)
  const bodies = new Map<string, string>()
  for (const request of receiver.requests) {
    const id = request.headers.get('x-service-delivery')!
    const body = Buffer.from(request.body).toString()
    expect(bodies.get(id) ?? body).toBe(body)
    bodies.set(id, body)
  }
  const events = [...bodies.values()].map((body) => JSON.parse(body))
  const keys = events.map(({ event, data }) => `${event} ${data.id}`)
  expect(new Set(keys).size).toBe(keys.length)
}
