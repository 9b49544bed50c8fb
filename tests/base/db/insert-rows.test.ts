/** Rows that are inserted many at a time, and the time of a change behind a lock. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { withChangeTime } from '../../../src/base/db/change-time'
import { newId } from '../../../src/base/db/columns'
import { insertRows } from '../../../src/base/db/insert-rows'
import { connection } from '../../../src/base/db/pool'
import { type Connection, transact } from '../../../src/base/db/transact'
import { startApi, stopApi } from '../../support/api'
import { until } from '../../support/service'

const organization_id = newId()

beforeAll(async () => {
  await startApi(3)
  await connection().sql`
    create table boxes (organization_id uuid, place integer primary key, name text, is_open boolean, words text[],
      data jsonb, bytes bytea, made_at timestamptz)`
})
afterAll(stopApi)

/** Runs work on a connection whose changes are taken back. */
async function inPassing(work: (connection: Connection) => Promise<void>): Promise<void> {
  const done = new Error('done')
  const end = transact(connection(), async (inner) => {
    await work(inner)
    throw done
  })
  expect(await end.catch((error) => error)).toBe(done)
}

const row = (place: number) => ({ organization_id, place })

test('rows of any number are inserted in their order', async () => {
  for (const count of [0, 1, 2, 3, 7, 8, 127, 128, 129, 300]) {
    await inPassing(async ({ sql }) => {
      const rows = Array.from({ length: count }, (_, place) => row(place))
      const returned = await insertRows<{ place: number }>(sql, 'boxes', rows, sql`returning place`)
      expect(returned.map(({ place }) => place)).toEqual(rows.map(({ place }) => place))
      expect([...(await sql`select organization_id, place from boxes order by place`)]).toEqual(rows)
    })
  }
})

test('values of every type are inserted as they are', async () => {
  await inPassing(async ({ sql }) => {
    const values = { name: '', is_open: false, words: ['a "b"', 'c,d', ''], bytes: Buffer.from([0, 255]) }
    const data = JSON.stringify({ text: '"', list: [1, null] })
    await insertRows(sql, 'boxes', [
      { ...row(0), ...values, data, made_at: '2026-02-03 04:05:06.123456+00' },
      { ...row(1), ...values, is_open: true, words: [], data: 'null', made_at: sql`now()` },
      { ...row(2), ...values, name: undefined, is_open: null, words: null, data: null, bytes: null, made_at: null },
    ])
    const found = await sql`
      select name, is_open, words, bytes, data::text as data, made_at = now() as is_now,
        to_char(made_at, 'MI:SS.US') as time
      from boxes order by place`
    expect(found.map(({ time, ...rest }) => rest)).toEqual([
      { ...values, data: '{"list": [1, null], "text": "\\""}', is_now: false },
      { ...values, is_open: true, words: [], data: 'null', is_now: true },
      { name: null, is_open: null, words: null, bytes: null, data: null, is_now: null },
    ])
    expect(found[0]!.time).toBe('05:06.123456')
  })
})

test('a column that only some rows have is null in the others', async () => {
  await inPassing(async ({ sql }) => {
    await insertRows(sql, 'boxes', [row(0), { ...row(1), name: 'Box' }])
    expect([...(await sql`select name from boxes order by place`)]).toEqual([{ name: null }, { name: 'Box' }])
  })
})

test('rows of any number and with any nulls share eight prepared statements', async () => {
  await inPassing(async ({ sql }) => {
    for (let count = 1; count <= 200; count++) {
      const rows = Array.from({ length: count }, (_, place) => {
        const is_empty = (place + count) % 3 === 0
        return {
          ...row(place),
          is_open: is_empty ? null : true,
          words: is_empty ? null : ['a'],
          bytes: is_empty ? null : Buffer.from([1]),
        }
      })
      await insertRows(sql, 'boxes', rows)
      await sql`delete from boxes`
    }
    const [prepared] = await sql<{ count: number }[]>`
      select count(*) from pg_prepared_statements where statement like 'insert into "boxes" (%,"bytes")values%'`
    expect(prepared!.count).toBe(8)
  })
})

test('all rows are refused with one of them', async () => {
  const refused = transact(connection(), async ({ sql }) => {
    const rows = Array.from({ length: 300 }, (_, place) => row(place === 290 ? 0 : place))
    await insertRows(sql, 'boxes', rows)
  })
  expect(await refused.catch(({ code }) => code)).toBe('23505')
  expect([...(await connection().sql`select from boxes`)]).toEqual([])
})

test('the time of a change is after the wait for its lock', async () => {
  const { sql } = connection()
  await insertRows(sql, 'boxes', [row(1)])
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: locked, resolve: hold } = Promise.withResolvers<void>()
  const holding = transact(connection(), async (holder) => {
    await holder.sql`select from boxes where place = 1 for update`
    hold()
    await released
    const [{ time }] = await holder.sql<[{ time: string }]>`select clock_timestamp()::text as time`
    return time
  })
  await locked
  const changing = transact(connection(), async (changer) => {
    const lock = changer.sql`select place from boxes where place = 1 for update`
    const [rows, time] = await withChangeTime(changer.sql, lock)
    expect([...rows]).toEqual([{ place: 1 }])
    // Without zeros at the end, JavaScript cannot read one time of 10,000.
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    await changer.sql`update boxes set made_at = ${time} where place = 1`
  })
  await until('the change to wait', async () => (await sql`select from pg_locks where not granted`).length > 0)
  release()
  const released_at = await holding
  await changing
  const [box] = await sql`select made_at > ${released_at}::text::timestamptz as is_later from boxes`
  expect(box!.is_later).toBe(true)
  await sql`delete from boxes`
})
