/**
 * Three replicas under a steady load through haproxy: restarts fail no request and refuse no mail, a kill fails only
 * what was in flight, and a pause longer than a lease doubles nothing. RESTART_ROUNDS=10 restarts each of them ten
 * times.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres from 'postgres'
import { type Replicas, startReplicas, WHY_NO_REPLICAS } from '../support/replicas'
import { until } from '../support/service'
import { type SteadyLoad, startLoad } from '../support/steady-load'

const ROUNDS = Number(process.env.RESTART_ROUNDS ?? 1)
/** In a second. */
const RATES = { requests: Number(process.env.REQUESTS ?? 50), mails: Number(process.env.MAILS ?? 5) }
const MAILBOX = 'support@desk.example'
/** Longer than the lease of work, which is 60 s. */
const PAUSE_MS = 65_000

if (WHY_NO_REPLICAS) console.warn(`The tests with replicas are skipped: ${WHY_NO_REPLICAS}`)
const check = test.skipIf(Boolean(WHY_NO_REPLICAS))

let replicas: Replicas
let sql: postgres.Sql
let contact_id: string
let token: string

beforeAll(async () => {
  if (WHY_NO_REPLICAS) return
  replicas = await startReplicas(3)
  sql = postgres(replicas.database_url, { max: 2 })
  const first = replicas.services[0]!
  await first.call('POST', '/mailboxes', { address: MAILBOX })
  await first.call('POST', '/webhooks', { url: replicas.receiver.url, events: ['ticket.created'] })
  const contact = await first.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
  contact_id = contact.body.data.id
  token = first.token()
})
afterAll(async () => {
  await sql?.end()
  await replicas?.stop()
})

check(
  `${3 * ROUNDS} restarts under load fail no request and refuse no mail`,
  async () => {
    const load = startSteadyLoad()
    for (let round = 0; round < ROUNDS; round++) {
      for (const index of replicas.services.keys()) {
        expect(await replicas.services[index]!.stop()).toBe(0)
        await replicas.start(index)
      }
    }
    await load.stop()
    const { repeated } = await report('restarts', load)
    expect(load.faults).toEqual([])
    expect(repeated).toBe(0)
  },
  900_000,
)

check('kill -9 of one under load fails what is in flight there, and loses and doubles nothing', async () => {
  const load = startSteadyLoad()
  await until('requests are answered', () => load.created.size > 50)
  await replicas.services[1]!.kill()
  const after = load.requests + 200
  await until('requests go on', () => load.requests > after)
  await replicas.start(1)
  await load.stop()
  await report('kill -9', load)
  expect(load.faults.length).toBeLessThan(load.most_at_once)
})

check('a replica that is paused for longer than a lease loses and doubles nothing', async () => {
  const load = startSteadyLoad()
  await until('requests are answered', () => load.created.size > 50)
  replicas.services[2]!.process.kill('SIGSTOP')
  await Bun.sleep(PAUSE_MS)
  replicas.services[2]!.process.kill('SIGCONT')
  await load.stop()
  await report('pause', load)
  expect(load.faults.length).toBeLessThan(load.most_at_once)
})

function startSteadyLoad(): SteadyLoad {
  const { http_port, smtp_port } = replicas.haproxy
  return startLoad({ http_port, smtp_port, token, contact_id, mailbox: MAILBOX }, RATES)
}

/** Checks that what was acknowledged is there once, each ticket with its event. Prints the figures. */
async function report(what: string, load: SteadyLoad) {
  await until('all work is done', isAllDone)
  const tickets = await sql<{ id: string; subject: string }[]>`select id, subject from tickets`
  const count = countOf(tickets.map(({ subject }) => subject))
  const events = countOf(replicas.receiver.requests.map((request) => String(request.json().data.id)))
  const lost = [...load.created, ...load.mailed].filter((subject) => !count.has(subject))
  const doubled = [...count].filter(([, times]) => times > 1)
  const untold = tickets.filter(({ id }) => !events.has(id))
  const repeated = [...events.values()].filter((times) => times > 1).length
  const figures = {
    requests: load.requests,
    creates: load.created.size,
    mails: load.mailed.size,
    faults: load.faults.length,
    slowest_ms: Math.round(load.slowest_ms),
    ...{ lost: lost.length, doubled: doubled.length, without_event: untold.length, events_repeated: repeated },
  }
  console.log(`${what}: ${JSON.stringify(figures)}`)
  for (const [fault, times] of countOf(load.faults)) console.log(`  ${times} times ${fault}`)
  expect({ lost, doubled, untold }).toEqual({ lost: [], doubled: [], untold: [] })
  return { repeated }
}

async function isAllDone(): Promise<boolean> {
  const left = await sql`
    (select 1 from outbox limit 1) union all (select 1 from inbound_messages where outcome = 'pending' limit 1)`
  return left.length === 0
}

function countOf(list: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const entry of list) counts.set(entry, (counts.get(entry) ?? 0) + 1)
  return counts
}
