/** Processes that are killed while they work: every job runs at least once and is settled once. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../src/base/db/columns'
import { connection } from '../../src/base/db/pool'
import { type Scope, SYSTEM } from '../../src/base/scope'
import { KINDS } from '../../src/delivery/outbox/kinds'
import { startApi, stopApi } from '../support/api'
import type { TestDatabase } from '../support/database'
import {
  checkDeliveries,
  emitMany,
  endLeases,
  insertWebhooks,
  startDrainProcess,
  untilDone,
} from '../support/drain-processes'
import { startReceiver } from '../support/receiver'
import { until } from '../support/service'

let database: TestDatabase
let scope: Scope

beforeAll(async () => {
  database = await startApi()
  const { sql } = connection()
  await sql`create table results (job_id uuid primary key, pid integer)`
  await sql`
    create table runs (
      n integer generated always as identity primary key, job_id uuid, pid integer, began_at timestamptz,
      ended_at timestamptz
    )`
})
afterAll(stopApi)
beforeEach(async () => {
  const organization_id = newId()
  scope = { ...connection(), organization_id, actor: SYSTEM }
  await scope.sql`truncate outbox, results, runs`
  await scope.sql`insert into organizations (id, name) values (${organization_id}, 'Acme')`
})

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

test('killed processes lose nothing, and no job is settled twice', async () => {
  using receiver = await startReceiver()
  const ids = await enqueueJobs(600)
  for (let round = 1; round <= 5; round++) {
    const processes = [1, 2].map(() => startDrainProcess(database.url, receiver))
    await until('some work is done', async () => (await scope.sql`select from results`).length >= round * 60)
    await Promise.all(processes.map((process) => process.kill()))
    await endLeases(scope)
  }
  await using _last = startDrainProcess(database.url, receiver)
  await untilDone(scope)
  const results = await scope.sql<{ job_id: string }[]>`select job_id from results order by job_id`
  expect(results.map((row) => row.job_id)).toEqual(ids)
  const lost = await scope.sql`select from runs where ended_at is null`
  // A killed process had at most its slots in flight.
  expect(lost.length).toBeLessThanOrEqual(5 * 2 * KINDS.inbound.slots)
})

test('every committed event reaches the receiver although its senders are killed, and is recorded once', async () => {
  using receiver = await startReceiver({ answer: { status: 200, delay_ms: 5 } })
  await insertWebhooks(scope, receiver, 10)
  for (let batch = 0; batch < 5; batch++) await emitMany(scope, 10)
  for (let round = 1; round <= 5; round++) {
    const process = startDrainProcess(database.url, receiver)
    await receiver.waitFor(round * 60)
    await process.kill()
    await endLeases(scope)
  }
  await using _last = startDrainProcess(database.url, receiver)
  await untilDone(scope)
  const deliveries = await checkDeliveries(scope, receiver.requests)
  expect(deliveries).toHaveLength(500)
  expect(deliveries.every(({ status, attempts }) => status === 'success' && attempts === 1)).toBe(true)
})
