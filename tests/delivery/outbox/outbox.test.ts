/** The drain: leases, settling, fairness. With handlers that the tests define, and real rows. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { config } from '../../../src/base/config'
import { newId } from '../../../src/base/db/columns'
import { connection, driverPool } from '../../../src/base/db/pool'
import { OUTBOX_KINDS } from '../../../src/base/db/schema'
import { makePrivateFolder } from '../../../src/base/process/private-folder'
import { inTransaction, type Scope, SYSTEM } from '../../../src/base/scope'
import { claim, renew } from '../../../src/delivery/outbox/claim'
import { drainOutbox, startDrain } from '../../../src/delivery/outbox/drain'
import { enqueueWork } from '../../../src/delivery/outbox/enqueue'
import { waitForFirstAttempt } from '../../../src/delivery/outbox/first-attempt'
import { holdOutbox, resumeOutbox } from '../../../src/delivery/outbox/hold'
import {
  inBatch,
  type OutboxAttempt,
  type OutboxJob,
  type OutboxKind,
  type Settlement,
} from '../../../src/delivery/outbox/job'
import { KINDS } from '../../../src/delivery/outbox/kinds'
import { Settler } from '../../../src/delivery/outbox/settle'
import { listenForWakes, WAKE_CHANNEL } from '../../../src/delivery/outbox/wake'
import { startApi, stopApi } from '../../support/api'
import { endLeases } from '../../support/drain-processes'
import { until } from '../../support/service'
import { changeSchema } from '../../support/triggers'

let scope: Scope

beforeAll(async () => {
  await startApi(10)
  await connection().sql`create table results (id uuid primary key, worker text)`
})
afterAll(stopApi)
beforeEach(async () => {
  scope = { ...connection(), organization_id: newId(), actor: SYSTEM }
  await scope.sql`truncate outbox, results`
})

/** Rows that are due now; those of one lane in the order of their ids. */
async function enqueue(kind: OutboxKind, count: number, lane_id = newId()): Promise<string[]> {
  const ids = Array.from({ length: count }, newId)
  await scope.sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    select ${scope.organization_id}::uuid, id, ${kind}, ${lane_id}::uuid, now() - (${count} - place) * interval '1 ms'
    from unnest(${ids}::uuid[]) with ordinality as x (id, place)`
  return ids
}

function rowsLeft() {
  return scope.sql<{ id: string; run_in_s: number; leased: boolean; attempts: number; claims: number }[]>`
    select id, extract(epoch from run_at - now())::float8 as run_in_s, lease_until > now() as leased, attempts, claims
    from outbox where run_at < 'infinity' order by id`
}

/** A handler that writes who did it, with the outcome. */
function resultsBy(worker: string, work: (job: OutboxJob) => Promise<unknown> = async () => {}): OutboxAttempt {
  return async (job) => {
    await work(job)
    return {
      type: 'done',
      settle: async ({ sql }) => void (await sql`insert into results values (${job.id}, ${worker})`),
    }
  }
}

async function results(): Promise<{ id: string; worker: string }[]> {
  return scope.sql<{ id: string; worker: string }[]>`select id, worker from results order by id`
}

test('a job is done once, and its row goes together with what the handler writes', async () => {
  const ids = await enqueue('inbound', 3)
  const jobs: OutboxJob[] = []
  await drainOutbox(connection(), { inbound: resultsBy('a', async (job) => jobs.push(job)) })
  expect(jobs.map((job) => job.id).sort()).toEqual(ids)
  expect(jobs[0]).toEqual({
    organization_id: scope.organization_id,
    id: expect.any(String),
    lane_id: expect.any(String),
    attempts: 0,
    claims: 1,
    traceparent: null,
    lease_token: expect.any(String),
    due_ms: expect.any(Number),
  })
  expect((await results()).map((row) => row.id)).toEqual(ids)
  expect(await rowsLeft()).toHaveLength(0)
})

test('only due rows of a kind that has a handler are taken', async () => {
  const [later] = await enqueue('email', 1)
  const [other] = await enqueue('webhook', 1)
  await scope.sql`update outbox set run_at = now() + interval '1 minute' where id = ${later!}`
  await drainOutbox(connection(), { email: resultsBy('a'), inbound: resultsBy('a') })
  expect((await rowsLeft()).map((row) => row.id)).toEqual([later!, other!])
})

test('in a restored service nothing that leaves it is begun until the operator says so, and mail is filed', async () => {
  const kinds = ['webhook', 'email', 'letter', 'draft', 'inbound'] as const
  for (const kind of kinds) await enqueue(kind, 1)
  const handlers = Object.fromEntries(kinds.map((kind) => [kind, resultsBy(kind)]))
  makePrivateFolder(config.DATA_DIR)
  holdOutbox()
  try {
    await drainOutbox(connection(), handlers)
    expect((await results()).map(({ worker }) => worker)).toEqual(['inbound'])
    // A request does not wait for what is not begun.
    await waitForFirstAttempt(scope, newId(), 3_600_000)
  } finally {
    expect([resumeOutbox(), resumeOutbox()]).toEqual([true, false])
  }
  await drainOutbox(connection(), handlers)
  expect((await results()).map(({ worker }) => worker).toSorted()).toEqual([...kinds].toSorted())
  expect(await rowsLeft()).toHaveLength(0)
})

test('outcomes with the same function are written together', async () => {
  const ids = await enqueue('email', 8)
  const batches: string[][] = []
  const write = async (_: unknown, rows: string[]) => void batches.push(rows)
  await drainOutbox(connection(), { email: async (job) => ({ type: 'done', ...inBatch(write, job.id) }) })
  expect(batches.flat().sort()).toEqual(ids)
  expect(batches.length).toBeLessThan(ids.length)
})

test('rows that cannot be written are our own fault: only their job is put off, without counting', async () => {
  const ids = await enqueue('webhook', 4)
  const write = async ({ sql }: { sql: Scope['sql'] }, rows: string[]) => {
    for (const id of rows) await sql`insert into results values (${id === ids[2] ? 'no uuid' : id}, 'a')`
  }
  await drainOutbox(connection(), { webhook: async (job) => ({ type: 'done', ...inBatch(write, job.id) }) })
  expect((await results()).map((row) => row.id)).toEqual(ids.filter((id) => id !== ids[2]))
  const left = await rowsLeft()
  expect(left).toMatchObject([{ id: ids[2], attempts: 0, claims: 0, leased: false }])
  expect(left[0]!.run_in_s).toBeGreaterThan(50)
})

test('a retry that counts raises the attempts; one that does not leaves no trace', async () => {
  const [counted] = await enqueue('email', 1)
  const [uncounted] = await enqueue('email', 1)
  await drainOutbox(connection(), {
    email: async (job) => ({ type: 'retry', delay_s: 600, counts: job.id === counted }),
  })
  const left = await rowsLeft()
  expect(left).toMatchObject([
    { id: counted, attempts: 1, claims: 1, leased: false },
    { id: uncounted, attempts: 0, claims: 0, leased: false },
  ])
  for (const { run_in_s } of left) expect(Math.abs(run_in_s - 600)).toBeLessThan(10)
})

test('inbound mail that fails is tried again for ever: after 5 s, 30 s, 2 min, then each 10 min', async () => {
  await enqueue('inbound', 1)
  const delays = []
  for (let attempt = 1; attempt <= 14; attempt++) {
    await drainOutbox(connection(), { inbound: () => Promise.reject(new Error('the disk is full')) })
    const [row] = await rowsLeft()
    delays.push(Math.ceil(row!.run_in_s))
    await scope.sql`update outbox set run_at = now()`
  }
  expect(delays).toEqual([5, 30, 120, ...Array(11).fill(600)])
})

test('a job that is leased more than 25 times without an outcome is parked and not tried again', async () => {
  const [poison] = await enqueue('inbound', 1)
  let runs = 0
  const handler = async () => {
    runs++
    return { type: 'done' } as const
  }
  await scope.sql`update outbox set claims = 25`
  await drainOutbox(connection(), { inbound: handler })
  expect(runs).toBe(0)
  const [row] = await scope.sql`select run_at = 'infinity' as parked, lease_until > now() as leased from outbox`
  expect(row).toEqual({ parked: true, leased: false })
  await scope.sql`update outbox set claims = 24, run_at = now() where id = ${poison!}`
  await drainOutbox(connection(), { inbound: handler })
  expect(runs).toBe(1)
})

test('a lease that holds is respected, one that ran out is taken by whoever comes', async () => {
  const [held, lost] = await enqueue('email', 2)
  await scope.sql`update outbox set lease_until = now() + interval '10 s', lease_token = ${newId()} where id = ${held!}`
  await scope.sql`update outbox set lease_until = now() - interval '1 ms', lease_token = ${newId()} where id = ${lost!}`
  await drainOutbox(connection(), { email: resultsBy('a') })
  expect((await results()).map((row) => row.id)).toEqual([lost!])
  expect((await rowsLeft()).map((row) => row.id)).toEqual([held!])
})

test('a row that another process is taking just now is left to it, without waiting', async () => {
  const [taken, free] = await enqueue('email', 2)
  await inTransaction(scope, async ({ sql }) => {
    await sql`
      select from outbox where organization_id = ${scope.organization_id} and id = ${taken!} for update`
    await drainOutbox(connection(), { email: resultsBy('a') })
  })
  expect((await results()).map((row) => row.id)).toEqual([free!])
  expect(await rowsLeft()).toMatchObject([{ id: taken, claims: 0 }])
})

test('a lease is renewed while it holds, and never after it ran out', async () => {
  const lane_id = newId()
  const [held, lost] = await enqueue('email', 2, lane_id)
  const jobs = await claim(scope.sql, 'email', scope.organization_id, [{ lane_id, room: 2 }], newId())
  expect(jobs).toHaveLength(2)
  await scope.sql`update outbox set lease_until = now() + interval '5 s' where id = ${held!}`
  await scope.sql`update outbox set lease_until = now() - interval '1 ms' where id = ${lost!}`
  await renew(scope.sql, jobs)
  const rows = await scope.sql`
    select id, lease_until > now() + interval '30 s' as renewed from outbox order by id`
  expect([...rows]).toEqual([
    { id: held, renewed: true },
    { id: lost, renewed: false },
  ])
})

test('a claim that takes longer than the attempts beside it is waited for', async () => {
  const ids = await enqueue('email', 3)
  await changeSchema(
    `create function take_long() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return new; end $$`,
    `create trigger take_long before update on outbox for each row when (new.id = '${ids[2]}')
        execute function take_long()`,
  )
  const done: string[] = []
  await drainOutbox(connection(), {
    // A lane that fails has one slot, so that the last is claimed when the second has ended.
    email: async ({ id }) => {
      if (id === ids[1]) await Bun.sleep(200)
      return { type: 'done', healthy: false, ...inBatch(async () => void done.push(id), id) }
    },
  })
  await changeSchema('drop function take_long cascade')
  expect(done).toEqual(ids)
})

test('a worker that was frozen past its lease changes nothing when it comes back', async () => {
  const [id] = await enqueue('email', 1)
  const frozen = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const first = drainOutbox(connection(), {
    email: resultsBy('the frozen one', async () => {
      started.resolve()
      await frozen.promise
    }),
  })
  await started.promise
  await endLeases(scope)
  const second = Promise.withResolvers<void>()
  const other = drainOutbox(connection(), { email: resultsBy('the other one', () => second.promise) })
  await until('the other has leased it', async () => (await rowsLeft())[0]?.claims === 2)
  frozen.resolve()
  await first
  expect(await results()).toEqual([])
  expect(await rowsLeft()).toMatchObject([{ id, leased: true, claims: 2 }])
  second.resolve()
  await other
  expect(await results()).toEqual([{ id: id!, worker: 'the other one' }])
})

test('of a row that was leased again, a batch with both outcomes writes only that of the lease that holds', async () => {
  const [id] = await enqueue('inbound', 1)
  const { organization_id } = scope
  const job = { organization_id, id: id!, lane_id: newId(), attempts: 0, claims: 1, traceparent: null, due_ms: null }
  const [late, holder] = [newId(), newId()].map((lease_token) => ({ ...job, lease_token })) as [OutboxJob, OutboxJob]
  await scope.sql`update outbox set lease_token = ${holder.lease_token} where id = ${id!}`
  const settler = new Settler(connection(), KINDS.inbound.afterFault)
  const settle = (job: OutboxJob, worker: string) =>
    settler.settle(job, { type: 'done', ...inBatch(writeWorkers, { id: job.id, worker }, 'line') })
  expect(await Promise.all([settle(late, 'late'), settle(holder, 'holder')])).toEqual([false, true])
  expect(await results()).toEqual([{ id: id!, worker: 'holder' }])
})

async function writeWorkers({ sql }: Settlement, rows: { id: string; worker: string }[]): Promise<void> {
  for (const { id, worker } of rows) await sql`insert into results values (${id}, ${worker})`
}

test('several drains share the work: no row is done twice', async () => {
  const lanes = await Promise.all(Array.from({ length: 20 }, () => enqueue('email', 10)))
  const seen: string[] = []
  const handler = resultsBy('any', async (job) => {
    seen.push(job.id)
    await Bun.sleep(1)
  })
  const drains = [1, 2, 3].map(() => startDrain(connection(), { email: handler }))
  await Promise.all(drains.map((drain) => drain.runOnce()))
  await until('all are done', async () => (await results()).length === 200)
  await Promise.all(drains.map((drain) => drain.stop(5000)))
  expect(seen.sort()).toEqual(lanes.flat().sort())
})

test('a lane gets more slots while it answers, up to its limit, and one after a failure', async () => {
  const lane = newId()
  await enqueue('email', 40, lane)
  let in_flight = 0
  let most = 0
  const handler = async (ok: boolean) => {
    most = Math.max(most, ++in_flight)
    await Bun.sleep(5)
    in_flight--
    return ok ? ({ type: 'done' } as const) : ({ type: 'done', healthy: false } as const)
  }
  await drainOutbox(connection(), { email: () => handler(true) })
  expect(most).toBe(KINDS.email.lane_slots)
  most = 0
  await enqueue('email', 10, lane)
  await drainOutbox(connection(), { email: () => handler(false) })
  expect(most).toBe(1)
})

test('endpoints that hang delay neither those that answer nor other kinds', async () => {
  const hanging = new Set<string>()
  const never = new Promise<never>(() => {})
  for (let n = 0; n < 400; n++) {
    const lane = newId()
    hanging.add(lane)
    await enqueue('webhook', 4, lane)
  }
  const done: string[] = []
  const drain = startDrain(connection(), {
    webhook: async (job) => {
      if (hanging.has(job.lane_id)) await never
      done.push(job.id)
      return { type: 'done' }
    },
    email: resultsBy('a'),
  })
  await until('all slots are taken', async () => {
    return (await rowsLeft()).filter((row) => row.leased).length >= KINDS.webhook.slots
  })
  const [email] = await enqueue('email', 1)
  const [healthy] = await enqueue('webhook', 1)
  await until('the others are done', async () => {
    return done.includes(healthy!) && (await results()).some((row) => row.id === email)
  })
  await drain.stop(0)
})

test('one organization never holds all slots of inbound mail', async () => {
  const busy = newId()
  const never = new Promise<never>(() => {})
  let hangs = false
  let held = 0
  const done: string[] = []
  const drain = startDrain(connection(), {
    inbound: async (job) => {
      if (hangs && job.lane_id === busy) {
        held++
        await never
      }
      done.push(job.id)
      return { type: 'done' }
    },
  })
  // It earns all the slots that a lane can have.
  const { lane_slots } = KINDS.inbound
  await enqueue('inbound', lane_slots * 2, busy)
  await until('it was served', () => done.length === lane_slots * 2)
  hangs = true
  await enqueue('inbound', lane_slots * 2, busy)
  await until('it holds all it can', () => held === lane_slots)
  const [other, another] = [...(await enqueue('inbound', 1)), ...(await enqueue('inbound', 1))]
  await until('the others are served', () => done.includes(other!) && done.includes(another!))
  expect(held).toBeLessThan(KINDS.inbound.slots)
  await drain.stop(0)
})

test('a backlog of one lane hides no other', async () => {
  const busy = newId()
  await enqueue('webhook', 3000, busy)
  const [healthy] = await enqueue('webhook', 1)
  const never = new Promise<never>(() => {})
  const done: string[] = []
  const drain = startDrain(connection(), {
    webhook: async (job) => {
      if (job.lane_id === busy) await never
      done.push(job.id)
      return { type: 'done' }
    },
  })
  await until('the other lane is served', () => done.includes(healthy!))
  const rows = await scope.sql`select id from outbox where lane_id = ${busy} and lease_until > now()`
  await drain.stop(0)
  expect(rows).toHaveLength(1)
})

test('stopping lets what is in flight end and gives the rest back as if it had not been taken', async () => {
  const [slow] = await enqueue('email', 1)
  const [stuck] = await enqueue('email', 1)
  const end = Promise.withResolvers<void>()
  let begun = 0
  const drain = startDrain(connection(), {
    email: resultsBy('the first', (job) => {
      begun++
      return job.id === slow ? end.promise : new Promise(() => {})
    }),
  })
  await until('both have begun', () => begun === 2)
  const stopped = drain.stop(2000)
  await enqueue('email', 1)
  end.resolve()
  await stopped
  expect(begun).toBe(2)
  expect((await results()).map((row) => row.id)).toEqual([slow!])
  const left = await rowsLeft()
  expect(left).toMatchObject([{ id: stuck, leased: false, attempts: 0, claims: 0 }, { leased: false }])
  await drainOutbox(connection(), { email: resultsBy('the second') })
  expect(await results()).toHaveLength(3)
})

test('committed work is told to all processes, rolled back work to none', async () => {
  const told: OutboxKind[] = []
  const listening = Promise.withResolvers<void>()
  const listener = listenForWakes((kind) => {
    told.push(kind)
    listening.resolve()
  })
  await listening.promise
  told.length = 0
  await inTransaction(scope, async (scope) => {
    await enqueueWork(scope, 'email', newId(), newId())
    throw new Error('roll back')
  }).catch(() => {})
  await inTransaction(scope, (scope) => enqueueWork(scope, 'inbound', newId(), newId()))
  await until('it is told', () => told.length > 0)
  await listener.stop()
  expect(told).toEqual(['inbound'])
})

test('a listener that lost its connection comes back and looks at everything', async () => {
  const told: OutboxKind[] = []
  const listener = listenForWakes((kind) => told.push(kind))
  await until('it looks at everything', () => told.length === OUTBOX_KINDS.length)
  told.length = 0
  await scope.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query ilike ${`listen %${WAKE_CHANNEL}%`}`
  await until('it looks at everything', () => told.length === OUTBOX_KINDS.length)
  expect(told.sort()).toEqual([...OUTBOX_KINDS].sort())
  told.length = 0
  await driverPool().notify(WAKE_CHANNEL, 'email,webhook')
  await until('it is told of two', () => told.length === 2)
  await listener.stop()
  expect(told.sort()).toEqual(['email', 'webhook'])
})

test('a running drain does work that nobody told it of', async () => {
  const drain = startDrain(connection(), { email: resultsBy('a') })
  await drain.runOnce()
  const [id] = await enqueue('email', 1)
  await until('it is done', async () => (await results()).length === 1)
  await drain.stop(1000)
  expect(await results()).toEqual([{ id: id!, worker: 'a' }])
})

test('settled jobs are reported', async () => {
  const [id] = await enqueue('email', 1)
  const settled: unknown[] = []
  await drainOutbox(connection(), { email: resultsBy('a') }, { on_settled: (kind, id) => settled.push([kind, id]) })
  expect(settled).toEqual([['email', id]])
})

test('an outcome is written when the connection was lost meanwhile, once', async () => {
  const [id] = await enqueue('email', 1)
  let tries = 0
  await drainOutbox(connection(), {
    email: async (job) => ({
      type: 'done',
      settle: async ({ sql }) => {
        await sql`insert into results values (${job.id}, ${++tries})`
        if (tries === 1) await sql`select pg_terminate_backend(pg_backend_pid())`
      },
    }),
  })
  expect(tries).toBe(2)
  expect(await results()).toEqual([{ id: id!, worker: '2' }])
  expect(await rowsLeft()).toHaveLength(0)
})
