/** Enqueues work for a later moment, in the transaction of the change that sets it, moves it or takes it back. */
import { isOneOf } from '../../base/db/few-rows'
import type { Scope } from '../../base/scope'
import type { OutboxKind } from './job'

/** Work for a moment that somebody chooses. */
type Scheduled = Extract<OutboxKind, 'wake'>

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

/** Removes rows whose moment is ahead. The others end by themselves: their handlers see that nothing is to be done. */
export async function withdrawWork({ sql, organization_id }: Scope, kind: Scheduled, ids: string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    delete from outbox
    where organization_id = ${organization_id} and id ${isOneOf(sql, ids)} and kind = ${kind} and run_at > now()`
}
