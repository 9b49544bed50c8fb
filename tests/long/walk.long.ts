/** Runs the check of tests/desk/tickets/ticket-walk.test.ts with tens of thousands of tickets. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createOrganization, startApi, stopApi } from '../support/api'
import { walkBesideWriters } from '../support/walk'

beforeAll(() => startApi())
afterAll(stopApi)

test.each([
  [100_000, 100],
  [30_000, 7],
])(
  'a walk of %p tickets by %p shows each one that stays exactly once',
  async (tickets, per_page) => {
    const begun_bytes = process.memoryUsage().rss
    const walks = await walkBesideWriters(await createOrganization(), { tickets, per_page })
    expect(walks.map(({ list, faults }) => [list, faults])).toEqual(walks.map(({ list }) => [list, []]))
    console.table(walks.map(({ list, rows }) => ({ list, rows })))
    console.log(`the process grew by ${Math.round((process.memoryUsage().rss - begun_bytes) / 2 ** 20)} MiB`)
  },
  3_600_000,
)
