import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { TICKET_PRIORITIES, TICKET_STATUSES } from '../../../src/base/db/schema'
import { transact } from '../../../src/base/db/transact'
import type { Scope } from '../../../src/base/scope'
import { deleteTicket, updateTicket } from '../../../src/desk/tickets/commands'
import { foldTicketCounts } from '../../../src/desk/tickets/counts'
import { listTickets } from '../../../src/desk/tickets/list'
import { purgeDeletedTickets } from '../../../src/desk/tickets/purge'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { createContact, createTicket } from '../../support/factories'

beforeAll(() => startApi(10))
afterAll(stopApi)

describe('the total of the list', () => {
  test('follows every change of a ticket, before the changes are folded and after', async () => {
    const { agent, scope } = await createOrganization()
    const assignee_id = agent.user_id
    const [one, two] = [await createTicket(agent), await createTicket(agent, { assignee_id, priority: 'urgent' })]
    expect(await totals(scope, assignee_id)).toEqual({ all: 2, open: 2, closed: 0, urgent: 1, mine: 1, mine_closed: 0 })
    await foldTicketCounts(connection())
    await updateTicket(scope, one.id, { status: 'closed', priority: 'urgent', assignee_id })
    await updateTicket(scope, two.id, { assignee_id: null })
    const changed = { all: 2, open: 1, closed: 1, urgent: 2, mine: 1, mine_closed: 1 }
    expect(await totals(scope, assignee_id)).toEqual(changed)
    await foldTicketCounts(connection())
    expect(await totals(scope, assignee_id)).toEqual(changed)
    await deleteTicket(scope, one.id)
    const left = { all: 1, open: 1, closed: 0, urgent: 1, mine: 0, mine_closed: 0 }
    expect(await totals(scope, assignee_id)).toEqual(left)
    await foldTicketCounts(connection())
    expect(await totals(scope, assignee_id)).toEqual(left)
  })

  test('does not change when a deleted ticket is purged', async () => {
    const { agent, scope } = await createOrganization()
    await createTicket(agent)
    const { id } = await createTicket(agent)
    await deleteTicket(scope, id)
    await scope.sql`update tickets set deleted_at = now() - interval '2 days' where id = ${id}`
    expect(await purgeDeletedTickets(scope, 1)).toBe(1)
    expect(await total(scope, {})).toBe(1)
  })

  test('counts what is written without the API, and leaves out what is rolled back', async () => {
    const { agent, scope } = await createOrganization()
    const { id: contact_id } = await createContact(agent)
    const insertAll = ({ sql }: Pick<Scope, 'sql'>, from: number, to: number) => sql`
      insert into tickets (organization_id, id, number, code, subject, contact_id)
      select ${scope.organization_id}, gen_random_uuid(), n, 'TKT-' || n, 'Imported', ${contact_id}
      from generate_series(${from}::int, ${to}::int) n`
    await foldTicketCounts(connection())
    await insertAll(scope, 1, 3000)
    const undone = transact(scope, async (inner) => {
      await insertAll(inner, 3001, 3100)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await total(scope, {})).toBe(3000)
    await scope.sql`update tickets set status = 'closed' where organization_id = ${scope.organization_id}`
    // A change for the tickets that came, and two for each that changed: more than one statement folds.
    expect(await foldTicketCounts(connection())).toBe(6001)
    expect(await total(scope, {})).toBe(3000)
  })

  test('is that of the organization', async () => {
    const [one, other] = [await createOrganization(), await createOrganization()]
    await createTicket(one.agent)
    await foldTicketCounts(one.scope)
    await createTicket(one.agent)
    expect(await total(other.scope, {})).toBe(0)
  })

  test('is exact at every moment, while many write and several fold', async () => {
    const { agent, scope } = await createOrganization()
    const { id: contact_id } = await createContact(agent)
    const assignees = [null, agent.user_id]
    let writing = true
    const WRITES = 60
    const write = async (writer: number) => {
      const ids: string[] = []
      for (let n = 1; n <= WRITES; n++) {
        const id = newId()
        const roll = Math.random()
        if (ids.length === 0 || roll < 0.4) {
          await scope.sql`
            insert into tickets (organization_id, id, number, code, subject, contact_id)
            values (${scope.organization_id}, ${id}, ${writer * WRITES + n}, ${`TKT-${id}`}, 'x', ${contact_id})`
          ids.push(id)
        } else if (roll < 0.8) {
          await scope.sql`
            update tickets set status = ${anyOf(TICKET_STATUSES)}, priority = ${anyOf(TICKET_PRIORITIES)},
              assignee_id = ${anyOf(assignees)}
            where organization_id = ${scope.organization_id} and id = ${anyOf(ids)}`
        } else {
          await scope.sql`
            update tickets set deleted_at = case when deleted_at is null then ${new Date().toISOString()}::timestamptz end
            where organization_id = ${scope.organization_id} and id = ${anyOf(ids)}`
        }
      }
    }
    const fold = async () => {
      while (writing) await foldTicketCounts(connection())
    }
    const wrong: unknown[] = []
    let comparisons = 0
    const compare = async () => {
      do {
        const kinds = await compareKinds(scope)
        comparisons++
        wrong.push(...kinds.filter(({ counted, there }) => counted !== there))
      } while (writing)
    }
    const others = Promise.all([fold(), fold(), compare()])
    await Promise.all([0, 1, 2, 3].map(write)).finally(() => {
      writing = false
    })
    await others
    expect(wrong).toEqual([])
    expect(comparisons).toBeGreaterThan(1)
    await foldTicketCounts(connection())
    expect((await compareKinds(scope)).filter(({ counted, there }) => counted !== there)).toEqual([])
    const [left] = await scope.sql`
      select count(*) as n from ticket_count_changes where organization_id = ${scope.organization_id}`
    expect(left!.n).toBe(0)
    const [all] = await scope.sql<{ n: number }[]>`
      select count(*) as n from tickets where organization_id = ${scope.organization_id} and deleted_at is null`
    expect(await total(scope, {})).toBe(all!.n)
  })
})

async function total(scope: Scope, filter: Parameters<typeof listTickets>[1]): Promise<number> {
  return (await listTickets(scope, { ...filter, per_page: 1 })).meta.total!
}

async function totals(scope: Scope, assignee_id: string) {
  return {
    all: await total(scope, {}),
    open: await total(scope, { status: ['open'] }),
    closed: await total(scope, { status: ['closed'] }),
    urgent: await total(scope, { priority: ['urgent'] }),
    mine: await total(scope, { assignee_id }),
    mine_closed: await total(scope, { assignee_id, status: ['closed'] }),
  }
}

/** By one statement, which sees one moment: what is counted of each kind, and what is there. */
async function compareKinds({ sql, organization_id }: Scope) {
  return sql<{ counted: number; there: number }[]>`
    select coalesce(counted.n, 0)::bigint as counted, coalesce(there.n, 0)::bigint as there
    from (
      select status, priority, coalesce(assignee_id::text, '') as assignee, sum(n) as n from (
        select status, priority, assignee_id, n from ticket_counts where organization_id = ${organization_id}
        union all
        select status, priority, assignee_id, n from ticket_count_changes where organization_id = ${organization_id}
      ) as both_tables group by 1, 2, 3
    ) as counted
    full join (
      select status, priority, coalesce(assignee_id::text, '') as assignee, count(*) as n from tickets
      where organization_id = ${organization_id} and deleted_at is null group by 1, 2, 3
    ) as there using (status, priority, assignee)`
}

function anyOf<T>(values: readonly T[]): T {
  return values[Math.floor(Math.random() * values.length)]!
}
