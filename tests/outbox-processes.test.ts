/** Several processes on one PostgreSQL, and processes that die: at least once, never twice at the same time. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import path from 'node:path'
import { closeDatabase, connectDatabase, connection } from '../src/db/client'
import { newId } from '../src/db/columns'
import { enqueueEvents } from '../src/outbox/enqueue'
import { inTransaction, type Scope, SYSTEM } from '../src/scope'
import { createDatabase, type TestDatabase } from './support/database'
import { LOOPBACK_SETTING, startReceiver } from './support/receiver'

/** How the processes are called in the list of connections. */
const CHILD_NAME = `drain-${crypto.randomUUID()}`

let database: TestDatabase
let scope: Scope
const started: Bun.Subprocess[] = []

beforeAll(async () => {
  database = await createDatabase()
  connectDatabase(database.target, 5)
  const { sql } = connection()
  await sql`create table results (job_id uuid primary key, pid integer)`
  await sql`
    create table runs (
      n integer generated always as identity primary key, job_id uuid, pid integer, began_at timestamptz,
      ended_at timestamptz
    )`
})
afterAll(async () => {
  for (const process of started) process.kill('SIGKILL')
  await closeDatabase(1)
  await database.drop()
})
beforeEach(async () => {
  const organization_id = newId()
  scope = { ...connection(), organization_id, actor: SYSTEM }
  await scope.sql`truncate outbox, results, runs`
  await scope.sql`insert into organizations (id, name) values (${organization_id}, 'Acme')`
})

/** A process that works off the outbox until it is killed. */
function startProcess(env: Record<string, string> = {}): Bun.Subprocess {
  const child = Bun.spawn([process.execPath, '--no-orphans', path.join(import.meta.dir, 'support/drain-process.ts')], {
    env: {
      ...process.env,
      NODE_ENV: 'test',
      DATABASE_URL: `${database.url}?application_name=${CHILD_NAME}`,
      SECRET_KEY: 'a secret key that only tests use',
      WEBHOOK_ALLOWED_NETWORKS: LOOPBACK_SETTING,
      BUN_CONFIG_MAX_HTTP_REQUESTS: '2048',
      ...env,
    },
    stdout: 'inherit',
    stderr: 'inherit',
  })
  started.push(child)
  return child
}

/** Also waits for the server to be done with their last statements: one of them may still lease rows. */
async function kill(...children: Bun.Subprocess[]): Promise<void> {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.map((child) => child.exited))
  await until(async () => {
    const left = await scope.sql`select pid from pg_stat_activity where application_name = ${CHILD_NAME}`
    return left.length === 0
  })
}

/** As if the leases of dead processes had run out. Those of living ones are kept. */
async function endLeases(): Promise<void> {
  await scope.sql`update outbox set lease_until = now() - interval '1 second' where lease_until > now()`
}

/** Jobs for the processes, in several lanes. */
async function enqueueJobs(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, newId)
  const lanes = Array.from({ length: 10 }, newId)
  await scope.sql`
    insert into outbox (organization_id, id, kind, lane_id)
    select ${scope.organization_id}::uuid, id, 'inbound', (${lanes}::uuid[])[1 + place % 10]
    from unnest(${ids}::uuid[]) with ordinality as x (id, place)`
  return ids
}

async function count(table: string): Promise<number> {
  const [row] = await scope.sql<{ n: number }[]>`select count(*) as n from ${scope.sql(table)}`
  return row!.n
}

/** Resolves when `check` is true; the test's own time limit is what ends a wait in vain. */
async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check())) await Bun.sleep(10)
}

test('two processes share the work, and no job is done twice', async () => {
  const ids = await enqueueJobs(400)
  const processes = [startProcess(), startProcess()]
  await until(async () => (await count('outbox')) === 0)
  for (const child of processes) child.kill('SIGTERM')
  expect(await Promise.all(processes.map((child) => child.exited))).toEqual([0, 0])
  const runs = await scope.sql<{ job_id: string; pid: number }[]>`select job_id, pid from runs order by job_id`
  expect(runs.map((run) => run.job_id)).toEqual(ids)
  expect(new Set(runs.map((run) => run.pid)).size).toBe(2)
}, 30_000)

test('killed processes lose nothing, and no job is settled twice', async () => {
  const ids = await enqueueJobs(600)
  for (let round = 1; round <= 5; round++) {
    const processes = [startProcess(), startProcess()]
    await until(async () => (await count('results')) >= round * 60)
    await kill(...processes)
    await endLeases()
  }
  const last = startProcess()
  await until(async () => (await count('outbox')) === 0)
  await kill(last)
  const results = await scope.sql<{ job_id: string }[]>`select job_id from results order by job_id`
  expect(results.map((row) => row.job_id)).toEqual(ids)
  const [lost] = await scope.sql<{ n: number }[]>`select count(*) as n from runs where ended_at is null`
  // A killed process had at most its slots in flight.
  expect(lost!.n).toBeLessThanOrEqual(5 * 2 * 4)
}, 60_000)

test('every committed event reaches the receiver although its senders are killed, and is recorded once', async () => {
  using receiver = await startReceiver({ answer: { status: 200, delay_ms: 5 } })
  const { sql, organization_id } = scope
  for (let n = 0; n < 10; n++) {
    await sql`
      insert into webhooks (organization_id, id, url, events)
      values (${organization_id}, ${newId()}, ${`${receiver.url}/${n}`}, ${['ticket.created']}::text[])`
  }
  for (let batch = 0; batch < 5; batch++) {
    const events = Array.from({ length: 10 }, (_, n) => ({ type: 'ticket.created' as const, data: { batch, n } }))
    await inTransaction(scope, (scope) => enqueueEvents(scope, events))
  }
  for (let round = 1; round <= 5; round++) {
    const child = startProcess({ WEBHOOK_CA_FILE: receiver.ca_file })
    await receiver.waitFor(round * 60, 20_000)
    await kill(child)
    await endLeases()
  }
  const last = startProcess({ WEBHOOK_CA_FILE: receiver.ca_file })
  await until(async () => (await count('outbox')) === 0)
  await kill(last)

  const deliveries = await sql<{ id: string; status: string; attempts: number; log: number }[]>`
    select d.id, d.status, d.attempts, (
      select count(*) from delivery_attempts a
      where a.organization_id = d.organization_id and a.delivery_id = d.id
    ) as log
    from deliveries d where organization_id = ${organization_id}`
  expect(deliveries).toHaveLength(500)
  const once = deliveries.filter(({ status, attempts, log }) => status === 'success' && attempts === 1 && log === 1)
  expect(once).toHaveLength(500)
  const received = new Set(receiver.requests.map((request) => request.headers.get('x-service-delivery')))
  expect(received).toEqual(new Set(deliveries.map((delivery) => delivery.id)))
}, 60_000)

test('a process that was stopped with SIGTERM leaves its work to the others at once', async () => {
  using receiver = await startReceiver({ answer: 'hang' })
  const { sql, organization_id } = scope
  await sql`
    insert into webhooks (organization_id, id, url, events)
    values (${organization_id}, ${newId()}, ${receiver.url}, ${['ticket.created']}::text[])`
  await inTransaction(scope, (scope) => enqueueEvents(scope, [{ type: 'ticket.created', data: {} }]))
  const first = startProcess({ WEBHOOK_CA_FILE: receiver.ca_file })
  await receiver.waitFor(1)
  first.kill('SIGTERM')
  expect(await first.exited).toBe(0)
  const second = startProcess({ WEBHOOK_CA_FILE: receiver.ca_file })
  const [before, after] = await receiver.waitFor(2)
  await kill(second)
  expect(after!.headers.get('x-service-delivery')).toBe(before!.headers.get('x-service-delivery'))
}, 30_000)
