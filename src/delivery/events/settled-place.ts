/**
 * The highest place in an organization's order of events that is settled: no event that is not visible yet can get this
 * place or one below it.
 *
 * Writers hold a lock in common from the moment when they choose their place, above all that are visible, to the end of
 * their commit (the trigger of `events`). So who has had that lock alone sees every event whose place was chosen
 * before, and later writers choose places above. It is held for a statement, and waits for commits that are under way.
 */
import { ApiError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'

/** A commit takes milliseconds. One that takes longer waits for a disk or a standby, and readers do not join it. */
const LOCK_MOST_MS = 3000

/** The order of an organization's events as it stands. Places have all their digits, as text. */
export type Order = {
  settled: string
  /** The last place that the retention has removed. */
  removed_place: string
  /** The latest event that the retention has removed, in milliseconds since 1970. */
  removed_until_ms: number | null
  /** Changes with each restore of the database. */
  epoch: string
}

/** @throws SERVICE_UNAVAILABLE while commits of the organization do not end */
export function readOrder(scope: Scope): Promise<Order> {
  return inTransaction(scope, async ({ sql, organization_id }) => {
    const lock = [
      sql.unsafe(`set local lock_timeout = ${LOCK_MOST_MS}`),
      sql`select pg_advisory_xact_lock(hashtextextended(${`events of ${organization_id}`}, 0))`,
    ]
    const order = sql<Order[]>`
      with feed as materialized (
        select coalesce(max(removed_place), 0) as removed_place, coalesce(max(epoch::text), '') as epoch,
          (extract(epoch from max(removed_until)) * 1000)::float8 as removed_until_ms
        from event_feeds where event_feeds.organization_id = ${organization_id}
      ), last as materialized (
        select place from event_places where event_places.organization_id = ${organization_id}
        order by place desc limit 1
      )
      select greatest(feed.removed_place, (select place from last))::text as settled,
        feed.removed_place::text as removed_place, feed.removed_until_ms, feed.epoch
      from feed`
    const sent = [...lock, order]
    const failed = (await Promise.allSettled(sent)).find((result) => result.status === 'rejected')
    if (failed && (failed.reason as { code?: string }).code === '55P03') throw new ApiError('SERVICE_UNAVAILABLE')
    if (failed) throw failed.reason
    return (await order)[0]!
  })
}
