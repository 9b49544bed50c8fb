/**
 * Checks that a small organization pays nothing for a large one beside it, and the large one only for what it counts.
 */
import { test } from 'bun:test'
import { checkSearchesBeside } from '../support/search-plans'

test('a search reads no other organization, and of 100,000 tickets only what it counts', async () => {
  console.table(await checkSearchesBeside(100_000))
}, 600_000)
