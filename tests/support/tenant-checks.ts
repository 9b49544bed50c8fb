/** The rules that hold in organizations once all work is done, whatever happened to their machine meanwhile. */
import { expect } from 'bun:test'
import postgres from 'postgres'
import type { ReceivedRequest } from './receiver'
import { until } from './service'
import type { Tenant, TenantLoad } from './tenant-load'

/** Waits until nothing is left to do, and checks what there is then. */
export async function checkWorkedOff(
  database_url: string,
  tenants: Tenant[],
  { load, requests }: { load: TenantLoad; requests: ReceivedRequest[] },
): Promise<void> {
  const sql = postgres(database_url, { max: 1, onnotice: () => {} })
  try {
    for (const tenant of tenants) {
      const acknowledged = [...load.created.get(tenant.id)!, ...load.mailed.get(tenant.id)!]
      // A transaction that the stop of a machine left prepared is ended by Citus within a minute.
      await until('all that was acknowledged is there', async () => {
        const subjects = new Set((await ticketsOf(sql, tenant)).map(({ subject }) => subject))
        return acknowledged.every((subject) => subjects.has(subject))
      })
    }
    await until('nothing is left to do', async () => {
      const [left] = await sql<[{ n: string }]>`
        select (select count(*) from outbox) + (select count(*) from tally_changes)
          + (select count(*) from ticket_count_changes) as n`
      return Number(left.n) === 0
    })
    for (const tenant of tenants) {
      const tickets = await ticketsOf(sql, tenant)
      expect(tickets.filter(({ n }) => n !== 1)).toEqual([])
      await checkDelivered(sql, tenant, requests)
      await checkCounters(sql, tenant)
    }
  } finally {
    await sql.end()
  }
}

/** The subjects of an organization, with the number of their tickets. */
function ticketsOf(sql: postgres.Sql, { id }: Tenant) {
  return sql<{ subject: string; n: number }[]>`
    select subject, count(*)::int as n from tickets where organization_id = ${id} group by subject`
}

/** Each ticket but the first was announced, and what the receiver took is recorded. */
async function checkDelivered(sql: postgres.Sql, { id }: Tenant, requests: ReceivedRequest[]): Promise<void> {
  const [states] = await sql<[{ events: number; unsent: number }]>`
    select count(*)::int as events, (count(*) filter (where status <> 'success'))::int as unsent
    from deliveries where organization_id = ${id}`
  const tickets = await sql<{ id: string }[]>`select id from tickets where organization_id = ${id} order by id offset 1`
  const announced = requests.filter(({ path }) => path.endsWith(id)).map((request) => request.json().data.id)
  expect(states).toEqual({ events: tickets.length, unsent: 0 })
  expect(tickets.filter((ticket) => !announced.includes(ticket.id))).toEqual([])
}

async function checkCounters(sql: postgres.Sql, { id }: Tenant): Promise<void> {
  const rows = await sql`
    select status, count(*)::int as n from tickets where organization_id = ${id} and deleted_at is null
    group by status order by status`
  const counts = await sql`
    select status, sum(n)::int as n from ticket_counts where organization_id = ${id}
    group by status having sum(n) <> 0 order by status`
  const tallies = await sql`
    select status, sum(n)::int as n from tallies where organization_id = ${id} and kind = 'tickets'
    group by status having sum(n) <> 0 order by status`
  expect([...counts]).toEqual([...rows])
  expect([...tallies]).toEqual([...rows])
}
