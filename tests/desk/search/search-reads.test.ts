/** The reads of a search of tickets: the documents that match are the most of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { listTickets } from '../../../src/desk/tickets/list'
import type { TicketFilter } from '../../../src/desk/tickets/model'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { nodesOf, openExplaining } from '../../support/explaining'
import { createTicket } from '../../support/factories'

let target: string

beforeAll(async () => {
  target = (await startApi()).url
})
afterAll(stopApi)

test('a search reads its matches once, in any order, also for a page behind the last', async () => {
  const { agent, scope } = await createOrganization()
  for (const subject of ['fire in the house', 'fire outside', 'water']) await createTicket(agent, { subject })
  const explaining = await openExplaining(target)
  const searches: [filter: TicketFilter, found: number][] = [
    [{ search: 'fire' }, 2],
    [{ search: 'fire', page: 7 }, 0],
    [{ search: 'fire', sort: '-priority' }, 2],
    [{ search: 'fire', sort: 'updated_at', status: ['open'] }, 2],
    [{ search: '"fire in the"', sort: 'priority', page: 2 }, 0],
  ]
  try {
    await explaining.start()
    for (const [filter, found] of searches) {
      let data: unknown[] = []
      const plans = await explaining.plansOf(async () => {
        data = (await listTickets({ ...scope, sql: explaining.sql }, filter)).data
      })
      const read = plans.flatMap(nodesOf).filter((node) => node['Actual Loops'] > 0)
      const reads = read.filter((node) => node['Relation Name'] === 'ticket_search')
      expect([filter, data.length, reads.length]).toEqual([filter, found, 1])
    }
  } finally {
    await explaining.close()
  }
})
