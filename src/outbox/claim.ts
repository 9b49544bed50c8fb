/**
 * Leases: who works on which row of the outbox. A lease that ran out is free for the next claim, so nothing has to
 * rescue the rows of a dead process. Only the database's clock counts.
 */

import { newId } from '../db/columns'
import type { Sql } from '../db/transact'
import { type Claimed, observeClaim } from '../metrics/outbox-attempts'
import type { Scope } from '../scope'
import type { Job } from './job'
import type { OutboxKind } from './wake'

/** How long a worker may be silent before others take its rows; renewed while an attempt takes longer. */
export const LEASE_S = 60

/** Due rows looked at before lanes are walked instead. */
const HEAD_ROWS = 1000
/** Lanes walked by one statement, so that it stays short: about 5 microseconds each. */
const WALK_LANES = 2000
const FIRST_LANE = '00000000-0000-0000-0000-000000000000'

/** A lane with due work; `failing` when it has work that failed before. */
export type DueLane = { lane_id: string; failing: boolean; oldest_s: number }

/**
 * The lanes that have due work. The oldest due rows tell them all, unless there is a backlog: then every lane of the
 * outbox is visited once, which costs by the lane and not by the row, so nobody's backlog hides the others.
 * @returns lanes whose oldest due row is the youngest first: an endpoint that answers is rarely behind
 */
export async function findDueLanes(sql: Sql, kind: OutboxKind): Promise<DueLane[]> {
  const head = await sql<(DueLane & { rows: number })[]>`
    select lane_id, bool_or(attempts > 0) as failing, extract(epoch from min(run_at))::float8 as oldest_s,
      count(*) as rows
    from (
      select lane_id, attempts, run_at from outbox
      where kind = ${kind} and run_at <= now() and lease_until <= now() order by run_at limit ${HEAD_ROWS}
    ) as head
    group by lane_id`
  const seen = head.reduce((sum, lane) => sum + lane.rows, 0)
  const lanes = seen < HEAD_ROWS ? [...head] : await walkLanes(sql, kind)
  return lanes.sort((a, b) => b.oldest_s - a.oldest_s)
}

async function walkLanes(sql: Sql, kind: OutboxKind): Promise<DueLane[]> {
  const due: DueLane[] = []
  for (let after = FIRST_LANE; ; ) {
    const walked = await sql<{ lane_id: string; failing: boolean | null; oldest_s: number | null }[]>`
      with recursive lane (lane_id, place) as (
        (select lane_id, 1 from outbox where lane_id > ${after} order by lane_id limit 1)
        union all
        select (select o.lane_id from outbox o where o.lane_id > lane.lane_id order by o.lane_id limit 1), place + 1
        from lane where lane.lane_id is not null and place < ${WALK_LANES}
      )
      select lane_id, first.failing, first.oldest_s from lane left join lateral (
        select o.attempts > 0 as failing, extract(epoch from o.run_at)::float8 as oldest_s from outbox o
        where o.lane_id = lane.lane_id and o.kind = ${kind} and o.run_at <= now() and o.lease_until <= now()
        order by o.run_at limit 1
      ) as first on true
      where lane_id is not null
      order by place`
    for (const { lane_id, failing, oldest_s } of walked) {
      if (failing !== null && oldest_s !== null) due.push({ lane_id, failing, oldest_s })
    }
    if (walked.length < WALK_LANES) return due
    after = walked[walked.length - 1]!.lane_id
  }
}

/** How many rows to take from a lane. */
export type LaneRoom = { lane_id: string; room: number }

/**
 * Leases the oldest due rows of each lane, as many as it has room for. Rows that another process is taking are skipped.
 * @param lease_token of all of them, new each time
 */
export async function claim(sql: Sql, kind: OutboxKind, lanes: LaneRoom[], lease_token: string): Promise<Job[]> {
  const started_ms = performance.now()
  // No row more than without it, but without it the planner expects so many that it reads the whole table.
  const most = lanes.reduce((sum, { room }) => sum + room, 0)
  const claimed = await sql<(Job & Claimed)[]>`
    with lane as materialized (
      select * from unnest(${lanes.map((lane) => lane.lane_id)}::uuid[], ${lanes.map((lane) => lane.room)}::int[])
        as x (lane_id, room)
    ), due as materialized (
      select o.organization_id, o.id, o.is_taken_over from lane cross join lateral (
        select organization_id, id, lease_token is not null as is_taken_over from outbox
        where lane_id = lane.lane_id and kind = ${kind} and run_at <= now() and lease_until <= now()
        order by run_at limit lane.room for update skip locked
      ) as o
      limit ${most}
    )
    update outbox o
    set lease_token = ${lease_token}, lease_until = now() + ${LEASE_S} * interval '1 second', claims = claims + 1
    from due where o.organization_id = due.organization_id and o.id = due.id
    returning o.organization_id, o.id, o.lane_id, o.attempts, o.claims, o.lease_token, due.is_taken_over,
      extract(epoch from now() - o.run_at)::float8 as waited_s`
  observeClaim(kind, performance.now() - started_ms, claimed)
  return claimed.map(({ waited_s, is_taken_over, ...job }) => job)
}

/**
 * Leases one row that nobody has leased or is settling, due or not; in the caller's transaction. It does not wait: a
 * settle may wait for what the caller has locked.
 */
export async function takeLease({ sql, organization_id }: Scope, id: string): Promise<Job | undefined> {
  const [job] = await sql<Job[]>`
    update outbox
    set lease_token = ${newId()}, lease_until = now() + ${LEASE_S} * interval '1 second', claims = claims + 1
    where organization_id = ${organization_id} and id = (
      select id from outbox
      where organization_id = ${organization_id} and id = ${id} and lease_until <= now()
      for update skip locked
    )
    returning organization_id, id, lane_id, attempts, claims, lease_token`
  return job
}

/** Lengthens the leases that still hold. */
export async function renew(sql: Sql, jobs: Job[]): Promise<void> {
  await sql`
    update outbox o set lease_until = now() + ${LEASE_S} * interval '1 second'
    from ${given(sql, jobs)}
    where o.organization_id = x.organization_id and o.id = x.id and o.lease_token = x.lease_token
      and o.lease_until > now()`
}

/** Gives rows back at once, as if they had not been claimed. */
export async function release(sql: Sql, jobs: Job[]): Promise<void> {
  await sql`
    update outbox o set lease_until = '-infinity', lease_token = null, claims = o.claims - 1
    from ${given(sql, jobs)}
    where o.organization_id = x.organization_id and o.id = x.id and o.lease_token = x.lease_token`
}

/** Gives back the rows of a claim whose answer was lost with the connection: nobody knows that it has them. */
export async function releaseClaim(sql: Sql, kind: OutboxKind, lease_token: string): Promise<void> {
  await sql`
    update outbox set lease_until = '-infinity', lease_token = null, claims = claims - 1
    where kind = ${kind} and lease_token = ${lease_token}`
}

function given(sql: Sql, jobs: Job[]) {
  return sql`
    json_to_recordset(${JSON.stringify(jobs)}::text::json) as x (organization_id uuid, id uuid, lease_token uuid)`
}
