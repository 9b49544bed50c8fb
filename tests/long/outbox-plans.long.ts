/** Runs the checks of tests/delivery/outbox/outbox-plans.test.ts beside a history of years. */
import { test } from 'bun:test'
import { checkClaimsBeside } from '../support/claim-plans'

test('claims read no more beside 1,000,000 finished deliveries than without', async () => {
  console.table(await checkClaimsBeside(1_000_000))
})
