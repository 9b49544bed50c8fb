/** Looks for work that take long: what a process has given itself needs none, and finished work is not read. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection, driverPool } from '../../../src/base/db/pool'
import type { Sql } from '../../../src/base/db/transact'
import { claim } from '../../../src/delivery/outbox/claim'
import { DueLanes, findDueLanes } from '../../../src/delivery/outbox/due-lanes'
import { startApi, stopApi } from '../../support/api'
import { nodeUrls } from '../../support/cluster'
import { openExplaining, pagesOf } from '../../support/explaining'
import { until } from '../../support/service'

let url: string

beforeAll(async () => {
  url = (await startApi()).url
})
afterAll(stopApi)
beforeEach(async () => {
  await connection().sql`truncate outbox`
})

const isUnknown = () => true

/** Rows of a new organization's lane. @returns both */
async function enqueue(rows = 1, age_s = 0) {
  const [organization_id, lane_id] = [newId(), newId()]
  await connection().sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    select ${organization_id}::uuid, gen_random_uuid(), 'webhook', ${lane_id}::uuid, now() - (${age_s} + n) * interval '1 ms'
    from generate_series(1, ${rows}::int) n`
  return { organization_id, lane_id }
}

/** The connection, where looks take some time. @param isSlow tells which, by where they begin */
function slowLooks(isSlow: (since_s: unknown) => boolean = () => true): Sql {
  const { sql } = connection()
  return new Proxy(sql, {
    apply(target, self, given: Parameters<Sql>) {
      const query = Reflect.apply(target, self, given)
      const is_look = given[0].raw?.join('').includes('bool_or(attempts > 0)')
      return is_look && isSlow(given[2]) ? Bun.sleep(200).then(() => query) : query
    },
  })
}

async function lanesOf(due: DueLanes): Promise<string[]> {
  return [...(await due.look(isUnknown))].map(({ lane_id }) => lane_id)
}

test('while a look rests, the lanes that were given work are known without one', async () => {
  const due = new DueLanes(slowLooks(), 'webhook', () => {})
  try {
    const first = await enqueue()
    expect(await lanesOf(due)).toEqual([first.lane_id])
    const [told, untold] = [await enqueue(), await enqueue()]
    due.expect()
    expect(await lanesOf(due)).toEqual([first.lane_id])
    due.expect([told])
    expect((await lanesOf(due)).toSorted()).toEqual([first.lane_id, told.lane_id].toSorted())
    due.hurry()
    expect((await lanesOf(due)).toSorted()).toEqual([first.lane_id, told.lane_id, untold.lane_id].toSorted())
  } finally {
    due.stop()
  }
})

test('while a whole look rests, others begin a second before the work that was found', async () => {
  let is_held = false
  const due = new DueLanes(
    slowLooks((since_s) => is_held && since_s === 0),
    'webhook',
    () => {},
  )
  try {
    const first = await enqueue()
    expect(await lanesOf(due)).toEqual([first.lane_id])
    is_held = true
    due.hurry()
    due.expect()
    expect(await lanesOf(due)).toEqual([first.lane_id])
    const [young, expired] = [await enqueue(), await enqueue(1, 60_000)]
    const found = async () => {
      due.expect()
      return lanesOf(due)
    }
    await until('the young work is found', async () => (await found()).includes(young.lane_id))
    expect(await found()).not.toContain(expired.lane_id)
    due.hurry()
    expect(await found()).toContain(expired.lane_id)
  } finally {
    due.stop()
  }
})

test('a lane that was given work while it was claimed stays known', async () => {
  const due = new DueLanes(connection().sql, 'webhook', () => {})
  try {
    await due.look(isUnknown)
    const lane = await enqueue()
    due.expect([lane])
    expect(await lanesOf(due)).toEqual([lane.lane_id])
    due.expect([lane])
    due.serve([{ ...lane, room: 1 }], [])
    expect(await lanesOf(due)).toEqual([lane.lane_id])
    due.serve([{ ...lane, room: 1 }], [])
    expect(await lanesOf(due)).toEqual([])
  } finally {
    due.stop()
  }
})

test('a look that came too early wakes its worker when it is time', async () => {
  let woken = 0
  const due = new DueLanes(slowLooks(), 'webhook', () => void woken++)
  try {
    await due.look(isUnknown)
    const one = await enqueue()
    due.expect()
    expect(await lanesOf(due)).toEqual([])
    // A timer may be early by less than a millisecond: then it is set again.
    await until('the worker was woken, and found it', async () => {
      return woken > 0 && (await lanesOf(due)).includes(one.lane_id)
    })
  } finally {
    due.stop()
  }
})

test.skipIf(nodeUrls() !== undefined)(
  'beside a transaction that is held open neither a claim nor a look reads what is finished',
  async () => {
    const { sql } = connection()
    const { organization_id, lane_id } = await enqueue(5000)
    await sql`vacuum analyze outbox`
    const explaining = await openExplaining(url)
    const holder = await driverPool().reserve()
    try {
      await holder`begin isolation level repeatable read`
      await holder`select from outbox limit 1`
      await sql`delete from outbox where run_at < (select max(run_at) from outbox)`
      // From now on the planner takes the outbox for almost empty.
      await sql`analyze outbox`
      const due = new DueLanes(sql, 'webhook', () => {})
      const [lane] = await due.look(isUnknown)
      due.stop()
      await explaining.start()
      const [with_look, without, look, whole_look] = await explaining.plansOf(async () => {
        await claim(explaining.sql, 'webhook', organization_id, [{ ...lane!, room: 1 }], newId())
        await claim(explaining.sql, 'webhook', organization_id, [{ lane_id, room: 1 }], newId())
        await findDueLanes(explaining.sql, 'webhook', lane!.oldest_s)
        await findDueLanes(explaining.sql, 'webhook', 0)
      })
      expect(pagesOf(with_look!)).toBeLessThan(30)
      expect(pagesOf(without!)).toBeGreaterThan(100)
      expect(pagesOf(look!)).toBeLessThan(30)
      expect(pagesOf(whole_look!)).toBeGreaterThan(100)
    } finally {
      await holder`rollback`
      holder.release()
      await explaining.close()
    }
  },
)
