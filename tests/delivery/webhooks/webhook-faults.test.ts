/** Processes that die, freeze and compete while they deliver: every event arrives, with one id and the same bytes. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { type Scope, SYSTEM } from '../../../src/base/scope'
import { updateWebhook } from '../../../src/delivery/webhooks/commands'
import { startApi, stopApi } from '../../support/api'
import type { TestDatabase } from '../../support/database'
import {
  checkDeliveries,
  emitMany,
  endLeases,
  holdLock,
  insertWebhooks,
  startDrainProcess,
  untilBlocked,
  untilDone,
} from '../../support/drain-processes'
import { type Receiver, startReceiver } from '../../support/receiver'
import { until } from '../../support/service'

let database: TestDatabase
let scope: Scope

beforeAll(async () => {
  database = await startApi()
})
afterAll(stopApi)
beforeEach(async () => {
  const organization_id = newId()
  scope = { ...connection(), organization_id, actor: SYSTEM }
  await scope.sql`truncate outbox`
  await scope.sql`insert into organizations (id, name) values (${organization_id}, 'Acme')`
})

const idsOf = (receiver: Receiver) => receiver.requests.map((request) => request.headers.get('x-service-delivery'))

test('killed between the lease and the send: sent once, by the next', async () => {
  using receiver = await startReceiver()
  await insertWebhooks(scope, receiver)
  await emitMany(scope, 1)
  const letGo = await holdLock('lock table webhooks in access exclusive mode')
  const first = startDrainProcess(database.url, receiver)
  await untilBlocked(scope, 'join webhooks')
  await first.kill()
  await letGo()
  expect(await scope.sql`select from outbox where lease_until > now() and claims = 1`).toHaveLength(1)
  expect(await checkDeliveries(scope, receiver.requests)).toMatchObject([{ status: 'pending', attempts: 0 }])
  await endLeases(scope)
  await using _second = startDrainProcess(database.url, receiver)
  await untilDone(scope)
  expect(receiver.requests).toHaveLength(1)
  expect(await checkDeliveries(scope, receiver.requests)).toMatchObject([{ status: 'success', attempts: 1 }])
})

test('killed while the receiver works: sent again, and the crash is no attempt', async () => {
  using receiver = await startReceiver({ answer: ['hang', 200] })
  await insertWebhooks(scope, receiver)
  await emitMany(scope, 1)
  const first = startDrainProcess(database.url, receiver)
  await receiver.waitFor(1)
  await first.kill()
  await endLeases(scope)
  await using _second = startDrainProcess(database.url, receiver)
  await untilDone(scope)
  const [once, again, ...more] = idsOf(receiver)
  expect(again).toBe(once!)
  expect(more).toEqual([])
  expect(await checkDeliveries(scope, receiver.requests)).toMatchObject([{ status: 'success', attempts: 1 }])
})

test('killed between the answer and its record: sent again, and recorded once', async () => {
  using receiver = await startReceiver()
  await insertWebhooks(scope, receiver)
  const held = Promise.withResolvers<() => Promise<void>>()
  const rows = `select from outbox where organization_id = '${scope.organization_id}' for update`
  receiver.answer = async () => {
    // The lease is committed by now; a process that ends it waits for us.
    if (receiver.requests.length === 1) held.resolve(await holdLock(rows))
    return 200
  }
  await emitMany(scope, 1)
  const first = startDrainProcess(database.url, receiver)
  const letGo = await held.promise
  await untilBlocked(scope, 'delete from outbox')
  await first.kill()
  await letGo()
  expect(await checkDeliveries(scope, receiver.requests)).toMatchObject([{ status: 'pending', attempts: 0 }])
  await endLeases(scope)
  await using _second = startDrainProcess(database.url, receiver)
  await untilDone(scope)
  expect(receiver.requests).toHaveLength(2)
  expect(await checkDeliveries(scope, receiver.requests)).toMatchObject([{ status: 'success', codes: [200] }])
})

test('killed half-way through the record: none of it is kept', async () => {
  using receiver = await startReceiver({ answer: [500, 200] })
  await insertWebhooks(scope, receiver)
  await emitMany(scope, 1)
  const letGo = await holdLock('lock table delivery_attempts in exclusive mode')
  const first = startDrainProcess(database.url, receiver)
  await untilBlocked(scope, 'insert into "delivery_attempts"')
  await first.kill()
  await letGo()
  expect(await checkDeliveries(scope, receiver.requests)).toMatchObject([{ status: 'pending', attempts: 0 }])
  await endLeases(scope)
  await using _second = startDrainProcess(database.url, receiver)
  await untilDone(scope)
  expect(receiver.requests).toHaveLength(2)
  expect(await checkDeliveries(scope, receiver.requests)).toMatchObject([{ status: 'success', codes: [200] }])
})

test.each([
  ['success', 200, 500],
  ['failure', 500, 200],
])(
  'frozen past its lease, with a %s recorded by another meanwhile: what comes late changes nothing',
  async (_, theirs, late) => {
    const answered = Promise.withResolvers<number>()
    using receiver = await startReceiver({ answer: [() => answered.promise, theirs] })
    await insertWebhooks(scope, receiver)
    await emitMany(scope, 1)
    await using first = startDrainProcess(database.url, receiver)
    await receiver.waitFor(1)
    first.freeze()
    await endLeases(scope)
    await using second = startDrainProcess(database.url, receiver)
    await until('the second has recorded its attempt', async () => {
      const { sql, organization_id } = scope
      return (await sql`select from delivery_attempts where organization_id = ${organization_id}`).length > 0
    })
    await second.kill()
    const before = await checkDeliveries(scope, receiver.requests)
    expect(before).toMatchObject([{ status: theirs === 200 ? 'success' : 'retrying', codes: [theirs] }])
    first.thaw()
    answered.resolve(late)
    await until('the first comes too late', () => first.output().includes('came too late'))
    expect(await checkDeliveries(scope, receiver.requests)).toEqual(before)
  },
)

test.each([2, 4])('%d processes share 1,000 deliveries: each is sent exactly once', async (count) => {
  using receiver = await startReceiver()
  await insertWebhooks(scope, receiver, 20)
  const processes = Array.from({ length: count }, () => startDrainProcess(database.url, receiver))
  for (let n = 0; n < 5; n++) await emitMany(scope, 10)
  await untilDone(scope)
  expect(await Promise.all(processes.map((child) => child.stop()))).toEqual(processes.map(() => 0))
  expect(receiver.requests).toHaveLength(1000)
  const deliveries = await checkDeliveries(scope, receiver.requests)
  expect(new Set(idsOf(receiver))).toEqual(new Set(deliveries.map(({ id }) => id)))
  expect(deliveries.every(({ status, attempts }) => status === 'success' && attempts === 1)).toBe(true)
})

test('SIGTERM during 50 slow sends: the other process takes them over at once', async () => {
  using receiver = await startReceiver({ answer: 'hang' })
  await insertWebhooks(scope, receiver, 50)
  await emitMany(scope, 1)
  const first = startDrainProcess(database.url, receiver)
  await receiver.waitFor(50)
  await using _second = startDrainProcess(database.url, receiver)
  receiver.answer = 200
  expect(await first.stop()).toBe(0)
  // The leases would hold longer than this test may take.
  await untilDone(scope)
  expect(receiver.requests).toHaveLength(100)
  const deliveries = await checkDeliveries(scope, receiver.requests)
  expect(deliveries.filter(({ status, attempts }) => status === 'success' && attempts === 1)).toHaveLength(50)
})

test('last attempts fail at once in two processes: each is counted, the rest waits and goes out later', async () => {
  const failed = Promise.withResolvers<number>()
  using receiver = await startReceiver({ answer: () => failed.promise })
  const [webhook_id] = await insertWebhooks(scope, receiver)
  await emitMany(scope, 10)
  const once = { RETRY_SCHEDULE_SECONDS: '0' }
  await using _first = startDrainProcess(database.url, receiver, once)
  await using _second = startDrainProcess(database.url, receiver, once)
  // A lane has one slot in each process while nothing is known of it.
  await receiver.waitFor(2)
  failed.resolve(500)
  await until('the rest waits', async () => {
    const busy = await scope.sql`select from outbox where run_at < 'infinity' or lease_until > now()`
    return busy.length === 0
  })
  const deliveries = await checkDeliveries(scope, receiver.requests)
  const exhausted = deliveries.filter(({ status }) => status === 'failed').length
  expect(exhausted).toBe(receiver.requests.length)
  const [webhook] = await scope.sql`select status, failure_count from webhooks where id = ${webhook_id!}`
  expect(webhook).toEqual({ status: 'failed', failure_count: exhausted })

  receiver.answer = 200
  const admin = { type: 'user', id: newId(), name: 'Ann', email: 'ann@desk.example', role: 'admin' } as const
  await updateWebhook({ ...scope, actor: admin }, webhook_id!, { active: true })
  await untilDone(scope)
  const ended = Object.groupBy(await checkDeliveries(scope, receiver.requests), ({ status }) => status)
  expect([ended.failed?.length, ended.success?.length ?? 0]).toEqual([exhausted, 10 - exhausted])
})
