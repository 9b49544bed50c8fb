/** Kills a service at random moments while clients write: acknowledged changes stay, deliveries and emails go out. */
import { expect, test } from 'bun:test'
import { mkdirSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { startEmbedded } from '../../src/base/db/embedded/supervise'
import { type Scope, SYSTEM } from '../../src/base/scope'
import { checkDeliveries, untilDone } from '../support/drain-processes'
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver'
import { type Service, startService, until } from '../support/service'
import { type SmtpSink, startSmtpSink } from '../support/smtp'

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 25)
const WRITERS = 3
/** So many attempts that a receiver which fails by chance is never given up. */
const SCHEDULE = ['0', ...Array(19).fill('0.2')].join()

/** Changes that the service acknowledged. */
type Acknowledged = { tickets: Set<string>; replies: Set<string> }

test(`${ROUNDS} times kill -9: every acknowledged event and email arrives, and is recorded as it was`, async () => {
  const DATA_DIR = path.join(tmpdir(), `outbox-kill-${crypto.randomUUID()}`)
  mkdirSync(DATA_DIR, { mode: 0o755 })
  using healthy = await startReceiver()
  using flaky = await startReceiver({ answer: () => (Math.random() < 0.1 ? 500 : 200) })
  using slow = await startReceiver({
    answer: async () => {
      await Bun.sleep(50 + Math.random() * 250)
      return 200
    },
  })
  using sink = await startSmtpSink()
  const accepted = countSuccesses({ healthy, flaky, slow })
  const env = {
    DATA_DIR,
    WEBHOOK_CA_FILE: healthy.ca_file,
    RETRY_SCHEDULE_SECONDS: SCHEDULE,
    EMAIL_INLINE_WAIT_MS: '1',
    LOG_LEVEL: 'fatal',
  }
  const acknowledged: Acknowledged = { tickets: new Set(), replies: new Set() }
  let service = await startService(env)
  try {
    const contact_id = await prepare(service, [healthy, flaky, slow], sink)
    const started_ms = performance.now()
    for (let round = 0; round < ROUNDS; round++) {
      const before = acknowledged.replies.size
      const writers = Array.from({ length: WRITERS }, () => write(service, contact_id, acknowledged))
      // At any moment, but not before something was acknowledged, however slow the machine is.
      await until('something is acknowledged', () => acknowledged.replies.size > before)
      await Bun.sleep(Math.random() * 700)
      await service.kill()
      await Promise.all(writers)
      service = await startService(env)
    }
    const seconds = (performance.now() - started_ms) / 1000
    await using database = await openDatabase(DATA_DIR)
    const { scope } = database
    await untilDone(scope)
    await service.stop()
    service = await startService(env)

    const requests = [healthy, flaky, slow].flatMap((receiver) => receiver.requests)
    const deliveries = await checkDeliveries(scope, requests)
    const events = new Map(deliveries.map(({ body }) => [String(JSON.parse(body).data.id), body]))
    const lost = [...acknowledged.tickets, ...acknowledged.replies].filter((id) => !events.has(id))
    const unsent = deliveries.filter(({ id }) => !accepted.has(id))
    const once = deliveries.filter(({ id }) => accepted.get(id) === 1)
    const emails = await checkEmails(scope, sink, acknowledged)
    print({
      rounds: `${ROUNDS} in ${seconds.toFixed(0)} s, load ${loadavg()[0]!.toFixed(1)}`,
      'events acknowledged (2xx)': acknowledged.tickets.size + acknowledged.replies.size,
      'events committed': events.size,
      'deliveries (3 receivers)': deliveries.length,
      'delivered once': once.length,
      'delivered again': deliveries.length - unsent.length - once.length,
      lost: lost.length + unsent.length,
      'answered 500 and tried again': requests.length - [...accepted.values()].reduce((sum, n) => sum + n, 0),
      'emails acknowledged': acknowledged.replies.size,
      'emails sent once': emails.once,
      'emails sent again': emails.again,
      'emails lost': emails.lost,
    })
    expect([...lost, ...unsent]).toEqual([])
    expect(emails.lost).toBe(0)
    expect(deliveries).toHaveLength(3 * events.size)
    expect(deliveries.filter(({ status }) => status !== 'success')).toEqual([])
    // A failure may have been answered and never recorded; a success is recorded once, as the last attempt.
    for (const { codes } of deliveries) expect(codes).toEqual([...Array(codes.length - 1).fill(500), 200])
  } finally {
    await service.stop()
    rmSync(DATA_DIR, { recursive: true, force: true })
  }
}, 600_000)

/** The number of successful answers to each delivery, by its id. */
function countSuccesses(receivers: Record<string, Receiver>): Map<string, number> {
  const successes = new Map<string, number>()
  for (const receiver of Object.values(receivers)) {
    const given = receiver.answer
    receiver.answer = async (request: ReceivedRequest) => {
      const status = typeof given === 'function' ? await given(request) : 200
      const id = request.headers.get('x-service-delivery')!
      if (status === 200) successes.set(id, (successes.get(id) ?? 0) + 1)
      return status
    }
  }
  return successes
}

async function prepare(service: Service, receivers: Receiver[], sink: SmtpSink): Promise<string> {
  for (const { url } of receivers) {
    await service.call('POST', '/webhooks', { url, events: ['ticket.created', 'message.created'] })
  }
  const smtp = { host: '127.0.0.1', port: sink.port, security: 'none' }
  await service.call('POST', '/mailboxes', { address: 'support@desk.example', smtp })
  const contact = await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
  return contact.body.data.id
}

/** Tickets, each with a reply that goes out by email, until the service is gone. */
async function write(service: Service, contact_id: string, { tickets, replies }: Acknowledged): Promise<void> {
  for (;;) {
    const ticket = await service.call('POST', '/tickets', { subject: 'A ticket', contact_id }).catch(() => undefined)
    if (ticket?.status !== 201) return
    const { id } = ticket.body.data
    tickets.add(id)
    const body = `It is on its way, ${crypto.randomUUID()}.`
    const reply = await service.call('POST', `/tickets/${id}/messages`, { body }).catch(() => undefined)
    if (reply?.status !== 201) return
    replies.add(reply.body.data.id)
  }
}

/** The running service's database. */
async function openDatabase(data_dir: string) {
  const { connection } = await startEmbedded(data_dir, { other_service: 'join' })
  const sql = postgres({
    ...connection,
    max: 2,
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
  })
  const [organization] = await sql<{ id: string }[]>`select id from organizations`
  const scope = { sql, organization_id: organization!.id, actor: SYSTEM } as unknown as Scope
  return { scope, [Symbol.asyncDispose]: () => sql.end() }
}

/** Each acknowledged reply reached the sink under its Message-ID, and is recorded as sent once. */
async function checkEmails({ sql }: Scope, sink: SmtpSink, { replies }: Acknowledged) {
  const rows = await sql<{ id: string; email_message_id: string; email_status: string; log: string }[]>`
    select id, email_message_id, email_status, (
      select count(*)::text from activities a where a.type = 'email_sent' and a.data->>'message_id' = m.id::text
    ) as log
    from messages m where email_message_id is not null`
  for (const { email_status, log } of rows) expect([email_status, log]).toEqual(['sent', '1'])
  const seen = new Map<string, number>()
  for (const { raw } of sink.messages) {
    const id = /^Message-ID:\s*<([^>]+)>/im.exec(raw.toString())![1]!
    seen.set(id, (seen.get(id) ?? 0) + 1)
  }
  const ids = new Map(rows.map((row) => [row.id, row.email_message_id]))
  const lost = [...replies].filter((id) => !seen.has(ids.get(id) ?? '')).length
  const once = rows.filter((row) => seen.get(row.email_message_id) === 1).length
  return { lost, once, again: seen.size - once }
}

function print(table: Record<string, string | number>): void {
  console.log(
    Object.entries(table)
      .map(([name, value]) => `${name.padEnd(30)} ${value}`)
      .join('\n'),
  )
}
