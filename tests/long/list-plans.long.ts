/** Checks that lists read no more of an organization with 100,000 tickets than of one with 10,000. */
import { test } from 'bun:test'
import { checkListsOf } from '../support/list-plans'

test('each list of 100,000 tickets reads about what it reads of 10,000', async () => {
  console.table(await checkListsOf(100_000))
}, 900_000)
