/**
 * Three replicas behind haproxy, on PgBouncer, Redis and an S3 store: what one knows all know, and faults around them.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { formOf } from '../support/factories'
import { WHY_NO_FAKETIME, wrongClock } from '../support/faketime'
import { type Replicas, startReplicas, WHY_NO_REPLICAS } from '../support/replicas'
import { ADMIN, type Service, until } from '../support/service'
import { sendInSession, smtpDialog } from '../support/smtp'

const MAILBOX = 'support@desk.example'
/** An address of this machine that TRUSTED_PROXIES and SMTP_TRUSTED_PROXIES do not name. */
const CLIENT = '127.0.0.5'

if (WHY_NO_REPLICAS) console.warn(`The tests with replicas are skipped: ${WHY_NO_REPLICAS}`)
if (WHY_NO_FAKETIME) console.warn(`The test with a wrong clock is skipped: ${WHY_NO_FAKETIME}`)
const check = test.skipIf(Boolean(WHY_NO_REPLICAS))

let replicas: Replicas
/** Token of the admin, who signed in at the first replica. */
let token: string

beforeAll(async () => {
  if (WHY_NO_REPLICAS) return
  replicas = await startReplicas(3)
  await replicas.services[0]!.call('POST', '/mailboxes', { address: MAILBOX })
  token = replicas.services[0]!.token()
})
afterAll(() => replicas?.stop(), 60_000)

type Body = Record<string, unknown> | FormData

/** A request of the admin, or with an API key, to one replica. */
async function ask(service: Service, method: string, path: string, body?: Body, credential = `Bearer ${token}`) {
  const is_form = body instanceof FormData
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method,
    headers: { authorization: credential, ...(body && !is_form && { 'content-type': 'application/json' }) },
    body: is_form ? body : body && JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** The same, which must succeed. */
async function done(service: Service, method: string, path: string, body?: Body) {
  const { status, text } = await ask(service, method, path, body)
  expect([path, status < 300, status < 300 ? '' : text]).toEqual([path, true, ''])
  return text ? JSON.parse(text).data : undefined
}

async function newTicket(service: Service): Promise<string> {
  const email = `${crypto.randomUUID()}@customer.example`
  const contact = await done(service, 'POST', '/contacts', { name: 'Carla', email })
  return (await done(service, 'POST', '/tickets', { subject: 'Shared', contact_id: contact.id })).id
}

check('a session, a file and a timer of one replica are there at the others', async () => {
  const [one, two, three] = replicas.services as [Service, Service, Service]
  const ticket_id = await newTicket(one)
  const file = await done(one, 'POST', '/attachments', formOf('The printer burns', 'printer.txt'))
  const message = { body: 'See the file', is_internal: true, attachment_ids: [file.id] }
  await done(two, 'POST', `/tickets/${ticket_id}/messages`, message)
  const content = await ask(three, 'GET', `/attachments/${file.id}/content`)
  expect(content.text).toBe('The printer burns')

  await done(one, 'POST', `/tickets/${ticket_id}/timer/start`)
  expect((await done(two, 'GET', '/timer/active')).ticket.id).toBe(ticket_id)
  expect((await ask(two, 'POST', `/tickets/${ticket_id}/timer/start`)).status).toBe(422)
  await done(three, 'POST', `/tickets/${ticket_id}/timer/stop`, {})
  expect(await done(one, 'GET', '/timer/active')).toBeNull()
})

check('requests count together, the first one of a new process too; a revoked key is refused everywhere', async () => {
  const [one] = replicas.services as [Service]
  const key = await done(one, 'POST', '/api-keys', { name: 'Program', permissions: ['tickets:read'] })
  expect(await replicas.services[2]!.stop()).toBe(0)
  await replicas.start(2)
  const credential = `ApiKey ${key.key}`
  const left: number[] = []
  for (let n = 0; n < 9; n++) {
    const { status, headers } = await ask(replicas.services[(n + 2) % 3]!, 'GET', '/tickets', undefined, credential)
    expect(status).toBe(200)
    left.push(Number(headers.get('x-ratelimit-remaining')))
  }
  expect(left).toEqual(left.map((_, n) => left[0]! - n))

  await done(one, 'DELETE', `/api-keys/${key.id}`)
  for (const service of replicas.services) {
    await until(
      'the key is refused',
      async () => (await ask(service, 'GET', '/tickets', undefined, credential)).status === 401,
    )
  }
})

check('behind haproxy the clients keep their addresses, of requests and of mail', async () => {
  const [one] = replicas.services as [Service]
  await signInFrom(CLIENT, replicas.haproxy.http_port)
  // Entries about an account come to the log soon after its transaction.
  await until('the entry of the sign-in is there', async () => {
    const entries: { ip: string }[] = await done(one, 'GET', '/audit-log?per_page=5')
    return entries.some(({ ip }) => ip === CLIENT)
  })

  const from = 'carla@customer.example'
  using relay = await smtpDialog(replicas.haproxy.smtp_port, '127.0.0.1', CLIENT)
  await relay.read()
  await relay.command('EHLO relay.example')
  const raw = `From: ${from}\r\nTo: ${MAILBOX}\r\nSubject: From afar\r\n\r\nHello\r\n`
  expect((await sendInSession(relay, { from, to: MAILBOX, raw })).code).toBe(250)
  expect((await done(one, 'GET', '/inbound-messages?per_page=1'))[0].remote_address).toBe(CLIENT)
})

/** Signs in over a connection from an address of this machine, with a wrong password: that is listed. */
async function signInFrom(localAddress: string, port: number): Promise<void> {
  const body = JSON.stringify({ email: ADMIN.email, password: 'wrong' })
  const head = `host: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  const socket = connect({ host: '127.0.0.1', port, localAddress })
  socket.resume().write(`POST /api/v1/auth/login HTTP/1.1\r\n${head}\r\n\r\n${body}`)
  await new Promise((resolve) => socket.once('close', resolve))
}

check('without Redis, or with one that hangs, requests are answered, and few lines and a figure say so', async () => {
  const { redis, services } = replicas
  const lines = () => services.map(({ output }) => output().match(/Redis is not reachable/g)?.length ?? 0)
  const isUp = async (value: number) => {
    const figures = await Promise.all([0, 1, 2].map(replicas.metrics))
    return figures.every((text) => text.includes(`deskwire_redis_up ${value}\n`))
  }
  await redis.stop()
  await until('all see that Redis is away', () => isUp(0))
  for (const service of services) expect((await ask(service, 'GET', '/tickets')).status).toBe(200)
  // Each says so when it has tried again.
  await until('all say that Redis is away', () => lines().every((count) => count > 0))
  await redis.start()
  await until('all reach Redis again', () => isUp(1))
  expect(lines()).toEqual([1, 1, 1])

  redis.freeze()
  for (const service of services) expect((await ask(service, 'GET', '/tickets')).status).toBe(200)
  await until('all see that Redis hangs', () => isUp(0))
  redis.thaw()
  await until('all reach Redis again', () => isUp(1))
})

test.skipIf(Boolean(WHY_NO_REPLICAS ?? WHY_NO_FAKETIME))(
  'a replica whose clock is an hour ahead says so, and takes the sessions of the others',
  async () => {
    expect(await replicas.services[1]!.stop()).toBe(0)
    const env = wrongClock('+3600')
    const ahead = await replicas.start(1, env)
    expect(ahead.output()).toMatch(/"offset_s":36\d\d,.*the clock of this machine differs/)
    expect(await replicas.metrics(1)).toMatch(/^deskwire_clock_offset_seconds 3[56]\d\d/m)
    const before = await newTicket(replicas.services[0]!)
    const between = await newTicket(ahead)
    const after = await newTicket(replicas.services[2]!)
    const listed = await done(ahead, 'GET', '/tickets?per_page=3&sort=-created_at')
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([after, between, before])
    expect(await ahead.stop()).toBe(0)
    await replicas.start(1)
  },
)
