/** Whole services that are killed, starved of connections or cut off half-way: acknowledged work is done, once. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { newId } from '../../../src/base/db/columns'
import { closeDatabase, connectDatabase, connection } from '../../../src/base/db/pool'
import { type Scope, SYSTEM } from '../../../src/base/scope'
import { createDatabase, type TestDatabase } from '../../support/database'
import { checkDeliveries, emitMany, endLeases, holdLock, untilBlocked, untilDone } from '../../support/drain-processes'
import { startDeafProxy } from '../../support/half-open'
import { type Receiver, startReceiver } from '../../support/receiver'
import { type Service, startService, until } from '../../support/service'
import { sendMail, startSmtpSink } from '../../support/smtp'

let database: TestDatabase

beforeEach(async () => {
  database = await createDatabase()
  connectDatabase(database.target, 5)
})
afterEach(async () => {
  await closeDatabase(1)
  await database.drop()
})

/** A service on the test's database. */
function start(receiver: Receiver, env: Record<string, string> = {}): Promise<Service> {
  return startService({
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(tmpdir(), `faults-${crypto.randomUUID()}`),
    WEBHOOK_CA_FILE: receiver.ca_file,
    ...env,
  })
}

/** A webhook for all events of the tests, and the contact of their tickets. */
async function prepare(service: Service, receiver: Receiver) {
  await service.call('POST', '/webhooks', { url: receiver.url, events: ['ticket.created', 'message.created'] })
  const contact = await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
  const [organization] = await connection().sql<{ id: string }[]>`select id from organizations`
  const scope: Scope = { ...connection(), organization_id: organization!.id, actor: SYSTEM }
  return { contact_id: contact.body.data.id as string, scope }
}

test('killed between a change and its commit: neither the change nor its event is there', async () => {
  using receiver = await startReceiver()
  const first = await start(receiver)
  const { contact_id, scope } = await prepare(first, receiver)
  const letGo = await holdLock('lock table outbox in exclusive mode')
  const answer = first.call('POST', '/tickets', { subject: 'Never', contact_id }).catch(() => 'no answer')
  await untilBlocked(scope, 'insert into "outbox"')
  await first.kill()
  expect(await answer).toBe('no answer')
  await letGo()
  const second = await start(receiver)
  const { body } = await second.call('POST', '/tickets', { subject: 'Again', contact_id })
  await untilDone(scope)
  expect((await second.call('GET', '/tickets')).body.meta.total).toBe(1)
  expect(receiver.requests.map((request) => request.json().data.id)).toEqual([body.data.id])
  await checkDeliveries(scope, receiver.requests)
  await second.stop()
})

test('killed between the acceptance of an email and its record: sent again with the same Message-ID, sent once', async () => {
  using receiver = await startReceiver()
  using sink = await startSmtpSink()
  const first = await start(receiver)
  const { contact_id, scope } = await prepare(first, receiver)
  const smtp = { host: '127.0.0.1', port: sink.port, security: 'none' }
  await first.call('POST', '/mailboxes', { address: 'support@desk.example', smtp })
  const ticket = await first.call('POST', '/tickets', { subject: 'Printer', contact_id })
  await untilDone(scope)
  const held = Promise.withResolvers<() => Promise<void>>()
  sink.answer(async ({ stage }) => {
    if (stage === 'data' && sink.messages.length === 0) {
      held.resolve(await holdLock(`select from outbox where kind = 'email' for update`))
    }
    return undefined
  })
  void first.call('POST', `/tickets/${ticket.body.data.id}/messages`, { body: 'It is on its way.' }).catch(() => {})
  const letGo = await held.promise
  await untilBlocked(scope, 'delete from outbox')
  await first.kill()
  await letGo()
  await endLeases(scope)
  const second = await start(receiver)
  await untilDone(scope)
  const ids = sink.messages.map(({ raw }) => /^Message-ID:\s*<([^>]+)>/im.exec(raw.toString())?.[1])
  expect(ids).toHaveLength(2)
  expect(ids[1]).toBe(ids[0]!)
  const rows = await scope.sql`select email_status, email_message_id from messages where email_message_id is not null`
  expect([...rows]).toEqual([{ email_status: 'sent', email_message_id: ids[0]! }])
  const sent = await scope.sql`select from activities where type = 'email_sent'`
  expect(sent).toHaveLength(1)
  await second.stop()
})

test('with one connection to the database a crowd of requests, mails and deliveries all get through', async () => {
  using receiver = await startReceiver()
  using sink = await startSmtpSink()
  const service = await start(receiver, { DATABASE_POOL: '1' })
  const { contact_id, scope } = await prepare(service, receiver)
  const smtp = { host: '127.0.0.1', port: sink.port, security: 'none' }
  await service.call('POST', '/mailboxes', { address: 'support@desk.example', smtp })
  const write = async (n: number) => {
    const ticket = await service.call('POST', '/tickets', { subject: `Ticket ${n}`, contact_id })
    const path = `/tickets/${ticket.body.data.id}`
    const [message, , changed] = await Promise.all([
      service.call('POST', `${path}/messages`, { body: 'It is on its way.' }),
      service.call('GET', '/tickets'),
      service.call('PATCH', path, { priority: 'high' }),
    ])
    return [ticket.status, message.status, changed.status]
  }
  const mail = (n: number) =>
    sendMail({
      port: service.smtp_port,
      from: 'dora@customer.example',
      to: 'support@desk.example',
      raw: `From: dora@customer.example\r\nSubject: Mail ${n}\r\nMessage-ID: <${newId()}@customer.example>\r\n\r\nHello\r\n`,
    })
  const [answers, mails] = await Promise.all([
    Promise.all(Array.from({ length: 30 }, (_, n) => write(n))),
    Promise.all(Array.from({ length: 10 }, (_, n) => mail(n))),
  ])
  expect(answers).toEqual(answers.map(() => [201, 201, 200]))
  expect(mails.map(({ code }) => code)).toEqual(mails.map(() => 250))
  await untilDone(scope)
  expect(sink.messages).toHaveLength(30)
  // 40 tickets and a message of each.
  expect(await checkDeliveries(scope, receiver.requests)).toHaveLength(80)
  expect(await service.stop()).toBe(0)
})

test('when no NOTIFY arrives work is found by looking, and the deaf connection does not keep the service', async () => {
  using receiver = await startReceiver()
  using proxy = await startDeafProxy(database.url)
  const service = await start(receiver, { DATABASE_URL: proxy.url })
  const { scope } = await prepare(service, receiver)
  await until('it is deaf', () => proxy.deaf() > 0)
  for (let count = 1; count <= 3; count++) {
    // In this process, which notifies the service and sends nothing itself.
    await emitMany(scope, 1)
    await receiver.waitFor(count)
  }
  await untilDone(scope)
  expect(await checkDeliveries(scope, receiver.requests)).toHaveLength(3)
  expect(await service.stop()).toBe(0)
})
