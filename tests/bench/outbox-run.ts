/** The measurements that `outbox.ts` starts. Arguments: files with the receiver's certificate and key. */
import { fork } from 'node:child_process'
import fs from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { config } from '../../src/base/config'
import { newId } from '../../src/base/db/columns'
import { startEmbedded } from '../../src/base/db/embedded/supervise'
import { migrateDatabase } from '../../src/base/db/migrate'
import { closeDatabase, connectDatabase, connection } from '../../src/base/db/pool'
import type { Connection, Sql } from '../../src/base/db/transact'
import { afterCommit, inTransaction, type Scope, SYSTEM } from '../../src/base/scope'
import { useSecrets } from '../../src/base/secrets'
import { startDrain } from '../../src/delivery/outbox/drain'
import { KINDS } from '../../src/delivery/outbox/kinds'
import { deliverWebhook } from '../../src/delivery/webhooks/deliver'
import { eventBody, publish } from '../../src/delivery/webhooks/publish'
import { LOOPBACK } from '../support/receiver'
import { withSettings } from '../support/settings'
import { measureHeld } from './outbox-held'
import { seedBacklog, seedFinished, seedWebhooks } from './outbox-seed'
import { type Cpu, cpuOf, treeOf } from './processes'
import { printUnmet } from './report'

const DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 100_000)
const FINISHED = Number(process.env.BENCH_FINISHED ?? 1_000_000)
const WEBHOOKS = Number(process.env.BENCH_WEBHOOKS ?? 50)
const SINGLE = Number(process.env.BENCH_SINGLE ?? 200)
/** Deliveries after which memory is first looked at. */
const WARM = Math.min(20_000, DELIVERIES / 2)

const DATA = {
  id: newId(),
  code: 'TKT-123456',
  subject: 'The printer on the second floor does not print on both sides any more',
  status: 'open',
  priority: 'normal',
  contact: { id: newId(), name: 'Carla Customer', email: 'carla@customer.example' },
  company: { id: newId(), name: 'Customer Ltd.' },
  assignee: { id: newId(), name: 'Alan Agent' },
  labels: [{ id: newId(), name: 'hardware', color: '#EF4444' }],
  created_at: '2026-01-01T12:00:00Z',
  updated_at: '2026-01-01T12:00:00Z',
}

const dir = path.join(tmpdir(), `deskwire-bench-${crypto.randomUUID()}`)
const database = await startEmbedded(path.join(dir, 'database'))
await migrateDatabase(database.connection)
useSecrets('a secret key that only benchmarks use')
connectDatabase(database.connection, config.DATABASE_POOL)
const receiver = fork(path.join(import.meta.dirname, 'outbox-receiver.ts'), process.argv.slice(2))
const { url } = await nextMessage<{ url: string }>()
withSettings({ WEBHOOK_ALLOWED_NETWORKS: LOOPBACK })

const { sql } = connection()
const scope: Scope = { ...connection(), organization_id: newId(), actor: SYSTEM }
const { organization_id } = scope
await sql`insert into organizations (id, name) values (${organization_id}, 'Acme')`
const webhooks = await seedWebhooks(sql, organization_id, url, WEBHOOKS)
const body = eventBody(scope, { type: 'ticket.created', data: DATA }, new Date())
console.log(`${cpus().length} processors, load ${load()}, ${DELIVERIES} deliveries of ${body.length} bytes each\n`)

const many = await measureBacklog(webhooks)
print(`a backlog over ${WEBHOOKS} webhooks`, many)
print('a backlog of one webhook', await measureBacklog(webhooks.slice(0, 1)))
const grown = process.memoryUsage.rss() - many.rss_when_warm
console.log(
  `memory                            ${megabytes(grown)} more after ${2 * DELIVERIES} deliveries than after ${WARM}`,
)
for (const clients of [KINDS.webhook.slots, KINDS.webhook.lane_slots]) {
  console.log(
    `fetch alone, ${String(clients).padStart(3)} at a time      ${(await measureFetch(clients)).toFixed(0)}/s, load ${load()}`,
  )
}
await measureSingle()
await measureHeld({ connection: connection(), holder: database.connection, organization_id, webhooks, body })
console.log(`\nmaking ${FINISHED} finished deliveries`)
await seedFinished(sql, organization_id, webhooks, body, FINISHED)
const late = await measureBacklog(webhooks)
print(`the same with ${FINISHED} finished`, late)
console.log(
  `                                  ${((100 * late.per_s) / many.per_s).toFixed(0)} % of the rate without them`,
)

printUnmet()
receiver.kill()
await closeDatabase(1)
await database.stop()
fs.rmSync(dir, { recursive: true, force: true })
process.exit(0)

type Figures = {
  per_s: number
  sender_ms: number
  database_ms: number
  claims: number
  claim_p50_ms: number
  claim_p99_ms: number
  rss_when_warm: number
  load: string
}

async function measureBacklog(lanes: string[]): Promise<Figures> {
  await seedBacklog(sql, organization_id, lanes, body, DELIVERIES)
  const claims: number[] = []
  const all = Promise.withResolvers<void>()
  let settled = 0
  let rss_when_warm = 0
  const before = cpuHere()
  const started_ms = performance.now()
  const drain = startDrain(
    timingClaims(connection(), claims),
    { webhook: deliverWebhook },
    {
      on_settled() {
        settled++
        if (settled === WARM) rss_when_warm = rss()
        if (settled === DELIVERIES) all.resolve()
      },
    },
  )
  await all.promise
  const seconds = (performance.now() - started_ms) / 1000
  const after = cpuHere()
  const at = loadavg()[0]!.toFixed(1)
  await drain.stop(1000)
  rss()
  return {
    per_s: DELIVERIES / seconds,
    sender_ms: (after.service_ms - before.service_ms) / DELIVERIES,
    database_ms: (after.database_ms - before.database_ms) / DELIVERIES,
    claims: claims.length,
    claim_p50_ms: quantile(claims, 0.5),
    claim_p99_ms: quantile(claims, 0.99),
    rss_when_warm,
    load: at,
  }
}

/** Processor time of this process, without the receiver, and of its database. */
function cpuHere(): Cpu {
  const tree = treeOf(process.pid)
  return cpuOf(tree.slice(0, 1), tree)
}

function print(
  name: string,
  { per_s, sender_ms, database_ms, claims, claim_p50_ms, claim_p99_ms, load }: Figures,
): void {
  console.log(
    `${name.padEnd(33)} ${per_s.toFixed(0)}/s, CPU ${sender_ms.toFixed(2)} ms + PostgreSQL ${database_ms.toFixed(2)} ms, ` +
      `${claims} claims p50 ${claim_p50_ms.toFixed(1)} ms p99 ${claim_p99_ms.toFixed(1)} ms, load ${load}`,
  )
}

/** The same requests, with nothing around them. */
async function measureFetch(clients: number): Promise<number> {
  const headers = { 'content-type': 'application/json', 'user-agent': 'Deskwire' }
  let left = DELIVERIES
  const loop = async () => {
    while (left-- > 0) {
      const response = await fetch(url, { method: 'POST', headers, body })
      await response.arrayBuffer()
    }
  }
  const started_ms = performance.now()
  await Promise.all(Array.from({ length: clients }, loop))
  return DELIVERIES / ((performance.now() - started_ms) / 1000)
}

/** From the commit of a single event to the receiver, on a service that has nothing else to do. */
async function measureSingle(): Promise<void> {
  await sql`update webhooks set active = (id = ${webhooks[0]!}) where organization_id = ${organization_id}`
  const drain = startDrain(connection(), { webhook: deliverWebhook })
  await drain.runOnce()
  receiver.send('tell')
  const times: number[] = []
  for (let n = 0; n < SINGLE; n++) {
    await Bun.sleep(20 + Math.random() * 60)
    const arrival = nextMessage<{ at_ms: number }>()
    let committed_ms = 0
    await inTransaction(scope, async (scope) => {
      afterCommit(scope, () => {
        committed_ms = performance.timeOrigin + performance.now()
      })
      await publish(scope, [{ type: 'ticket.created', data: DATA }])
    })
    times.push((await arrival).at_ms - committed_ms)
  }
  receiver.send('be silent')
  await drain.stop(1000)
  await sql`update webhooks set active = true where organization_id = ${organization_id}`
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)]
  console.log(`commit to receiver, idle          p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, load ${load()}`)
}

/** The connection, with the duration of each claim noted. */
function timingClaims({ db, sql }: Connection, durations: number[]): Connection {
  const timed = new Proxy(sql, {
    apply(target, self, given: Parameters<Sql>) {
      const query = Reflect.apply(target, self, given)
      if (!given[0].raw?.join('').includes('set lease_token')) return query
      const started_ms = performance.now()
      query.then(
        () => durations.push(performance.now() - started_ms),
        () => {},
      )
      return query
    },
  })
  return { db, sql: timed }
}

function nextMessage<Message>(): Promise<Message> {
  return new Promise((resolve) => receiver.once('message', (message) => resolve(message as Message)))
}

function quantile(values: number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0
}

/** Resident memory after what nobody uses has been freed. */
function rss(): number {
  Bun.gc(true)
  return process.memoryUsage.rss()
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`
}

function load(): string {
  return loadavg()[0]!.toFixed(1)
}
