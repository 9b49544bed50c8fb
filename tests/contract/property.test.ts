import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startApi, stopApi } from '../support/api'
import { nodeUrls } from '../support/cluster'
import { refuseSeveralNodes } from '../support/one-node'
import { tryRequests } from '../support/properties'

beforeAll(async () => {
  const database = await startApi()
  if (nodeUrls()) await refuseSeveralNodes(database)
})
afterAll(stopApi)

test('no generated request is answered with a fault of ours or with what the document does not allow', async () => {
  const statuses = await tryRequests({ requests: 300, seed: 20_260_131 })
  // Requests that were all refused would prove little.
  expect(Object.keys(statuses)).toEqual(expect.arrayContaining(['200', '201', '204', '401', '403', '404', '422']))
})
