/** Metrics and logs of a running service: figures for Prometheus, and a log line for each attempt of a delivery. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build } from '../../../src/base/process/build'
import { readQueries } from '../../support/alerts'
import { createDatabase, type TestDatabase } from '../../support/database'
import { runOnServer } from '../../support/on-server'
import { freePort } from '../../support/ports'
import { type Receiver, startReceiver } from '../../support/receiver'
import { type Service, startService, until } from '../../support/service'
import { sendMail } from '../../support/smtp'
import { readSources } from '../../support/sources'

const SECRET = 'the-secret-of-the-webhook'
const NEXT_SECRET = 'the-secret-after-it'
const QUERY = 'token=of-the-url'
const BODY = 'What the event tells'
const ANSWER = 'What the receiver answers'
const STRANGE_ID = '5cdca4a3-7a46-4b0c-9d0e-31d3d44a4b1c'

let database: TestDatabase
let receiver: Receiver
let service: Service
let metrics_url: string
let webhook_id: string
let logged_from = 0

beforeAll(async () => {
  database = await createDatabase()
  receiver = await startReceiver({ answer: [{ status: 500, body: ANSWER }, 200] })
  const port = await freePort()
  const data_dir = path.join(tmpdir(), `metrics-${crypto.randomUUID()}`)
  mkdirSync(data_dir)
  metrics_url = `http://127.0.0.1:${port}/metrics`
  service = await startService({
    // A name that an operator gave counts as well.
    DATABASE_URL: `${database.url}&application_name=helpdesk`,
    DATA_DIR: data_dir,
    SECRET_KEY: 'a secret key that only tests use',
    METRICS_PORT: String(port),
    WEBHOOK_CA_FILE: receiver.ca_file,
    RETRY_SCHEDULE_SECONDS: '0,0.1,60',
    LOG_LEVEL: 'trace',
    TRUSTED_PROXIES: '127.0.0.0/8',
  })
})
afterAll(async () => {
  await service?.stop()
  receiver?.[Symbol.dispose]()
  await database?.drop()
})

type Sample = { name: string; labels: Record<string, string>; value: number }

/** Every line has to be one of the format's. @throws Error with the first that is not */
function parse(text: string): { samples: Sample[]; types: Map<string, string>; helps: Set<string> } {
  const samples: Sample[] = []
  const types = new Map<string, string>()
  const helps = new Set<string>()
  for (const line of text.trimEnd().split('\n')) {
    const [, help] = /^# HELP ([a-z_\d]+) \S.*$/.exec(line) ?? []
    const [, typed, type] = /^# TYPE ([a-z_\d]+) (counter|gauge|histogram)$/.exec(line) ?? []
    const [, name, labels = '', value] = /^([a-z_\d]+)(?:\{(.*)\})? (-?[\d.e+-]+|Nan|[+-]Inf)$/.exec(line) ?? []
    if (help) helps.add(help)
    else if (typed && type) types.set(typed, type)
    else if (name) samples.push({ name, labels: readLabels(labels), value: Number(value) })
    else if (line !== '') throw new Error(`no line of the format: ${line}`)
  }
  return { samples, types, helps }
}

function readLabels(text: string): Record<string, string> {
  const found = [...text.matchAll(/([a-zA-Z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/g)]
  expect(found.map(([whole]) => whole).join('')).toBe(text)
  return Object.fromEntries(found.map(([, name, value]) => [name!, value!]))
}

async function scrape() {
  const response = await fetch(metrics_url)
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ])
  const text = await response.text()
  const { samples, types, helps } = parse(text)
  const figure = (name: string, labels: Record<string, string> = {}) =>
    samples
      .filter((one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value))
      .reduce<number | undefined>((sum, { value }) => (sum ?? 0) + value, undefined)
  return { text, samples, types, helps, figure }
}

/** A webhook that answers with 500 first, and a contact whose event it gets: two attempts. Other work beside it. */
async function deliver(): Promise<void> {
  logged_from = service.output().length
  const { call } = service
  const created = await call('POST', '/webhooks', {
    url: `${receiver.url}?${QUERY}`,
    events: ['contact.created'],
    secret: SECRET,
  })
  webhook_id = created.body.data.id
  await call('PATCH', `/webhooks/${webhook_id}`, { secret: NEXT_SECRET })
  await call('POST', '/mailboxes', { address: 'help@desk.example' })
  const contact = await call('POST', '/contacts', { name: BODY, email: 'carla@customer.example' })
  const ticket = { subject: 'Help', contact_id: contact.body.data.id }
  expect((await call('POST', '/tickets', ticket)).status).toBe(201)
  expect((await call('GET', `/nowhere/${STRANGE_ID}`)).status).toBe(404)
  const raw = 'Subject: Hello\r\n\r\nHello\r\n'
  const mail = { port: service.smtp_port, from: 'carla@customer.example', to: 'help@desk.example', raw }
  expect((await sendMail(mail)).code).toBe(250)
  await receiver.waitFor(2)
}

function logLines(msg: string) {
  const lines = service.output().slice(logged_from).split('\n')
  return lines.filter((line) => line.includes(`"msg":"${msg}"`)).map((line) => JSON.parse(line))
}

test('each figure has a description and a type, and a delivery shows in them', async () => {
  const before = await scrape()
  const rows = { kind: 'webhook', state: 'due' }
  expect(before.figure('deskwire_outbox_rows', rows)).toBe(0)
  expect(before.figure('deskwire_outbox_oldest_due_seconds', { kind: 'email' })).toBe(0)
  await deliver()
  await until('the attempts are in the figures', async () => {
    return (await scrape()).figure('deskwire_outbox_attempts_total', { kind: 'webhook', outcome: 'done' }) === 1
  })
  const after = await scrape()

  for (const name of new Set(after.samples.map((sample) => sample.name.replace(/_(bucket|sum|count)$/, '')))) {
    const known = [name, `${name}_count`, `${name}_sum`].find((one) => after.types.has(one))
    expect([name, known !== undefined, after.helps.has(known!)]).toEqual([name, true, true])
  }
  const webhooks = { kind: 'webhook' }
  expect(after.figure('deskwire_outbox_attempts_total', { kind: 'webhook', outcome: 'retry' })).toBe(1)
  await until('the mail is in the figures', async () => {
    return (await scrape()).figure('deskwire_inbound_messages_total', { outcome: 'ticket' }) === 1
  })
  expect(after.figure('deskwire_outbox_due_to_start_seconds_count', webhooks)).toBe(2)
  expect(after.figure('deskwire_outbox_due_to_done_seconds_count', webhooks)).toBe(1)
  expect(after.figure('deskwire_outbox_claim_duration_seconds_count', webhooks)).toBeGreaterThanOrEqual(2)
  expect(after.figure('deskwire_webhook_attempt_duration_seconds_count', { outcome: 'status' })).toBe(1)
  expect(after.figure('deskwire_webhook_attempt_duration_seconds_count', { outcome: 'success' })).toBe(1)
  expect(after.figure('deskwire_smtp_transaction_duration_seconds_count', { reply: '2xx' })).toBe(1)
  const posts = { method: 'POST', route: '/api/v1/tickets', status: '201' }
  expect(after.figure('deskwire_http_request_duration_seconds_count', posts)).toBe(1)
  expect(after.figure('deskwire_database_acquire_seconds_count')).toBeGreaterThan(0)
  expect(after.figure('deskwire_database_transactions', { state: 'waiting' })).toBeNumber()
  expect(after.figure('deskwire_database_connections')).toBeGreaterThan(0)
  expect(after.figure('deskwire_database_pool_size')).toBe(10)
  expect(after.figure('deskwire_database_up')).toBe(1)
  expect(after.figure('deskwire_database_answer_seconds')).toBeGreaterThan(0)
  expect(after.figure('deskwire_webhook_outage')).toBe(0)
  expect(after.figure('deskwire_database_transaction_duration_seconds_count')).toBeGreaterThan(0)
  for (const statement of ['select', 'insert', 'commit']) {
    expect(after.figure('deskwire_database_statement_duration_seconds_count', { statement })).toBeGreaterThan(0)
  }
  expect(after.figure('deskwire_build_info', build)).toBe(1)
  expect(after.figure('deskwire_data_dir_free_bytes')).toBeGreaterThan(0)
  expect(after.figure('deskwire_data_dir_size_bytes')).toBeGreaterThan(after.figure('deskwire_data_dir_free_bytes')!)
  expect(after.figure('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0)
  for (const name of [
    'outbox_leases_expired_total',
    'outbox_stale_outcomes_total',
    'smtp_transaction_duration_seconds',
  ])
    expect(after.types.has(`deskwire_${name}`)).toBe(true)
})

test('a filed mail is a line with its bytes and the time of each step, which the figures have, too', async () => {
  await until('the mail is in the log', () => logLines('email filed').length > 0)
  const [line] = logLines('email filed')
  const { wait_ms, parse_ms, check_ms, store_ms, file_ms, took_ms } = line
  expect([line.outcome, line.bytes > 20]).toEqual(['ticket', true])
  expect(Math.abs(wait_ms + parse_ms + check_ms + store_ms + file_ms - took_ms)).toBeLessThanOrEqual(3)
  const { figure } = await scrape()
  for (const step of ['wait', 'parse', 'check', 'store', 'file']) {
    expect([step, figure('deskwire_inbound_step_seconds_count', { step })]).toEqual([step, 1])
    expect(figure('deskwire_inbound_step_seconds_sum', { step })).toBeGreaterThan(0)
  }
})

test('the first line of the log names version and commit', () => {
  const [first] = service.output().split('\n')
  expect(JSON.parse(first!)).toMatchObject({ msg: 'starting', ...build })
})

test('the guide lists every figure of the product, and no other', async () => {
  const guide = readFileSync(path.join(import.meta.dir, '../../../src/guide/operate.md'), 'utf8')
  const [, section = ''] = /^## Metrics$(.*?)^## /ms.exec(guide) ?? []
  const listed = [...section.matchAll(/`(deskwire_[a-z_]+)`/g)].map(([, name]) => name!)
  const shown = [...(await scrape()).types.keys()].filter((name) => name.startsWith('deskwire_'))
  // Some are shown only with a setting, such as those of a certificate and of Redis.
  const sources = [...readSources(path.join(import.meta.dir, '../../../src'))]
  const texts = sources.flatMap(([, { text }]) => (/from 'prom-client'/.test(text) ? text : []))
  const named = texts.flatMap((text) => [...text.matchAll(/'(deskwire_[a-z_]+)'/g)].map(([, name]) => name!))
  expect([...new Set([...shown, ...named])].toSorted()).toEqual(listed.toSorted())
})

test('buckets of a histogram rise up to its count', async () => {
  const { samples, types } = await scrape()
  const names = [...types].filter(([, type]) => type === 'histogram').map(([name]) => name)
  expect(names.length).toBeGreaterThanOrEqual(6)
  for (const name of names) {
    const buckets = Map.groupBy(
      samples.filter((sample) => sample.name === `${name}_bucket`),
      ({ labels: { le, ...others } }) => JSON.stringify(others),
    )
    for (const [others, rows] of buckets) {
      const values = rows.map(({ value }) => value)
      expect(values).toEqual(values.toSorted((a, b) => a - b))
      expect(rows.at(-1)!.labels.le).toBe('+Inf')
      const count = samples.find((sample) => {
        return sample.name === `${name}_count` && JSON.stringify(sample.labels) === others
      })
      expect([name, count?.value]).toEqual([name, values.at(-1)])
    }
  }
})

test('labels hold no ids, addresses or paths of requests', async () => {
  const { text } = await scrape()
  expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/)
  for (const part of ['localhost', '127.0.0.1', 'nowhere', QUERY, 'example']) expect(text).not.toContain(part)
})

test('scrapes at the same time are all answered, and other paths are not found', async () => {
  const all = await Promise.all(Array.from({ length: 20 }, scrape))
  expect(new Set(all.map(({ types }) => types.size)).size).toBe(1)
  expect((await fetch(metrics_url.replace('/metrics', '/'))).status).toBe(404)
})

test('each attempt is a log line with ids and the host, and nothing that is secret', async () => {
  const lines = logLines('webhook attempt')
  const deliveries = (await service.call('GET', `/webhooks/${webhook_id}/deliveries`)).body.data
  const common = {
    organization_id: expect.any(String),
    webhook_id,
    delivery_id: deliveries[0].id,
    host: 'localhost',
    duration_ms: expect.any(Number),
    is_own_fault: false,
  }
  expect(lines).toEqual([
    expect.objectContaining({ ...common, attempt: 1, status: 500, error: 'status' }),
    expect.objectContaining({ ...common, attempt: 2, status: 200, error: null }),
  ])
  for (const secret of [SECRET, NEXT_SECRET, QUERY, BODY, ANSWER, 'sha256=', '/hook', 'carla']) {
    expect([secret, service.output().includes(secret)]).toEqual([secret, false])
  }
})

test('a request is a line with its client, those of probes at level debug', async () => {
  const forwarded = { 'x-forwarded-for': '203.0.113.7' }
  await fetch(`${service.url}/api/v1/labels`, { headers: forwarded })
  await fetch(`${service.url}/readyz`, { headers: forwarded })
  const line = (route: string) => logLines('request').findLast((one) => one.route === route)
  await until('the probe is in the log', () => line('/readyz')?.remote_address === '203.0.113.7')
  expect(line('/api/v1/labels')).toMatchObject({ level: 'info', status: 401, remote_address: '203.0.113.7' })
  expect(line('/readyz')).toMatchObject({ level: 'debug', status: 200 })
})

test('mail that is refused is counted, and logged with why, but no address', async () => {
  const { call, smtp_port: port } = service
  const off = await call('POST', '/mailboxes', { address: 'closed@desk.example', active: false })
  const raw = 'Subject: Hello\r\n\r\nHello\r\n'
  const from = 'ann.secret@customer.example'
  for (const to of ['closed+tag@desk.example', 'hepl.secret@DESK.example', 'someone@elsewhere.example']) {
    expect((await sendMail({ port, from, to, raw })).response).toBe('550 5.1.1 No such mailbox here')
  }
  const refused = { code: '550', command: 'RCPT' }
  const { figure } = await scrape()
  expect(figure('deskwire_smtp_refusals_total', { ...refused, reason: 'mailbox_inactive' })).toBe(1)
  expect(figure('deskwire_smtp_refusals_total', { ...refused, reason: 'unknown_domain' })).toBe(1)
  const common = {
    ...{ code: 550, enhanced_code: '5.1.1', command: 'RCPT', msg: 'smtp refusal' },
    ...{ remote_address: '127.0.0.1', helo: 'client.example.test', tls: false },
  }
  const { id: mailbox_id } = off.body.data
  const lines = logLines('smtp refusal').map(({ time: _, ...line }) => line)
  expect(lines).toEqual([
    {
      ...common,
      ...{ level: 'warn', reason: 'mailbox_inactive', because: 'the mailbox is switched off' },
      ...{ recipient_domain: 'desk.example', mailbox_id, organization_id: expect.any(String) },
    },
    {
      ...{ ...common, level: 'info', reason: 'unknown_mailbox', because: 'no mailbox has this address' },
      recipient_domain: 'desk.example',
    },
    { ...common, level: 'info', reason: 'unknown_domain', because: 'no mailbox is at this domain' },
  ])
  for (const secret of ['closed', 'secret', 'elsewhere']) expect(service.output()).not.toContain(secret)
})

test('the alert rules and the dashboard ask for figures and labels that there are', async () => {
  const { samples, types } = await scrape()
  const rare = [
    'deskwire_redis_up',
    'deskwire_clock_offset_seconds',
    'deskwire_tls_certificate_expiry_timestamp_seconds',
    // With BACKUP_TO: tests/long/backup-drill.long.ts.
    'deskwire_backup_lag_seconds',
    'deskwire_backup_spool_bytes',
    'deskwire_backup_last_base_timestamp_seconds',
    'deskwire_backup_verified_timestamp_seconds',
  ]
  // Labels that Prometheus adds.
  const added = ['job', 'instance', 'le']
  const queries = readQueries()
  const names = new Set(queries.flatMap((query) => query.match(/\b(?:deskwire|process|nodejs)_\w+/g) ?? []))
  expect(names.size).toBeGreaterThan(20)
  for (const name of names) {
    const base = name.replace(/_(?:bucket|sum|count)$/, '')
    expect([name, types.has(name) || types.has(base) || rare.includes(name)]).toEqual([name, true])
  }
  const known = new Set([
    ...added,
    ...samples.flatMap(({ labels }) => Object.keys(labels)),
    'store',
    'operation',
    'machine',
  ])
  const asked = queries.flatMap((query) => [
    ...[...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(', ')),
    ...[...query.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, name]) => name!),
  ])
  expect(asked.filter((label) => !known.has(label))).toEqual([])
})

test('without its database the service still answers, and says so', async () => {
  const name = new URL(database.url).pathname.slice(1)
  const allow = (allowed: boolean) =>
    runOnServer(database.url, async (server) => {
      await server.unsafe(`alter database ${name} with allow_connections ${allowed}`)
      if (!allowed) await server`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
    })
  await allow(false)
  const { figure } = await scrape()
  expect(figure('deskwire_database_up')).toBe(0)
  expect(figure('deskwire_outbox_rows')).toBeUndefined()
  expect(figure('deskwire_http_request_duration_seconds_count')).toBeGreaterThan(0)
  await allow(true)
  await until('the database is back', async () => (await scrape()).figure('deskwire_database_up') === 1)
})
