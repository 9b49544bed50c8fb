import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../src/base/db/columns'
import type { Scope } from '../../src/base/scope'
import type { Page } from '../../src/base/shapes/page'
import type { Paging } from '../../src/base/shapes/query'
import { listContacts } from '../../src/desk/contacts/queries'
import { listAllMessages } from '../../src/desk/messages/list-messages'
import { listTickets } from '../../src/desk/tickets/list'
import { listTimeEntries } from '../../src/desk/time-entries/queries'
import { listActivity } from '../../src/desk/timeline/queries'
import { listAuditLog } from '../../src/people/audit-log/queries'
import { createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { nodeUrls } from '../support/cluster'
import { type Explaining, openExplaining, pagesOf, scansOf } from '../support/explaining'
import { insertContacts, insertTickets } from '../support/many-tickets'

const ROWS = 20_000
const PER_PAGE = 100
/** The preparation alters tables in a transaction in which Citus has done so side by side, which it refuses. */
const IS_REFUSED = nodeUrls() !== undefined

let scope: Scope
let ticket_id: string
let explaining: Explaining

beforeAll(async () => {
  if (IS_REFUSED) return
  const { url } = await startApi()
  const organization = await createOrganization()
  const contacts = await insertContacts(organization.scope, ROWS)
  const [first] = await insertTickets(organization.scope, contacts[0]!, ROWS)
  ticket_id = first!
  await insertHistory(organization)
  explaining = await openExplaining(url)
  scope = { ...organization.scope, sql: explaining.sql }
  await explaining.settle()
  await explaining.start()
})
afterAll(async () => {
  if (IS_REFUSED) return
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
  ['time entries', (query) => listTimeEntries(scope, query)],
  ['the timeline of a ticket', (query) => listActivity(scope, ticket_id, query)],
  ['all messages', async (query) => (await listAllMessages(scope, query)) as Page<unknown>],
  ['the audit log', (query) => listAuditLog(scope, query)],
  ['open tickets', (query) => listTickets(scope, { ...query, status: ['open'] })],
]

test.skipIf(IS_REFUSED).each(lists)(
  'a page of %s reads no more behind a deep cursor than behind an early one',
  async (_name, list) => {
    const early = await measure(list, 1)
    const deep = await measure(list, ROWS / PER_PAGE - 2)
    // One more level of an index, and rows that lie less close together.
    expect([early.pages, deep.pages, deep.pages <= early.pages * 1.5 + 10]).toEqual([early.pages, deep.pages, true])
    expect(
      deep.scans.filter((scan) => /^Seq Scan (tickets|messages|contacts|time_entries|activities|audit_log)/.test(scan)),
    ).toEqual([])
  },
)

/** Time, activities and audit entries of one ticket, and a message of each. */
async function insertHistory({ id: organization_id, admin, scope: { sql } }: Organization): Promise<void> {
  const ids = Array.from({ length: ROWS }, newId)
  const rows = () => sql`from unnest(${ids}::uuid[]) with ordinality as given (id, n)`
  await sql`
    insert into time_entries (organization_id, id, ticket_id, user_id, duration_minutes, currency, date)
    select ${organization_id}, id, ${ticket_id}, ${admin.user_id}, 5, 'USD', date '2026-01-01' + (n % 300)::integer ${rows()}`
  await sql`
    insert into messages (organization_id, id, ticket_id, body, body_html, direction, sender_name)
    select organization_id, id, id, 'Yes', 'Yes', 'inbound', 'Carla' from tickets where organization_id = ${organization_id}`
  await sql`
    insert into activities (organization_id, id, ticket_id, type, actor_type)
    select ${organization_id}, id, ${ticket_id}, 'created', 'system' ${rows()}`
  await sql`
    insert into audit_log (organization_id, id, actor_type, action)
    select ${organization_id}, id, 'system', 'auth.login' ${rows()}`
}

/** Reads the page behind a page by number. */
async function measure(list: List, page: number) {
  const { next_cursor } = (await list({ page, per_page: PER_PAGE })).meta
  const query = { per_page: PER_PAGE, cursor: next_cursor! }
  // The second time no catalog has to be read.
  await list(query)
  const plans = await explaining.plansOf(() => list(query))
  return { pages: plans.reduce((sum, plan) => sum + pagesOf(plan), 0), scans: plans.flatMap(scansOf) }
}
