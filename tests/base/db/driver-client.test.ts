/** Values mean the same on every client, whoever opened it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { NO_LIMITS, openClient, openOrm } from '../../../src/base/db/driver-client'
import { connection, jobConnection, noticesClient, shortConnection, watchConnection } from '../../../src/base/db/pool'
import { withSession } from '../../../src/base/db/session'
import { type Sql, transact } from '../../../src/base/db/transact'
import { startApi, stopApi } from '../../support/api'
import type { TestDatabase } from '../../support/database'

let database: TestDatabase

beforeAll(async () => {
  database = await startApi()
})
afterAll(stopApi)

type Use = (work: (sql: Sql) => Promise<void>) => Promise<void>

/** Every way to get a client. */
const WAYS: [name: string, use: Use][] = [
  ['the pool', (work) => work(connection().sql)],
  ['a transaction', (work) => transact(connection(), ({ sql }) => work(sql))],
  [
    'a transaction in a transaction',
    (work) => transact(connection(), (outer) => transact(outer, ({ sql }) => work(sql))),
  ],
  ['background jobs', (work) => work(jobConnection().sql)],
  ['short statements', (work) => work(shortConnection())],
  ['notices', (work) => work(noticesClient()!)],
  ['the watch of machines', (work) => work(watchConnection())],
  ['a session of a command', (work) => withSession(database.target, work)],
  ['a client of its own', (work) => withClient(work, () => {})],
  ['a client with Drizzle', (work) => withClient(work, openOrm)],
]

async function withClient(work: (sql: Sql) => Promise<void>, prepare: (client: ReturnType<typeof openClient>) => void) {
  const client = openClient(database.target, 1, NO_LIMITS)
  prepare(client)
  await work(client)
  await client.end({ timeout: 1 })
}

describe('values are read and written alike on', () => {
  test.each(WAYS)('%s', async (_, use) => {
    const at = '2026-11-22T10:11:12.123456Z'
    await use(async (sql) => {
      const [row] = await sql`
        select jsonb_typeof(${'{}'}::jsonb) as document, json_typeof(${'[]'}::json) as list, ${at}::timestamptz as at,
          ${'2026-11-22'}::date as day, 1.50::numeric as amount, count(*) as many, ${at}::timestamptz = ${at}::text::timestamptz as whole`
      expect({ ...row! }).toEqual({
        document: 'object',
        list: 'array',
        at: '2026-11-22T10:11:12Z',
        day: '2026-11-22',
        amount: 1.5,
        many: 1,
        whole: true,
      })
    })
  })
})
