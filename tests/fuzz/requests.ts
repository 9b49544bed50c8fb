/** Generated requests. `tests/fuzz/main.ts` starts this file in the test runner, which has the database. */
import { afterAll, beforeAll, test } from 'bun:test'
import { startApi, stopApi } from '../support/api'
import { nodeUrls } from '../support/cluster'
import { refuseSeveralNodes } from '../support/one-node'
import { tryRequests } from '../support/properties'

const HOUR_MS = 3_600_000

beforeAll(async () => {
  const database = await startApi()
  if (nodeUrls()) await refuseSeveralNodes(database)
})
afterAll(stopApi)

test(
  'no generated request is answered with a fault of ours or with what the document does not allow',
  async () => {
    const requests = Number(process.env.DESKWIRE_FUZZ_REQUESTS)
    const statuses = await tryRequests({ requests, seed: Number(process.env.DESKWIRE_FUZZ_SEED) })
    console.log('answers by status:', JSON.stringify(statuses))
  },
  HOUR_MS,
)
