/** Measures how long after their moments tickets are awake: of one moment and of one minute, beside a load too. */
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
const MINUTE_S = 60
/** The load goes on for so long after the last moment: until all are awake, if the aim is met. */
const AFTER_S = 12
const MOST_S = 10

export async function benchDue(rig: Rig): Promise<void> {
  const place = loadPlace(rig.sizes)
  const organization_id = tenantId(place)
  const size = rig.sizes[place - 1]!
  printHead(`${Math.min(TICKETS, size)} tickets that wake at one moment, ${size} in the organization`)
  const headers = await rig.headers(organization_id)
  const load = { origin: rig.service.url, method: 'GET' as const, requests: [{ path: '/api/v1/tickets' }], headers }
  const besideLoad = async (within_s: number) => {
    const seconds = AHEAD_S + within_s + AFTER_S
    const loaded = sendHttpLoad({ ...load, connections: CONNECTIONS, seconds }, rig.dir)
    const late_s = await wakeAll(rig, organization_id, within_s)
    const { per_s, p99_ms } = await loaded
    return [late_s, rounded(per_s), rounded(p99_ms)] as const
  }
  const beside = `beside ${CONNECTIONS} readers of lists`
  const rows = [
    ['at one moment, alone', await wakeAll(rig, organization_id, 0), '', ''] as const,
    [`at one moment, ${beside}`, ...(await besideLoad(0))] as const,
    [`in one minute, ${beside}`, ...(await besideLoad(MINUTE_S))] as const,
  ]
  const reached = (name: string, seconds: number) => verdict(`waking ${name}`, seconds, { at_most: MOST_S })
  printTable(
    ['Due', 's until awake, the latest', 'aim', '', 'lists per s', 'p99 ms'],
    rows.map(([name, seconds, ...load]) => [name, rounded(seconds), `<= ${MOST_S}`, reached(name, seconds), ...load]),
  )
}

/**
 * @param within_s the moments of the tickets are spread over so long
 * @returns seconds from the moment of a ticket until it is awake, of the latest one
 */
async function wakeAll({ sql }: Rig, organization_id: string, within_s: number): Promise<number> {
  await untilSettled(sql)
  const [{ moment }] = await sql<[{ moment: Date }]>`select now() + make_interval(secs => ${AHEAD_S}) as moment`
  const tickets = await sql<{ id: string }[]>`
    select id from tickets where organization_id = ${organization_id} and deleted_at is null order by id limit ${TICKETS}`
  const ids = tickets.map(({ id }) => id)
  const its_moment = sql`(${moment}::timestamptz + u.place * ${within_s / ids.length}::float8 * interval '1 second')`
  await sql`
    update tickets t set status = 'pending', snoozed_until = ${its_moment}
    from unnest(${ids}::uuid[]) with ordinality as u (id, place)
    where t.organization_id = ${organization_id} and t.id = u.id`
  await sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    select ${organization_id}, id, 'wake', ${organization_id}, ${its_moment}
    from unnest(${ids}::uuid[]) with ordinality as u (id, place)`
  await until(
    'all are awake',
    async () => (await sql`select from outbox where kind = 'wake' limit 1`).length === 0,
    600_000,
  )
  const [{ seconds }] = await sql<[{ seconds: number }]>`
    select extract(epoch from max(t.updated_at - ${its_moment}))::float8 as seconds
    from unnest(${ids}::uuid[]) with ordinality as u (id, place)
    join tickets t on t.organization_id = ${organization_id} and t.id = u.id`
  return seconds
}
