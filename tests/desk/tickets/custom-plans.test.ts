import { expect, test } from 'bun:test'
import { nodeUrls } from '../../support/cluster'
import { ticketsReadOf } from '../../support/custom-plans'
import { sampled } from '../../support/sampled'

/** The preparation alters tables in a transaction in which Citus has done so side by side, which it refuses. */
const IS_REFUSED = nodeUrls() !== undefined

test.skipIf(IS_REFUSED).each(sampled([10_000, 100_000], 2))(
  'a page of two custom fields by last change reads few of %d tickets',
  async (count) => {
    const read = await ticketsReadOf(count)
    expect(read.filter((rows) => rows > 3000)).toEqual([])
  },
  300_000,
)
