/** Measures how long healthy endpoints wait beside a crowd of dead ones, which must not hold all slots. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startApi, stopApi } from '../support/api'
import type { TestDatabase } from '../support/database'
import { startDrainProcess } from '../support/drain-processes'
import { createCrowd } from '../support/fairness'

const [DEAD, DUE, HEALTHY] = [1000, 20, 20]
/** Longer than the time limit of an attempt, so that dead endpoints are tried again within it. */
const LASTS_MS = 75_000
const EVERY_MS = 500
const P95_MOST_MS = 3000

let database: TestDatabase

beforeAll(async () => {
  database = await startApi()
})
afterAll(stopApi)

test(`${DEAD} dead endpoints with ${DEAD * DUE} due deliveries delay ${HEALTHY} healthy ones by 3 s at most (p95)`, async () => {
  using crowd = await createCrowd({ dead: DEAD, due: DUE, healthy: HEALTHY })
  const sender = startDrainProcess(database.url, crowd.receiver)
  let told = 0
  try {
    for (const end = Date.now() + LASTS_MS; Date.now() < end; await Bun.sleep(EVERY_MS)) {
      await crowd.tell()
      told++
    }
    await crowd.receiver.waitFor(told * HEALTHY)
  } finally {
    await sender.kill()
  }
  const delays = crowd.delays_ms().toSorted((a, b) => a - b)
  const at = (share: number) => delays[Math.min(delays.length - 1, Math.floor(delays.length * share))]!
  const { pending, all } = await crowd.dead()
  console.table([{ deliveries: delays.length, p50_ms: at(0.5), p95_ms: at(0.95), max_ms: at(1), dead_left: pending }])
  expect(all).toBe(DEAD * DUE)
  expect(pending).toBeGreaterThan(all / 2)
  expect(delays).toHaveLength(told * HEALTHY)
  expect(at(0.95)).toBeLessThanOrEqual(P95_MOST_MS)
})
