/**
 * Leases rows of the outbox to workers. A row whose lease ran out is free for the next claim, so nothing has to rescue
 * the rows of a dead process. Only the database's clock counts.
 *
 * A lease replaces a transaction that would stay open while a request is sent. That one would hold a connection for up
 * to 30 s, and vacuum could not remove what was finished since it began.
 *
 * The layout and the statement were chosen by measurement: PostgreSQL 18, fsync on, 2 cores shared with other work,
 * 1,000,000 finished jobs beside the work, one loop that claims and settles without sending.
 *
 * |                                                  |  1 row a claim | 10 rows | 100 rows | CPU, WAL for a job |
 * |--------------------------------------------------|----------------|---------|----------|--------------------|
 * | A: one table, finished rows stay, partial indexes|          457/s | 3,078/s | 10,374/s |    84 µs, 3,000 B  |
 * | B: rows that are left in a small table, with body|          492/s | 4,637/s |  9,895/s |    58 µs           |
 * | C: the same without the body, lease in `run_at`  |          318/s | 4,530/s | 14,135/s |    58 µs, 2,250 B  |
 * | D: the same, lease in columns that no index has  |          454/s | 1,600/s | 10,692/s |    56 µs, 2,300 B  |
 *
 * Runs were at different times; differences below 30 % mean nothing. What counts is the number of rows in a claim: 10
 * rows make it ten times, 100 rows thirty times as fast. Four loops were between 2.3 times faster and 5 times slower
 * than one, so each kind has one. D is used: finished work costs nothing, and 92 % of its claims touch no index (HOT
 * updates), against none with the lease in an index.
 */

import { inEach } from '../../base/db/all-organizations'
import { newId } from '../../base/db/columns'
import type { Sql } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import type { OutboxJob, OutboxKind } from './job'
import { type Claimed, observeClaim } from './outbox-attempts'

/** Seconds that a worker may be silent until others take its rows; renewed while an attempt takes longer. */
export const LEASE_S = 60

/** Rows to take from a lane, at most, and when the oldest of them was due, if a look has told that. */
export type LaneRoom = { organization_id: string; lane_id: string; room: number; oldest_s?: number }

type Leased = Omit<OutboxJob, 'due_ms'> & { waited_s: number | null }

/**
 * Leases the oldest due rows of lanes of one organization, as many as each has room for. Rows that another process is
 * taking are skipped.
 * @param lease_token a new id, which all rows of this claim get
 */
export async function claim(
  sql: Sql,
  kind: OutboxKind,
  organization_id: string,
  lanes: Omit<LaneRoom, 'organization_id'>[],
  lease_token: string,
): Promise<OutboxJob[]> {
  const started_ms = performance.now()
  // The limit removes no row. Without it the planner expects so many rows that it reads the whole table. What is older
  // than the look found is finished or leased: while a transaction is held open, it stays in the index. The list of ids
  // keeps the update off such rows, which the planner does not count.
  const most = lanes.reduce((sum, { room }) => sum + room, 0)
  const claimed = await sql<(Leased & Claimed)[]>`
    with lane as materialized (
      select * from unnest(
        ${lanes.map((lane) => lane.lane_id)}::uuid[], ${lanes.map((lane) => lane.room)}::int[],
        ${lanes.map(({ oldest_s = 0 }) => oldest_s)}::float8[]
      ) as x (lane_id, room, oldest_s)
    ), due as materialized (
      select o.id, o.is_taken_over from lane cross join lateral (
        select id, lease_token is not null as is_taken_over from outbox
        where organization_id = ${organization_id} and lane_id = lane.lane_id and kind = ${kind}
          and run_at >= to_timestamp(lane.oldest_s) and run_at <= now() and lease_until <= now()
        order by run_at limit lane.room for update skip locked
      ) as o
      limit ${most}
    )
    update outbox o
    set lease_token = ${lease_token}, lease_until = now() + ${LEASE_S} * interval '1 second', claims = claims + 1
    from due where o.organization_id = ${organization_id} and o.id = due.id and o.id = any(array(select id from due))
    returning o.organization_id, o.id, o.lane_id, o.attempts, o.claims, o.lease_token, o.traceparent, due.is_taken_over,
      ${waited(sql)}`
  observeClaim(kind, performance.now() - started_ms, claimed)
  return claimed.map(({ is_taken_over, ...leased }) => asJob(leased))
}

/**
 * Leases one row, due or not, in the caller's transaction. Returns undefined when the row is leased or being settled.
 * To wait for it could deadlock, because that settle may wait for what the caller has locked.
 */
export async function takeLease({ sql, organization_id }: Scope, id: string): Promise<OutboxJob | undefined> {
  const [leased] = await sql<Leased[]>`
    update outbox o
    set lease_token = ${newId()}, lease_until = now() + ${LEASE_S} * interval '1 second', claims = claims + 1
    where organization_id = ${organization_id} and id = (
      select id from outbox
      where organization_id = ${organization_id} and id = ${id} and lease_until <= now()
      for update skip locked
    )
    returning organization_id, id, lane_id, attempts, claims, lease_token, traceparent, ${waited(sql)}`
  return leased && asJob(leased)
}

/**
 * SQL for the seconds since a row that has just been leased came due; null for a parked one. The new lease tells the
 * time: `returning` may not call `now()` on a cluster.
 */
function waited(sql: Sql) {
  return sql`
    case when o.run_at < 'infinity' then extract(epoch from o.lease_until - o.run_at)::float8 - ${LEASE_S} end as waited_s`
}

function asJob({ waited_s, ...leased }: Leased): OutboxJob {
  return { ...leased, due_ms: waited_s === null ? null : performance.now() - waited_s * 1000 }
}

/** Renews the leases that still hold. */
export async function renew(sql: Sql, jobs: OutboxJob[]): Promise<void> {
  await inOrganizations(
    jobs,
    (organization_id, given) => sql`
      update outbox o set lease_until = now() + ${LEASE_S} * interval '1 second'
      from ${rowsOf(sql, given)}
      where o.organization_id = ${organization_id} and o.id = x.id and o.lease_token = x.lease_token
        and o.lease_until > now()`,
  )
}

/** Releases rows at once, as if they had not been claimed. */
export async function release(sql: Sql, jobs: OutboxJob[]): Promise<void> {
  await inOrganizations(
    jobs,
    (organization_id, given) => sql`
      update outbox o set lease_until = '-infinity', lease_token = null, claims = o.claims - 1
      from ${rowsOf(sql, given)}
      where o.organization_id = ${organization_id} and o.id = x.id and o.lease_token = x.lease_token`,
  )
}

/** Releases the rows of a claim whose answer was lost with the connection, so that nobody knows them. */
export async function releaseToken(
  sql: Sql,
  kind: OutboxKind,
  organization_id: string,
  lease_token: string,
): Promise<void> {
  await sql`
    update outbox set lease_until = '-infinity', lease_token = null, claims = claims - 1
    where organization_id = ${organization_id} and kind = ${kind} and lease_token = ${lease_token}`
}

async function inOrganizations(
  jobs: OutboxJob[],
  work: (organization_id: string, own: OutboxJob[]) => PromiseLike<unknown>,
): Promise<void> {
  const own = Map.groupBy(jobs, (job) => job.organization_id)
  await inEach(own.keys(), async (organization_id) => void (await work(organization_id, own.get(organization_id)!)))
}

function rowsOf(sql: Sql, jobs: OutboxJob[]) {
  const given = jobs.map(({ id, lease_token }) => ({ id, lease_token }))
  return sql`json_to_recordset(${JSON.stringify(given)}::text::json) as x (id uuid, lease_token uuid)`
}
