/** The rows that a search of very frequent words reads; a walk over its short pages shows every ticket. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { jobConnection } from '../../src/base/db/pool'
import { organizationNumber } from '../../src/desk/search/ticket-document'
import { listTickets } from '../../src/desk/tickets/list'
import type { TicketFilter } from '../../src/desk/tickets/model'
import { createOrganization, startApi, stopApi } from '../support/api'
import { nodesOf, openExplaining } from '../support/explaining'
import { createLabel } from '../support/factories'

const TICKETS = 180_000
/** Those that a page looks at, and a block of the index more. Some have their words looked up on the way, too. */
const MOST = 100_000 + 16_384 + 20_000
const PHRASE = '"you the"'

let desk: Awaited<ReturnType<typeof fillDesk>>
let target: string

beforeAll(async () => {
  target = (await startApi()).url
  desk = await fillDesk()
}, 600_000)
afterAll(stopApi)

/**
 * All tickets have the words `you` and `the`, one in 9000 as a phrase. Those that changed first and those of high
 * priority have it least.
 */
async function fillDesk() {
  const { agent, scope } = await createOrganization()
  const { organization_id } = scope
  // Has no time limit.
  const { sql } = jobConnection()
  const labels = [await createLabel(agent), await createLabel(agent)].map(({ id }) => id as string)
  const number = await organizationNumber(scope)
  await sql`
    insert into tickets (organization_id, id, number, code, subject, status, priority, updated_at)
    select ${organization_id},
      (lpad(to_hex(1700000000000 + n * 1000), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, n, 'TKT-' || n, 'x',
      'open', case when n % 9000 = 0 then 'low' else 'urgent' end,
      timestamptz '2026-01-01 00:00Z' + make_interval(secs => n)
    from generate_series(1::bigint, ${TICKETS}::bigint) n`
  await sql`
    insert into ticket_labels (organization_id, ticket_id, label_id)
    select organization_id, id, ${labels[0]!} from tickets where organization_id = ${organization_id} and number % 8 = 0`
  await sql`
    insert into ticket_search (organization_id, ticket_id, document, size)
    select organization_id, id, (case when number % 9000 = 0
      then format('''%syou'':1 ''%sthe'':2 ''%s@open''', p, p, p)
      else format('''%sthe'':1 ''%syou'':2 ''%s@open''', p, p, p) end)::tsvector, 100
    from tickets t cross join lateral (select ${`${number}.`} || (number >> 14) || ':') as prefix (p)
    where organization_id = ${organization_id}`
  await sql`analyze tickets, ticket_labels, ticket_search`
  return { agent, scope, labels }
}

const FILTERS: TicketFilter[] = [
  { search: PHRASE },
  { search: PHRASE, sort: 'created_at' },
  { search: PHRASE, sort: '-updated_at' },
  { search: PHRASE, sort: '-priority' },
  { search: PHRASE, sort: 'priority', status: ['open'] },
  { search: PHRASE, sort: '-updated_at', created_before: 1_700_000_000_000 + (TICKETS - 1) * 1000 },
]

test('a search of very frequent words looks at so many tickets at most, in any order', async () => {
  const { scope, labels } = desk
  const explaining = await openExplaining(target)
  const filters: TicketFilter[] = [
    ...FILTERS,
    { search: PHRASE, sort: '-priority', label_ids: labels },
    { search: 'you', sort: 'priority', status: ['open'], page: 100, per_page: 100 },
    { search: PHRASE, sort: 'updated_at', page: 50, per_page: 100 },
  ]
  try {
    await explaining.start()
    for (const filter of filters) {
      const plans = await explaining.plansOf(async () => {
        await listTickets({ ...scope, sql: explaining.sql }, filter).catch(({ code }) => {
          expect(code).toBe('VALIDATION_ERROR')
        })
      })
      const documents = plans.flatMap(nodesOf).filter((node) => node['Relation Name'] === 'ticket_search')
      const read = documents.reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0)
      expect(documents.length).toBeGreaterThan(0)
      expect([filter, Math.max(read, MOST)]).toEqual([filter, MOST])
    }
  } finally {
    await explaining.close()
  }
}, 600_000)

test('a walk over pages that end early shows each match once and in order', async () => {
  const { agent } = desk
  for (const { search, sort = '-created_at' } of FILTERS.slice(0, 4)) {
    const query = `/tickets?search=${encodeURIComponent(search!)}&sort=${sort}&per_page=15`
    const first = await agent.get(query)
    expect([sort, first.body.meta.total_is_exact]).toEqual([sort, false])
    const numbers: number[] = []
    let is_short = false
    for (let { body } = first; ; ) {
      numbers.push(...body.data.map(({ code }: { code: string }) => Number(code.slice(4))))
      if (body.meta.next_cursor === null) break
      is_short ||= body.data.length < 15
      body = (await agent.get(`${query}&cursor=${body.meta.next_cursor}`)).body
    }
    const all = Array.from({ length: TICKETS / 9000 }, (_, n) => (n + 1) * 9000)
    expect([sort, is_short, numbers]).toEqual([sort, true, sort.startsWith('-') ? all.toReversed() : all])
  }
}, 600_000)

test('a page by number behind an early end is refused, and its cursor shows exactly the others', async () => {
  const { agent } = desk
  for (const sort of ['-created_at', '-updated_at', 'created_at']) {
    const query = `/tickets?search=${encodeURIComponent(PHRASE)}&sort=${sort}&per_page=100`
    const shown = await agent.get(query)
    expect([sort, shown.status, shown.body.data.length < TICKETS / 9000]).toEqual([sort, 200, true])
    const refused = await agent.get(`${query}&page=2`)
    const { errors, cursor } = refused.body.error.details
    expect([refused.status, errors[0].path]).toEqual([422, '/query/page'])
    expect(cursor).toBe(shown.body.meta.next_cursor)
  }
}, 120_000)
