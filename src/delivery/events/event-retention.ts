/** Removes old events from the feed, by a timer, and ends cursors after a restore. */
import { type InOrganization, sweep } from '../../base/db/sweep'
import type { Connection, Fragment } from '../../base/db/transact'

/** Events of one transaction, and more when they were committed together. */
const BATCH = 1000
/** Pause between transactions, so that deleting much leaves the disk to others now and then. */
const PAUSE_MS = 50

/**
 * Removes from the feed what happened more than `days` ago, and events that no delivery needs. What stays always begins
 * with a whole commit.
 */
export async function removeOldEvents(connection: Connection, days: number): Promise<void> {
  const is_old = connection.sql`happened_at < now() - ${days} * interval '1 day'`
  const old = { table: 'event_places', is_old, order: 'happened_at', size: BATCH, pause_ms: PAUSE_MS }
  await sweep(connection, old, (batch) => removeBatch(batch, is_old))
}

async function removeBatch({ sql, organization_id }: InOrganization, is_old: Fragment): Promise<number> {
  const [last] = await sql<{ place: string | null; until: string | null }[]>`
    with oldest as materialized (
      select place, happened_at, ${is_old} as is_old
      from event_places where organization_id = ${organization_id} order by place, nth limit ${BATCH}
    )
    select max(place)::text as place, max(happened_at) as until from oldest
    where place < coalesce((select min(place) from oldest where not is_old), ${'9223372036854775807'}::bigint)`
  if (!last?.place) return 0
  const removed = await sql<{ event_id: string }[]>`
    delete from event_places where organization_id = ${organization_id} and place <= ${last.place}::bigint
    returning event_id`
  await sql`
    insert into event_feeds as f (organization_id, removed_place, removed_until)
    values (${organization_id}, ${last.place}::bigint, ${last.until})
    on conflict (organization_id) do update set
      removed_place = greatest(f.removed_place, excluded.removed_place),
      removed_until = greatest(f.removed_until, excluded.removed_until)`
  await sql`
    delete from events e
    where e.organization_id = ${organization_id} and e.id = any(${removed.map(({ event_id }) => event_id)}::uuid[])
      and not exists (
        select 1 from deliveries d where d.organization_id = ${organization_id} and d.event_id = e.id
      )`
  return removed.length
}
