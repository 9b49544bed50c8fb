/**
 * The patched driver (src/base/db/patches). postgres.js 3.4.9 puts holes before the rows of a query when the query
 * before it failed after it had sent rows (porsager/postgres #1119, #1181). Patch and file go when a release has the
 * fix.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres from 'postgres'
import { createDatabase, type TestDatabase } from '../../support/database'
import { until } from '../../support/service'

let database: TestDatabase
let sql: postgres.Sql

beforeAll(async () => {
  database = await createDatabase()
  sql = postgres(database.url, { max: 1 })
})

afterAll(async () => {
  await sql.end()
  await database.drop()
})

const FAILURES = {
  'a division by zero': () => sql`select 1 / (5 - n) from generate_series(1, 10) n`,
  'a bad cast': () => sql.unsafe(`select (case n when 5 then 'x' else '1' end)::int from generate_series(1, 10) n`),
}

const QUERIES = {
  'a prepared statement': async () => [...(await sql`select n from generate_series(1, 3) n`)],
  'a simple query': async () => [...(await sql.unsafe('select n from generate_series(1, 3) n'))],
  values: async () => (await sql`select n from generate_series(1, 3) n`.values()).map(([n]) => ({ n })),
  'a cursor': async () => {
    const rows = []
    for await (const chunk of sql`select n from generate_series(1, 3) n`.cursor(2)) rows.push(...chunk)
    return rows
  },
}

for (const [failure, fail] of Object.entries(FAILURES)) {
  for (const [query, run] of Object.entries(QUERIES)) {
    test(`after ${failure}, ${query} gets its own rows`, async () => {
      expect(await fail().then(String, (error) => error.name)).toBe('PostgresError')
      expect(await run()).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
    })
  }
}

test('a COPY that is read slowly ends, whatever piece of it the server sent last', async () => {
  const text = 'x'.repeat(1023)
  for (const rows of [1, 16, 40, 64, 65, 100, 300, 511, 512, 513, 1000, 3000]) {
    const lines = await sql.unsafe(`copy (select '${text}' from generate_series(1, ${rows})) to stdout`).readable()
    let bytes = 0
    for await (const chunk of lines) {
      bytes += chunk.length
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect([rows, bytes]).toEqual([rows, rows * 1024])
    expect([...(await sql`select 1 as n`)]).toEqual([{ n: 1 }])
  }
})

test('a connection whose server says nothing is ended, and not one that answers or runs a transaction', async () => {
  const pool = postgres(database.url, { max: 2 }) as postgres.Sql & {
    endIdle(): void
    abortSilent(silent_ms: number): void
  }
  const pid = async (on: postgres.ISql) => (await on<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]!.pid
  try {
    const silent = pool`select pg_sleep(300)`.then(
      () => 'answered',
      (error) => error.code,
    )
    await until('it waits', async () => {
      const [found] =
        await sql`select 1 from pg_stat_activity where query like '%pg_sleep(300)' and wait_event = 'PgSleep'`
      return found !== undefined
    })
    const first = await pid(pool)
    pool.abortSilent(60_000)
    expect(await pid(pool)).toBe(first)
    await pool.begin(async (tx) => {
      const own = await pid(tx)
      pool.abortSilent(0)
      pool.endIdle()
      expect([await silent, await pid(tx)]).toEqual(['CONNECTION_CLOSED', own])
    })
    pool.endIdle()
    expect(await pid(pool)).not.toBe(first)
  } finally {
    await pool.end({ timeout: 0 })
  }
})

test('a connection keeps nothing of a transaction that has ended', async () => {
  const connections = 8
  const pool = postgres(database.url, { max: connections })
  try {
    const used = await Promise.all(Array.from({ length: connections }, () => noteWhatItUses(pool)))
    // The collector may take a number on the stack for an address, and keep one or two by it.
    await until('what they used is garbage', () => {
      Bun.gc(true)
      return used.filter((one) => one.deref() !== undefined).length <= 2
    })
  } finally {
    await pool.end()
  }
})

async function noteWhatItUses(pool: postgres.Sql): Promise<WeakRef<object>> {
  const large = { bytes: new Uint8Array(1000) }
  await pool.begin(async (tx) => {
    await tx`select ${large.bytes.length}::int, pg_sleep(0.1)`
  })
  return new WeakRef(large)
}
