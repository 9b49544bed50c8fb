/** Query plans: finding and leasing work costs by the work that is left, not by the history. */
import { test } from 'bun:test'
import { checkClaimsBeside } from '../../support/claim-plans'
import { nodeUrls } from '../../support/cluster'

// The plan of a cluster names parts of tables, and hides what other nodes read of them.
test.skipIf(nodeUrls() !== undefined)(
  'claims read the outbox alone, by its indexes, and no more beside 20,000 finished deliveries than without',
  () => checkClaimsBeside(20_000),
)
