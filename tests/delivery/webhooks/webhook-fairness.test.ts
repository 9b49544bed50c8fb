/** Dead endpoints delay no others. tests/long/outbox-fairness.long.ts measures more of them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { KINDS } from '../../../src/delivery/outbox/kinds'
import { startApi, stopApi } from '../../support/api'
import type { TestDatabase } from '../../support/database'
import { startDrainProcess } from '../../support/drain-processes'
import { createCrowd } from '../../support/fairness'
import { until } from '../../support/service'

const HEALTHY = 20
const EVENTS = 5

let database: TestDatabase

beforeAll(async () => {
  database = await startApi()
})
afterAll(stopApi)

test('every healthy endpoint gets its events while 300 dead ones hang, with 3,000 deliveries due before', async () => {
  using crowd = await createCrowd({ dead: 300, due: 10, healthy: HEALTHY })
  await using _sender = startDrainProcess(database.url, crowd.receiver)
  await until('dead endpoints hold all slots', () => crowd.hanging() >= KINDS.webhook.slots)
  for (let round = 1; round <= EVENTS; round++) {
    await crowd.tell()
    await crowd.receiver.waitFor(round * HEALTHY, 20_000)
  }
  expect(await crowd.dead()).toEqual({ pending: 3000, all: 3000 })
  const paths = Map.groupBy(crowd.receiver.requests, ({ path }) => path)
  expect([...paths.values()].map((requests) => requests.length)).toEqual(Array(HEALTHY).fill(EVENTS))
})
