/** Faults of the clock, the database and the network: the outbox loses nothing, and records every attempt as it was. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection, driverPool } from '../../../src/base/db/pool'
import { inTransaction, type Scope, SYSTEM } from '../../../src/base/scope'
import { startDrain } from '../../../src/delivery/outbox/drain'
import { deliverWebhook } from '../../../src/delivery/webhooks/deliver'
import { publish } from '../../../src/delivery/webhooks/publish'
import { startApi, stopApi } from '../../support/api'
import { stepClock } from '../../support/clock'
import { nodeUrls } from '../../support/cluster'
import { checkDeliveries, emitMany, endLeases, insertWebhooks } from '../../support/drain-processes'
import type { Receiver } from '../../support/receiver'
import { until } from '../../support/service'
import { changeSchema, onEachNode } from '../../support/triggers'
import { deliverDue, makeDue, queueOf, startTrustedReceiver } from '../../support/webhooks'

const HOUR_MS = 3_600_000

let scope: Scope
let receiver: Receiver
let webhook_id: string

beforeAll(async () => {
  await startApi(10)
  // PostgreSQL refuses to record attempts with the code that is put into `refusals`.
  await onEachNode('create table refusals (code text)')
  await onEachNode('create sequence refused')
  await changeSchema(
    `create function end_connection() returns trigger language plpgsql as $$
      begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`,
    `create function refuse() returns trigger language plpgsql as $$
      declare found text;
      begin
        select code into found from refusals limit 1;
        if found is not null then
          perform nextval('refused');
          raise exception using errcode = found, message = 'refused';
        end if;
        return new;
      end $$`,
    'create trigger refuse before insert on delivery_attempts for each row execute function refuse()',
  )
})
afterAll(stopApi)
beforeEach(async () => {
  const organization_id = newId()
  scope = { ...connection(), organization_id, actor: SYSTEM }
  await scope.sql`truncate outbox`
  await onEachNode('truncate refusals')
  await onEachNode('alter sequence refused restart')
  await scope.sql`insert into organizations (id, name) values (${organization_id}, 'Acme')`
  receiver = await startTrustedReceiver()
  const [id] = await insertWebhooks(scope, receiver)
  webhook_id = id!
})
afterEach(() => {
  stepClock(0)
  receiver[Symbol.dispose]()
})

test.each([
  ['an hour forward', HOUR_MS],
  ['an hour back', -HOUR_MS],
  ['a day forward', 24 * HOUR_MS],
  ['a day back', -24 * HOUR_MS],
])('a clock that steps %s changes no due time and no lease', async (_, step_ms) => {
  receiver.answer = async () => {
    // While the attempt is under way.
    stepClock(step_ms)
    return 500
  }
  await emitMany(scope, 1)
  await deliverDue()
  const [queued] = await queueOf(scope, webhook_id)
  expect(queued).toMatchObject({ attempts: 1 })
  expect(queued!.due_in_s).toBeGreaterThan(50)
  expect(queued!.due_in_s).toBeLessThanOrEqual(66)
  await deliverDue()
  expect(receiver.requests).toHaveLength(1)

  receiver.answer = 200
  await emitMany(scope, 1)
  await makeDue(scope)
  await deliverDue()
  expect(receiver.requests).toHaveLength(3)
  const deliveries = await checkDeliveries(scope, receiver.requests)
  expect(deliveries.map(({ codes }) => codes).sort()).toEqual([[200], [500, 200]])
})

test.each([
  ['back', -24 * HOUR_MS],
  ['forward', 24 * HOUR_MS],
])('a clock that steps a day %s does not keep a drain from looking', async (_, step_ms) => {
  const drain = startDrain(connection(), { webhook: deliverWebhook })
  await drain.runOnce()
  // The first may be found because the drain has just begun to listen.
  await insertUntold()
  await receiver.waitFor(1)
  stepClock(step_ms)
  for (let count = 2; count <= 3; count++) {
    await insertUntold()
    await receiver.waitFor(count)
  }
  await drain.stop(1000)
  const deliveries = await checkDeliveries(scope, receiver.requests)
  expect(deliveries.map(({ codes }) => codes)).toEqual([[200], [200], [200]])
})

/** An event whose NOTIFY never arrives and whose process is gone. */
async function insertUntold(): Promise<void> {
  await inTransaction(scope, async (scope) => {
    await publish({ ...scope, after_commit: [] }, [{ type: 'ticket.created', data: {} }])
  })
}

test('a snapshot that is held open hides nothing, doubles nothing, and sees what it saw', async () => {
  await emitMany(scope, 100)
  const holder = await driverPool().reserve()
  await holder`begin isolation level repeatable read`
  const [before] = await holder<{ n: number }[]>`select count(*) as n from outbox`
  for (let n = 0; n < 4; n++) {
    await deliverDue()
    await emitMany(scope, 100)
  }
  await deliverDue()
  const [after] = await holder<{ n: number }[]>`select count(*) as n from outbox`
  await holder`rollback`
  holder.release()
  expect(after).toEqual(before!)
  expect(receiver.requests).toHaveLength(500)
  const deliveries = await checkDeliveries(scope, receiver.requests)
  expect(deliveries.filter(({ status, attempts }) => status === 'success' && attempts === 1)).toHaveLength(500)
})

const BY_THE_COMMIT = [
  'by the commit',
  `create constraint trigger end_at_commit after update on organizations
    deferrable initially deferred for each row execute function end_connection()`,
]

test.each([
  ['before the commit', `select pg_terminate_backend(pg_backend_pid())`],
  // Citus takes no trigger on a table that every node has a copy of.
  ...(nodeUrls() ? [] : [BY_THE_COMMIT]),
])('a transaction whose connection is lost %s leaves neither change nor event', async (_, lose) => {
  const { sql, organization_id } = scope
  const change = inTransaction(scope, async (scope) => {
    await publish(scope, [{ type: 'ticket.created', data: {} }])
    await scope.sql.unsafe(lose)
    await scope.sql`update organizations set name = 'Changed' where id = ${organization_id}`
  })
  expect(await change.then(String, (error) => error.code)).toMatch(/^(CONNECTION_CLOSED|57P01)$/)
  await deliverDue()
  expect(receiver.requests).toEqual([])
  expect(await checkDeliveries(scope, receiver.requests)).toEqual([])
  expect([...(await sql`select name from organizations where id = ${organization_id}`)]).toEqual([{ name: 'Acme' }])
})

test.each([
  ['a full disk', '53100'],
  ['too little memory', '53200'],
  ['a deadlock', '40P01'],
  ['a serialization failure', '40001'],
  ['a time limit', '57014'],
  ['a lock that cannot be had', '55P03'],
])('an outcome that PostgreSQL refuses for %s is recorded later, and not sent again', async (_, code) => {
  await onEachNode(`insert into refusals values ('${code}')`)
  await emitMany(scope, 1)
  const drained = deliverDue()
  await receiver.waitFor(1)
  await until('it was refused', wasRefused)
  expect(await checkDeliveries(scope, receiver.requests)).toMatchObject([{ status: 'pending', attempts: 0 }])
  await onEachNode('truncate refusals')
  await drained
  expect(receiver.requests).toHaveLength(1)
  expect(await checkDeliveries(scope, receiver.requests)).toMatchObject([{ status: 'success', attempts: 1 }])
})

/** Transactions that were undone leave a trace in a sequence only. */
async function wasRefused(): Promise<boolean> {
  return (await onEachNode("select case when is_called then 'yes' end from refused")).includes('yes')
}

test('leases whose claim was committed and never answered are given back as soon as the database answers', async () => {
  await emitMany(scope, 3)
  let lost = 0
  const sql = new Proxy(scope.sql, {
    apply(statement, self, [strings, ...values]: [TemplateStringsArray, ...unknown[]]) {
      const query = Reflect.apply(statement, self, [strings, ...values])
      if (lost > 0 || !strings.join('').includes('skip locked')) return query
      lost++
      return query.then(() => Promise.reject(Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' })))
    },
  })
  const drain = startDrain({ ...scope, sql }, { webhook: deliverWebhook })
  await receiver.waitFor(3)
  await drain.stop(5000)
  expect(lost).toBe(1)
  expect(receiver.requests).toHaveLength(3)
  const deliveries = await checkDeliveries(scope, receiver.requests)
  expect(deliveries.filter(({ status, attempts }) => status === 'success' && attempts === 1)).toHaveLength(3)
})

test('an outcome that waits for the database beyond its lease gives way to that of the next worker', async () => {
  receiver.answer = [200, 500]
  await onEachNode("insert into refusals values ('53100')")
  await emitMany(scope, 1)
  const first = deliverDue()
  await receiver.waitFor(1)
  await until('it was refused', wasRefused)
  await endLeases(scope)
  // It looks again where the first, which goes on trying, holds the row just then.
  const next = startDrain(connection(), { webhook: deliverWebhook })
  await receiver.waitFor(2)
  await onEachNode('truncate refusals')
  await first
  await next.stop(20_000)
  expect(await checkDeliveries(scope, receiver.requests)).toMatchObject([{ status: 'retrying', codes: [500] }])
})
