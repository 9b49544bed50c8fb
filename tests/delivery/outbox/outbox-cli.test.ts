/** The operator's commands for the outbox, run as separate processes beside a service on the same database. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { Readable } from 'node:stream'
import { config } from '../../../src/base/config'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { acceptMessage, findRecipient } from '../../../src/mail/inbound/accept'
import type { RcptMailbox } from '../../../src/mail/smtp/envelope'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { runCli, runOn } from '../../support/backups'
import type { TestDatabase } from '../../support/database'
import { createContact, createMessage, createTicket } from '../../support/factories'
import { createMailbox, rawMail } from '../../support/mail'
import { type ChangedSettings, withSettings } from '../../support/settings'
import { startSmtpSink } from '../../support/smtp'
import { createWebhook, deliveriesOf, emit, queueOf, startTrustedReceiver } from '../../support/webhooks'

let settings: ChangedSettings
let database: TestDatabase
let organization: Organization

beforeAll(async () => {
  settings = withSettings({ EMAIL_INLINE_WAIT_MS: 1 })
  database = await startApi()
})
afterAll(async () => {
  settings.restore()
  await stopApi()
})
beforeEach(async () => {
  await connection().sql`truncate outbox`
  organization = await createOrganization()
})

function cli(...args: string[]) {
  return runOn(database.url, args, {
    WEBHOOK_CA_FILE: config.WEBHOOK_CA_FILE!,
    LOG_LEVEL: 'info',
    SMTP_ALLOWED_NETWORKS: '127.0.0.1',
    SYSTEM_SMTP_URL: 'smtp://127.0.0.1:1',
    SYSTEM_MAIL_FROM: 'desk@operator.example',
  })
}

function dueRows() {
  return connection().sql`select id from outbox where run_at <= now() and lease_until <= now()`
}

test('draining works off everything that is due, of every kind, and tells how much', async () => {
  using receiver = await startTrustedReceiver()
  using sink = await startSmtpSink()
  const { admin, agent, scope } = organization
  const smtp = { host: '127.0.0.1', port: sink.port, security: 'none' }
  const mailbox = await createMailbox(admin, { smtp })
  const contact = await createContact(agent, { email: 'carla@customer.example' })
  const ticket = await createTicket(agent, { contact_id: contact.id })
  const message = await createMessage(agent, ticket.id, { body: 'Try water' })
  const webhook = await createWebhook(admin, { url: receiver.url })
  for (let n = 0; n < 30; n++) await emit(scope, { n })
  const raw = rawMail({ From: 'dora@customer.example', Subject: 'Help', Message_ID: `<${newId()}@customer.example>` })
  const recipient = (await findRecipient(connection(), mailbox.address)) as RcptMailbox
  const client = { remote_address: '127.0.0.1', relay_address: null, helo: 'relay', tls: false }
  const envelope = { ...client, sender: 'dora@customer.example', recipients: [recipient] }
  await acceptMessage(connection(), envelope, Readable.from([raw]))

  const { code, lines, stderr } = await cli('outbox', 'drain')
  // The ticket that the mail created is published to the webhook too.
  expect({ code, lines }).toEqual({
    code: 0,
    lines: [{ webhook: 31, email: 1, inbound: 1, letter: 0, wake: 0, draft: 0, rule: 0, promise: 0 }],
  })
  expect(stderr).toContain('webhook attempt')
  expect(receiver.requests).toHaveLength(31)
  expect(sink.messages).toHaveLength(1)
  const sent = await agent.get(`/tickets/${ticket.id}/messages/${message.id}`)
  expect(sent.body.data).toMatchObject({ email_sent: true, email_status: 'sent' })
  expect(await queueOf(scope, webhook.id)).toEqual([])
  expect((await admin.get('/inbound-messages')).body.data[0]).toMatchObject({ outcome: 'ticket' })
})

test('draining leaves what is not due, or in the hands of others', async () => {
  using receiver = await startTrustedReceiver(500)
  const { admin, scope } = organization
  const webhook = await createWebhook(admin, { url: receiver.url })
  for (let n = 0; n < 3; n++) await emit(scope, { n })
  const [fails, leased, later] = await queueOf(scope, webhook.id)
  await scope.sql`
    update outbox set lease_until = now() + interval '1 minute', lease_token = ${newId()} where id = ${leased!.id}`
  await scope.sql`update outbox set run_at = now() + interval '1 hour' where id = ${later!.id}`

  const { code, lines } = await cli('outbox', 'drain')
  expect({ code, lines }).toEqual({
    code: 0,
    lines: [{ webhook: 1, email: 0, inbound: 0, letter: 0, wake: 0, draft: 0, rule: 0, promise: 0 }],
  })
  expect(await dueRows()).toHaveLength(0)
  const deliveries = await deliveriesOf(admin, webhook.id)
  expect(deliveries.map(({ id, status }: { id: string; status: string }) => [id, status])).toEqual([
    [fails!.id, 'retrying'],
    [leased!.id, 'pending'],
    [later!.id, 'pending'],
  ])
})

test('two drains at once share the work', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = organization
  for (let n = 0; n < 5; n++) await createWebhook(admin, { url: receiver.url })
  for (let n = 0; n < 20; n++) await emit(scope, { n })
  const drains = await Promise.all([cli('outbox', 'drain'), cli('outbox', 'drain')])
  expect(drains.map(({ code }) => code)).toEqual([0, 0])
  expect(drains.reduce((sum, { lines }) => sum + lines[0].webhook, 0)).toBe(100)
  const ids = receiver.requests.map((request) => request.headers.get('x-service-delivery'))
  expect([ids.length, new Set(ids).size]).toEqual([100, 100])
})

test('an empty outbox is drained at once', async () => {
  const { code, lines } = await cli('outbox', 'drain')
  expect({ code, lines }).toEqual({
    code: 0,
    lines: [{ webhook: 0, email: 0, inbound: 0, letter: 0, wake: 0, draft: 0, rule: 0, promise: 0 }],
  })
})

test('stats tell what is left by kind, and a retry makes what waits due now', async () => {
  const { admin, scope, id } = organization
  const webhook = await createWebhook(admin)
  const failed = await createWebhook(admin)
  await emit(scope)
  await scope.sql`update outbox set run_at = now() + interval '1 hour' where lane_id = ${webhook.id}`
  await scope.sql`update outbox set run_at = 'infinity' where lane_id = ${failed.id}`
  await scope.sql`update webhooks set status = 'failed' where id = ${failed.id}`
  const none = { due: 0, leased: 0, scheduled: 0, parked: 0, oldest_due_s: null, oldest_queued_s: null }
  const stats = async () => (await cli('outbox', 'stats')).lines
  expect(await stats()).toEqual([
    { kind: 'draft', ...none },
    { kind: 'email', ...none },
    { kind: 'inbound', ...none },
    { kind: 'letter', ...none },
    { kind: 'promise', ...none },
    { kind: 'rule', ...none },
    { kind: 'wake', ...none },
    { kind: 'webhook', ...none, scheduled: 1, parked: 1, oldest_queued_s: expect.any(Number) },
  ])
  expect(await cli('outbox', 'retry', '--organization', id.toUpperCase())).toMatchObject({
    code: 0,
    lines: [{ due_now: 1 }],
  })
  const { body } = await admin.get('/audit-log?action=operator.outbox_retry')
  expect(body.data[0]).toMatchObject({ actor: { type: 'operator', id: null }, resource: { type: 'organization', id } })
  expect((await stats()).at(-1)).toMatchObject({ due: 1, scheduled: 0, parked: 1, oldest_due_s: expect.any(Number) })
})

test('wrong calls are refused with one line that says why', async () => {
  const calls: [string[], string, number][] = [
    [['outbox', 'flush'], 'unknown command', 2],
    [['outbox', 'retry'], '--organization is required', 1],
    [['outbox', 'retry', '--organization', 'Acme'], '--organization must be a UUID', 1],
    [['outbox', 'retry', '--organization', newId()], 'there is no such organization', 1],
    [['outbox', 'drain', '--fast'], "Unknown option '--fast'", 1],
  ]
  for (const [args, why, status] of calls) {
    const { code, lines, stderr } = await cli(...args)
    expect({ args, code, lines }).toEqual({ args, code: status, lines: [] })
    expect(stderr.split('\n')[0]).toStartWith(`deskwire: ${why}`)
  }
})

test('--help behind a command shows it and runs nothing, and a missing argument is named', async () => {
  const { code, stdout } = await runCli(['outbox', 'retry', '--help'], {})
  expect([code, stdout.split('\n')]).toEqual([
    0,
    [
      'Command:',
      '  bun run cli outbox retry --organization ID',
      '      Makes all waiting work of an organization due now, except for failed webhooks.',
      '',
    ],
  ])
  expect((await runCli(['profile'], {})).stderr).toBe('deskwire: give one argument, SECONDS\n')
})

test('domain allow verifies a domain without a record', async () => {
  const { admin, id } = organization
  const mailbox = await createMailbox(admin, { address: `help@${id}.example` })
  const allow = (domain: string) => cli('domain', 'allow', '--organization', id.toUpperCase(), '--domain', domain)
  const { code, lines } = await allow(`${id.toUpperCase()}.example`)
  const listed = (await admin.get('/domains')).body.data
  expect([code, lines]).toEqual([0, [{ id: listed[0].id, domain: `${id}.example`, status: 'verified' }]])
  expect((await allow(`${id}.example`)).lines).toEqual(lines)
  expect((await admin.get(`/mailboxes/${mailbox.id}`)).body.data.domain_verified).toBe(true)
  const { data } = (await admin.get('/audit-log?action=operator.domain_allow')).body
  expect(data[1]).toMatchObject({ actor: { type: 'operator' }, resource: { type: 'domain', id: listed[0].id } })
  expect((await allow('nonsense')).stderr).toContain('--domain must be a domain')
})
