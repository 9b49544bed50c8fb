/** Measures how long tickets that are due at one moment take until they are awake, beside a load and without one. */
import { until } from '../support/service'
import { sendHttpLoad } from './http-load'
import { printHead, printTable, rounded, verdict } from './report'
import type { Rig } from './rig'
import { loadPlace, untilSettled } from './settled'
import { tenantId } from './volume/tenants'

const TICKETS = Number(process.env.BENCH_DUE ?? 10_000)
const CONNECTIONS = 16
/** From now until the moment, in which the load begins. */
const AHEAD_S = 5
/** The load takes so long: until all are awake, if the aim is met. */
const LOAD_S = AHEAD_S + 12
const MOST_S = 10

export async function benchDue(rig: Rig): Promise<void> {
  const place = loadPlace(rig.sizes)
  const organization_id = tenantId(place)
  const size = rig.sizes[place - 1]!
  printHead(`${Math.min(TICKETS, size)} tickets that wake at one moment, ${size} in the organization`)
  const alone_s = await wakeAll(rig, organization_id)
  const load = { origin: rig.service.url, method: 'GET' as const, requests: [{ path: '/api/v1/tickets' }] }
  const headers = await rig.headers(organization_id)
  const loaded = sendHttpLoad({ ...load, headers, connections: CONNECTIONS, seconds: LOAD_S }, rig.dir)
  const beside_s = await wakeAll(rig, organization_id)
  const { per_s, p99_ms } = await loaded
  const rows = [
    ['alone', alone_s, '', ''] as const,
    [`beside ${CONNECTIONS} readers of lists`, beside_s, rounded(per_s), rounded(p99_ms)] as const,
  ]
  const reached = (name: string, seconds: number) => verdict(`waking ${name}`, seconds, { at_most: MOST_S })
  printTable(
    ['Waking', 's until the last', 'aim', '', 'lists per s', 'p99 ms'],
    rows.map(([name, seconds, ...load]) => [name, rounded(seconds), `<= ${MOST_S}`, reached(name, seconds), ...load]),
  )
}

/** @returns seconds from the moment until the last of the tickets is awake */
async function wakeAll({ sql }: Rig, organization_id: string): Promise<number> {
  await untilSettled(sql)
  const [{ moment }] = await sql<[{ moment: Date }]>`select now() + make_interval(secs => ${AHEAD_S}) as moment`
  const tickets = await sql<{ id: string }[]>`
    update tickets set status = 'pending', snoozed_until = ${moment}
    where organization_id = ${organization_id} and id in (
      select id from tickets where organization_id = ${organization_id} and deleted_at is null order by id limit ${TICKETS}
    )
    returning id`
  await sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    select ${organization_id}, id, 'wake', ${organization_id}, ${moment}
    from unnest(${tickets.map(({ id }) => id)}::uuid[]) as id`
  await until(
    'all are awake',
    async () => (await sql`select from outbox where kind = 'wake' limit 1`).length === 0,
    600_000,
  )
  const [{ seconds }] = await sql<[{ seconds: number }]>`
    select extract(epoch from max(updated_at) - ${moment})::float8 as seconds from tickets
    where organization_id = ${organization_id} and id = any(${tickets.map(({ id }) => id)}::uuid[])`
  return seconds
}
