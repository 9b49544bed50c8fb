/** Traces of a whole service, from a request or a mail to what they cause, at a collector that gets them over OTLP. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createTracer } from '../../../src/base/tracing/otel'
import { type CollectedSpan, startCollector } from '../../support/collector'
import { createDatabase, type TestDatabase } from '../../support/database'
import { type Receiver, startReceiver } from '../../support/receiver'
import { type Service, startService } from '../../support/service'
import { withSettings } from '../../support/settings'
import { type SmtpSink, sendMail, startSmtpSink } from '../../support/smtp'

const CALLER = '0af7651916cd43dd8448eb211c80319c'
const CALLER_SPAN = 'b7ad6b7169203331'
const SECRETS = ['Very private', 'carla', 'customer.example', 'insert into', '@']

let database: TestDatabase
let receiver: Receiver
let sink: SmtpSink
let service: Service
let webhook_traces: string[]
const collector = startCollector()

/** Everything happens here, because spans are sent when the service stops. */
beforeAll(async () => {
  ;[database, receiver, sink] = await Promise.all([createDatabase(), startReceiver({ answer: 200 }), startSmtpSink()])
  service = await startService({
    DATABASE_URL: database.url,
    DATA_DIR: mkdtempSync(path.join(tmpdir(), 'tracing-')),
    SECRET_KEY: 'a secret key that only tests use',
    WEBHOOK_CA_FILE: receiver.ca_file,
    LOG_LEVEL: 'info',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=desk',
    OTEL_SERVICE_NAME: 'helpdesk',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  })
  const { call } = service
  await call('POST', '/webhooks', { url: receiver.url, events: ['ticket.created'] })
  const smtp = { host: '127.0.0.1', port: sink.port, security: 'none' }
  await call('POST', '/mailboxes', { address: 'help@desk.example', smtp })
  const created = await fetch(`${service.url}/api/v1/tickets`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.token()}`,
      'content-type': 'application/json',
      traceparent: `00-${CALLER}-${CALLER_SPAN}-01`,
    },
    body: JSON.stringify({ subject: 'Very private', contact_id: (await newContact()).id }),
  })
  expect(created.status).toBe(201)
  await receiver.waitFor(1)
  const raw = 'From: carla@customer.example\r\nSubject: Very private\r\n\r\nHello\r\n'
  const mail = { port: service.smtp_port, from: 'carla@customer.example', to: 'help@desk.example', raw }
  expect((await sendMail(mail)).code).toBe(250)
  await receiver.waitFor(2)
  const [ticket] = (await call('GET', '/tickets')).body.data
  expect((await call('POST', `/tickets/${ticket.id}/messages`, { body: 'An answer' })).status).toBe(201)
  await sink.waitFor(1)
  webhook_traces = receiver.requests.map(({ headers }) =>
    String(new Headers(headers as HeadersInit).get('traceparent')),
  )
  expect(await service.stop()).toBe(0)
})
afterAll(async () => {
  await service?.kill()
  for (const one of [receiver, sink, collector]) one?.[Symbol.dispose]()
  await database?.drop()
})

async function newContact() {
  const answer = await service.call('POST', '/contacts', { name: 'Very private', email: 'carla.two@customer.example' })
  return answer.body.data
}

function spansOf(trace_id: string): CollectedSpan[] {
  return collector.spans.filter(({ traceId }) => traceId === trace_id)
}

/** The names from a span up to the first one, which nobody here has caused. */
function pathOf(span: CollectedSpan): string[] {
  const parent = collector.spans.find(({ spanId }) => spanId === span.parentSpanId)
  return [...(parent ? pathOf(parent) : []), span.name]
}

function traceOf(traceparent: string): string {
  return traceparent.split('-')[1]!
}

test('a request goes on with the trace of its caller, over the outbox to the webhook', () => {
  const spans = spansOf(CALLER)
  const first = spans.find(({ name }) => name === 'POST /api/v1/tickets')!
  expect(first).toMatchObject({ parentSpanId: CALLER_SPAN, kind: 2 })
  expect(first.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.route': '/api/v1/tickets',
    'http.response.status_code': 201,
  })
  const post = spans.find(({ name }) => name === 'POST')!
  expect(pathOf(post)).toEqual(['POST /api/v1/tickets', 'process webhook', 'POST'])
  expect(post).toMatchObject({
    kind: 3,
    attributes: { 'server.address': 'localhost', 'http.response.status_code': 200 },
  })
  expect(webhook_traces[0]).toBe(`00-${CALLER}-${post.spanId}-01`)
})

test('statements are spans of what asked for them', () => {
  const statements = spansOf(CALLER).filter(({ attributes }) => attributes['db.system.name'] === 'postgresql')
  expect(statements.length).toBeGreaterThan(3)
  expect(pathOf(statements.find(({ name }) => name === 'postgresql commit')!)[0]).toBe('POST /api/v1/tickets')
  expect(statements.every(({ parentSpanId }) => parentSpanId)).toBe(true)
})

test('a mail is one trace from its session over its filing to the webhook', () => {
  const trace_id = traceOf(webhook_traces[1]!)
  expect(trace_id).not.toBe(CALLER)
  const post = spansOf(trace_id).find(({ name }) => name === 'POST')!
  expect(pathOf(post)).toEqual(['receive mail', 'process inbound', 'process webhook', 'POST'])
})

test('the steps of a mail are spans of its trace', () => {
  const steps = spansOf(traceOf(webhook_traces[1]!)).filter(({ kind }) => kind === 1)
  for (const name of ['wait mail', 'store mail', 'parse mail', 'check mail', 'file mail']) {
    const span = steps.find((one) => one.name === name)
    expect([name, span && pathOf(span)]).toEqual([name, ['receive mail', 'process inbound', name]])
  }
})

test('an answer is one trace from the request to the mail server', () => {
  const sent = collector.spans.find(({ name }) => name === 'send mail')!
  expect(pathOf(sent)).toEqual(['POST /api/v1/tickets/:ticket_id/messages', 'process email', 'send mail'])
})

test('the log line of a request names its trace', () => {
  const line = service
    .output()
    .split('\n')
    .find((one) => one.includes(CALLER))
  expect(JSON.parse(line!)).toMatchObject({ msg: 'request', route: '/api/v1/tickets', trace_id: CALLER })
})

test('the variables of OpenTelemetry count', () => {
  expect(collector.requests.length).toBeGreaterThan(0)
  for (const { path, headers } of collector.requests) {
    expect([path, headers.get('x-tenant')]).toEqual(['/v1/traces', 'desk'])
  }
  expect(collector.resources[0]).toMatchObject({ 'service.name': 'helpdesk', 'deployment.environment.name': 'test' })
})

test('spans hold no text, no address of a person and no statement', () => {
  for (const { text } of collector.requests) {
    for (const secret of SECRETS) expect([secret, text.includes(secret)]).toEqual([secret, false])
  }
})

test.each([
  ['always_off', 1, undefined, '00'],
  ['traceidratio', 0, undefined, '00'],
  ['always_on', 1, `00-${CALLER}-${CALLER_SPAN}-00`, '01'],
  ['parentbased_always_on', 1, `00-${CALLER}-${CALLER_SPAN}-00`, '00'],
  ['parentbased_always_off', 1, `00-${CALLER}-${CALLER_SPAN}-01`, '01'],
  ['parentbased_always_on', 1, 'no traceparent', '01'],
] as const)('sampler %s with %p and the caller %p decides %p', async (name, share, parent, flags) => {
  using _ = withSettings({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share })
  const tracer = createTracer()
  expect(tracer.start({ name: 'x', kind: 'server', parent }).traceparent).toEndWith(`-${flags}`)
  await tracer.stop(1000)
})

test('a collector that is away costs no more than its queue, and no time at the end', async () => {
  const tracer = createTracer()
  for (let index = 0; index < 10_000; index += 1) tracer.start({ name: 'x', kind: 'server' }).end()
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(() => resolve('late'), 30_000)
  expect(await Promise.race([tracer.stop(100).then(() => 'stopped'), late])).toBe('stopped')
  clearTimeout(timer)
})

test('without a collector nothing of OpenTelemetry is loaded', async () => {
  const program = `
    import { startTracing } from ${JSON.stringify(path.join(import.meta.dir, '../../../src/base/tracing/start-tracing'))}
    await startTracing(undefined)
    const loaded = Object.keys(require.cache).filter((name) => name.includes('opentelemetry'))
    console.log(JSON.stringify(loaded))`
  const child = Bun.spawn([process.execPath, '-e', program], { env: { PATH: process.env.PATH }, stdout: 'pipe' })
  expect(JSON.parse(await new Response(child.stdout).text())).toEqual([])
})
