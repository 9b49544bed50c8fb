/** Enqueues work for a later moment, in the transaction of the change that sets it, moves it or takes it back. */
import { toInstant } from '../../base/db/columns'
import { isOneOf } from '../../base/db/few-rows'
import { insertRows } from '../../base/db/insert-rows'
import { sharedTime } from '../../base/db/shared-time'
import type { Fragment } from '../../base/db/transact'
import { afterCommit, type Scope } from '../../base/scope'
import { timeOf } from '../../base/shapes/time'
import { currentTraceparent } from '../../base/tracing/trace'
import type { OutboxKind } from './job'
import { wake } from './wake'

/** Work for a moment that somebody chooses. */
type Scheduled = Extract<OutboxKind, 'wake' | 'draft' | 'letter' | 'rule' | 'promise'>

/** Says what is wrong with a moment that somebody has chosen. @returns undefined when it is right */
export function momentFault(moment: string): string | undefined {
  const time_ms = timeOf(moment)!
  const latest = new Date(sharedTime())
  if (time_ms <= latest.getTime()) return 'must be in the future'
  latest.setUTCFullYear(latest.getUTCFullYear() + 1)
  // Moments are whole seconds.
  return time_ms >= latest.getTime() + 1000 ? 'must be within a year' : undefined
}

/** A second as answers show it, never an earlier one. */
export function wholeSecond(time_ms: number): string {
  return toInstant(new Date(Math.ceil(time_ms / 1000) * 1000).toISOString())
}

/**
 * Inserts an outbox row that comes due at a moment, or moves it there. An attempt that is under way changes nothing any
 * more.
 * @param id of what waits, which the caller has locked
 * @param run_at the moment, as statements take it
 */
export async function scheduleWork(
  { sql, organization_id }: Scope,
  kind: Scheduled,
  id: string,
  lane_id: string,
  run_at: string,
): Promise<void> {
  await sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    values (${organization_id}, ${id}, ${kind}, ${lane_id}, ${run_at})
    on conflict (organization_id, id) do update
    set run_at = excluded.run_at, queued_at = excluded.queued_at, lease_until = '-infinity', lease_token = null,
      attempts = 0, claims = 0`
}

/**
 * Inserts new rows that come due at their moments, and has those that are due done after the commit.
 * @param work ids that no row has
 */
export async function scheduleAll(
  scope: Scope,
  kind: Scheduled,
  lane_id: string,
  work: { id: string; run_at: string | Fragment }[],
): Promise<void> {
  const { sql, organization_id } = scope
  const rows = work.map((one) => ({ organization_id, kind, lane_id, traceparent: currentTraceparent(), ...one }))
  await insertRows(sql, 'outbox', rows)
  afterCommit(scope, () => wake(kind, [{ organization_id, lane_id }]))
}

/** Removes rows whose moment is ahead. The others end by themselves: their handlers see that nothing is to be done. */
export async function withdrawWork({ sql, organization_id }: Scope, kind: Scheduled, ids: string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    delete from outbox
    where organization_id = ${organization_id} and id ${isOneOf(sql, ids)} and kind = ${kind} and run_at > now()`
}
