/** Looks for work that take long: what a process was told of is found meanwhile, and finished work is not read. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection, driverPool } from '../../../src/base/db/pool'
import type { Sql } from '../../../src/base/db/transact'
import { claim } from '../../../src/delivery/outbox/claim'
import { DueLanes } from '../../../src/delivery/outbox/due-lanes'
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

/** The connection, where a look at all organizations takes some time. */
function slowLooks(): Sql {
  const { sql } = connection()
  return new Proxy(sql, {
    apply(target, self, given: Parameters<Sql>) {
      const query = Reflect.apply(target, self, given)
      const is_look = given[0].raw?.join('').includes('bool_or(attempts > 0)')
      return is_look ? Bun.sleep(200).then(() => query) : query
    },
  })
}

async function lanesOf(due: DueLanes): Promise<string[]> {
  return [...(await due.look(isUnknown))].map(({ lane_id }) => lane_id)
}

test('while a look at all rests, the organizations that were given work are looked at alone', async () => {
  const due = new DueLanes(slowLooks(), 'webhook', () => {})
  try {
    const first = await enqueue()
    expect(await lanesOf(due)).toEqual([first.lane_id])
    const [told, untold] = [await enqueue(), await enqueue()]
    due.expect()
    expect(await lanesOf(due)).toEqual([first.lane_id])
    due.expect(told.organization_id)
    expect((await lanesOf(due)).toSorted()).toEqual([first.lane_id, told.lane_id].toSorted())
    due.hurry()
    expect((await lanesOf(due)).toSorted()).toEqual([first.lane_id, told.lane_id, untold.lane_id].toSorted())
  } finally {
    due.stop()
  }
})

test('the look at those that were given work wakes its worker when it is time', async () => {
  let woken = 0
  const due = new DueLanes(slowLooks(), 'webhook', () => void woken++)
  try {
    await due.look(isUnknown)
    const one = await enqueue()
    due.expect(one.organization_id)
    expect(await lanesOf(due)).toEqual([one.lane_id])
    const another = await enqueue()
    due.expect(another.organization_id)
    expect(await lanesOf(due)).toEqual([one.lane_id])
    // A timer may be early by less than a millisecond: then it is set again.
    await until('the worker was woken, and found it', async () => {
      return woken > 0 && (await lanesOf(due)).includes(another.lane_id)
    })
  } finally {
    due.stop()
  }
})

test.skipIf(nodeUrls() !== undefined)(
  'beside a transaction that is held open a claim does not read what is finished',
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
      const due = new DueLanes(sql, 'webhook', () => {})
      const [lane] = await due.look(isUnknown)
      due.stop()
      await explaining.start()
      const [with_look, without] = await explaining.plansOf(async () => {
        await claim(explaining.sql, 'webhook', organization_id, [{ ...lane!, room: 1 }], newId())
        await claim(explaining.sql, 'webhook', organization_id, [{ lane_id, room: 1 }], newId())
      })
      expect(pagesOf(with_look!)).toBeLessThan(30)
      expect(pagesOf(without!)).toBeGreaterThan(100)
    } finally {
      await holder`rollback`
      holder.release()
      await explaining.close()
    }
  },
)
