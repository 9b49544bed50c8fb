/** Runs the check of tests/desk/tickets/following.test.ts with many more changes. */
import { afterAll, beforeAll, test } from 'bun:test'
import { createOrganization, startApi, stopApi } from '../support/api'
import type { TestDatabase } from '../support/database'
import { followLateWriters } from '../support/follow'

let database: TestDatabase

beforeAll(async () => {
  database = await startApi(20)
})
afterAll(stopApi)

test('a copy equals its source after 200 rounds of transactions that commit late, on two processes', async () => {
  await followLateWriters(await createOrganization(), database.url, { rounds: 200, latest_ms: 8000 })
}, 580_000)
