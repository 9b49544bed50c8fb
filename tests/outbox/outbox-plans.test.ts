/** Finding and leasing work costs by what is left to do: what is finished is in other tables, which nobody reads. */
import { test } from 'bun:test'
import { checkClaimsBeside } from '../support/claim-plans'

test('claims read the outbox alone, by its indexes, and no more beside 20,000 finished deliveries than without', () =>
  checkClaimsBeside(20_000))
