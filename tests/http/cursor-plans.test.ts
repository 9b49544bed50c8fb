import { afterAll, beforeAll, expect, test } from 'bun:test'
import { listContacts } from '../../src/contacts/queries'
import type { Scope } from '../../src/scope'
import type { Page } from '../../src/shapes/page'
import type { Paging } from '../../src/shapes/query'
import { listTickets } from '../../src/tickets/list'
import { createOrganization, startApi, stopApi } from '../support/api'
import { openExplaining, pagesOf, scansOf } from '../support/explaining'
import { insertContacts, insertTickets } from '../support/many-tickets'

const ROWS = 20_000
const PER_PAGE = 100

let scope: Scope
let explaining: ReturnType<typeof openExplaining>

beforeAll(async () => {
  const { url } = await startApi()
  const organization = await createOrganization()
  const contacts = await insertContacts(organization.scope, ROWS)
  await insertTickets(organization.scope, contacts[0]!, ROWS)
  explaining = openExplaining(url)
  scope = { ...organization.scope, sql: explaining.sql }
  await scope.sql`vacuum analyze tickets, contacts`
  await explaining.start()
})
afterAll(async () => {
  await explaining.close()
  await stopApi()
})

type List = (query: Paging) => Promise<Page<unknown>>

const sorts = ['created_at', '-created_at', 'updated_at', '-updated_at'] as const
const lists: [name: string, list: List][] = [
  ...[...sorts, 'priority' as const, '-priority' as const].map((sort): [string, List] => [
    `tickets by ${sort}`,
    (query) => listTickets(scope, { ...query, sort }),
  ]),
  ...[...sorts, 'name' as const, '-name' as const].map((sort): [string, List] => [
    `contacts by ${sort}`,
    (query) => listContacts(scope, { ...query, sort }),
  ]),
  ['open tickets', (query) => listTickets(scope, { ...query, status: 'open' })],
]

test.each(lists)('a page of %s reads no more behind a deep cursor than behind an early one', async (_name, list) => {
  const early = await measure(list, 1)
  const deep = await measure(list, ROWS / PER_PAGE - 2)
  // One more level of an index, and rows that lie less close together.
  expect([early.pages, deep.pages, deep.pages <= early.pages * 1.5 + 10]).toEqual([early.pages, deep.pages, true])
  expect(deep.scans.filter((scan) => /^Seq Scan (tickets|contacts)/.test(scan))).toEqual([])
})

/** Reads the page behind a page by number. */
async function measure(list: List, page: number) {
  const { next_cursor } = (await list({ page, per_page: PER_PAGE })).meta
  const query = { per_page: PER_PAGE, cursor: next_cursor! }
  // The second time no catalog has to be read.
  await list(query)
  const plans = await explaining.plansOf(() => list(query))
  return { pages: plans.reduce((sum, plan) => sum + pagesOf(plan), 0), scans: plans.flatMap(scansOf) }
}
