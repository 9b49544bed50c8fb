/** Lists that a statement is given. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { hasFewRows } from '../../../src/base/db/few-rows'
import { connection } from '../../../src/base/db/pool'
import { startApi, stopApi } from '../../support/api'

beforeAll(() => startApi())
afterAll(stopApi)

test('no row of a long list is left out', async () => {
  const { sql } = connection()
  const rows = JSON.stringify(Array.from({ length: 10_001 }, (_, place) => ({ place })))
  const [found] = await sql<{ n: number }[]>`
    select count(*)::int as n from json_to_recordset(${rows}::text::json) as x (place integer) where ${hasFewRows(sql)}`
  expect(found).toEqual({ n: 10_001 })
})
