/** Reads the events of an organization in their one order. */
import { config } from '../../base/config'
import { sharedTime } from '../../base/db/shared-time'
import { ApiError } from '../../base/errors'
import { byteSteps } from '../../base/flow/byte-steps'
import type { Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { exactTime, settledTime } from '../../base/shapes/settled'
import type { InSteps } from '../../http/request/steps'
import { freshBody } from '../webhooks/fresh-urls'
import type { EventType } from '../webhooks/publish'
import { mayRead, requireRead } from '../webhooks/rights'
import { FED, type FeedEvent, type FeedFilter, type FeedPage, requireOneStart, type StreamFilter } from './model'
import { compare, cursorAt, LAST_NTH, type Place, placeOf } from './place'
import { type Order, readOrder } from './settled-place'

const PER_PAGE = 20
const PER_PAGE_MOST = 100
/** Places that one page looks at: filters may hide most of them. */
const SCANNED_MOST = 2000
const DAY_MS = 86_400_000
/** A transaction that took longer is marked (`began_at`), and so does not matter here. */
const COMMIT_WITHIN_MS = 60_000
/** Clocks of processes differ by this much at most (`base/db/clock.ts`). */
const CLOCKS_MS = 5000

/** A page of events, and the place behind it. */
type Part = { found: Found[]; end: Place; has_more: boolean; last_ms: number | null }

/** An event of the order, without its body. */
type Found = Place & { event_id: string; size: number; resource_id: string | null; ticket_id: string | null }

/** The page that the query asks for. @throws FORBIDDEN, VALIDATION_ERROR, CURSOR_EXPIRED */
export async function listEvents(scope: Scope, filter: FeedFilter): Promise<InSteps<FeedPage>> {
  requireOneStart(filter)
  const types = readableTypes(scope, filter)
  const per_page = Math.min(filter.per_page ?? PER_PAGE, PER_PAGE_MOST)
  const settled = Date.parse(await settledTime(scope.sql))
  const order = await readOrder(scope)
  const after = await placeToBegin(scope, filter, order, 'oldest')
  const part = await readPart(scope, { after, order, types, filter, most: per_page })
  const complete = part.has_more ? await completeBefore(scope, part, settled) : settled
  const meta = {
    per_page,
    next_cursor: cursorAt(scope.organization_id, filter, order.epoch, part.end),
    has_more: part.has_more,
    complete_until: complete === null ? null : `${new Date(complete).toISOString().slice(0, 19)}Z`,
  }
  const steps = byteSteps(part.found)
  if (steps.length > 1) return { data: parsed(scope, steps), meta }
  return { data: (await readItems(scope, part.found)).map(({ item }) => JSON.parse(item)), meta }
}

/** The types that the scope's actor may read and the filter asks for. @throws FORBIDDEN for one that is asked for */
export function readableTypes(scope: Scope, { types }: StreamFilter): EventType[] {
  if (types) requireRead(scope, types)
  return types ?? FED.filter((type) => mayRead(scope, type))
}

/**
 * The place behind which a reader begins.
 * @param start without a cursor and a start
 * @throws VALIDATION_ERROR; CURSOR_EXPIRED when it stands before what is kept, or before a restore
 */
export async function placeToBegin(
  scope: Scope,
  filter: StreamFilter,
  order: Order,
  start: 'oldest' | 'now',
): Promise<Place> {
  const { organization_id } = scope
  if (filter.cursor !== undefined) {
    const { epoch, ...place } = placeOf(organization_id, filter, filter.cursor)
    const is_kept = BigInt(place.place) >= BigInt(order.removed_place)
    const is_there = compare(place, { place: order.settled, nth: LAST_NTH }) <= 0
    if (epoch === order.epoch && is_kept && is_there) return place
    throw await expired(scope)
  }
  const from = filter.start ?? start
  if (from === 'now') return { place: order.settled, nth: LAST_NTH }
  if (from === 'oldest') return { place: order.removed_place, nth: LAST_NTH }
  const kept_from_ms = sharedTime() - config.EVENT_RETENTION_DAYS * DAY_MS
  if (from < Math.max(kept_from_ms, order.removed_until_ms ?? 0)) throw await expired(scope)
  return placeAt(scope, from, order)
}

async function expired({ sql, organization_id }: Scope): Promise<ApiError> {
  const [first] = await sql<{ happened_at: string }[]>`
    select happened_at from event_places where organization_id = ${organization_id} order by place, nth limit 1`
  return new ApiError('CURSOR_EXPIRED', { oldest: first?.happened_at ?? null })
}

/** The place before the first event from a time on. Ids tell when events were made, and places when they committed. */
async function placeAt({ sql, organization_id }: Scope, time_ms: number, order: Order): Promise<Place> {
  const [first] = await sql<{ made_ms: number }[]>`
    select (extract(epoch from uuid_time(event_id)) * 1000)::float8 as made_ms from event_places
    where organization_id = ${organization_id} and event_id >= ${firstIdAt(time_ms)} order by event_id limit 1`
  const end = { place: order.settled, nth: LAST_NTH }
  if (!first) return end
  const until_ms = first.made_ms + COMMIT_WITHIN_MS + CLOCKS_MS
  const [row] = await sql<{ place: string; nth: number }[]>`
    select place::text, nth from event_places
    where organization_id = ${organization_id} and event_id between ${firstIdAt(time_ms)} and ${firstIdAt(Math.ceil(until_ms))}
    order by event_places.place, event_places.nth limit 1`
  if (!row || BigInt(row.place) > BigInt(order.settled)) return end
  return { place: row.place, nth: row.nth - 1 }
}

type Asked = { after: Place; order: Pick<Order, 'settled'>; types: EventType[]; filter: StreamFilter; most: number }

/** Reads the next events behind a place that are settled, and tells how far it looked. */
export async function readPart({ sql, organization_id }: Scope, asked: Asked): Promise<Part> {
  const { after, order, types, filter, most } = asked
  const ids = filter.resource_ids
  const scanned_most = ids || types.length < FED.length ? SCANNED_MOST : most + 1
  const is_about = ids ? sql`and (resource_id = any(${ids}::uuid[]) or ticket_id = any(${ids}::uuid[]))` : sql``
  const rows = await sql<(Found & { n: number; is_shown: boolean; happened_at: string })[]>`
    with scanned as materialized (
      select place, nth, event_id, resource_id, ticket_id, happened_at, row_number() over (order by place, nth) as n,
        coalesce(type = any(${types}::text[]) ${is_about}, false) as is_shown
      from event_places
      where organization_id = ${organization_id} and (place, nth) > (${after.place}::bigint, ${after.nth}::integer)
        and place <= ${order.settled}::bigint
      order by place, nth ${sql.unsafe(`limit ${scanned_most}`)}
    ), picked as materialized (
      select * from scanned where is_shown or n = (select max(n) from scanned)
      order by n ${sql.unsafe(`limit ${most + 2}`)}
    )
    select s.place::text, s.nth, s.event_id, s.resource_id, s.ticket_id, s.n, s.is_shown and e.id is not null as is_shown,
      ${exactTime(sql, sql`s.happened_at at time zone 'UTC'`)} as happened_at, coalesce(octet_length(e.body), 0) as size
    from picked s
    left join events e on e.organization_id = ${organization_id} and e.id = s.event_id and s.is_shown
    order by s.n`
  const shown = rows.filter(({ is_shown }) => is_shown)
  const is_full = shown.length > most
  const found = shown.slice(0, most)
  const last = is_full ? found.at(-1) : rows.at(-1)
  const has_more = is_full || (last?.n ?? 0) >= scanned_most
  // At the end the page has passed all that is settled, whatever filters hide.
  const passed = { place: order.settled, nth: LAST_NTH }
  const end = has_more && last ? { place: last.place, nth: last.nth } : compare(after, passed) > 0 ? after : passed
  return { found, end, has_more, last_ms: last ? Date.parse(last.happened_at) : null }
}

/** Finds the time before which a page has all changes although more follows: only marked ones commit after a minute. */
async function completeBefore({ sql, organization_id }: Scope, { end, last_ms }: Part, settled_ms: number) {
  const [row] = await sql<{ began_ms: number | null }[]>`
    select (extract(epoch from min(began_at)) * 1000)::float8 as began_ms from event_places
    where organization_id = ${organization_id} and began_at is not null
      and (place, nth) > (${end.place}::bigint, ${end.nth}::integer)`
  const bounds = [settled_ms, (last_ms ?? 0) - COMMIT_WITHIN_MS, row?.began_ms ?? settled_ms]
  return Math.min(...bounds) - CLOCKS_MS
}

async function* parsed(scope: Scope, steps: Found[][]): AsyncGenerator<FeedEvent[]> {
  for (const step of steps) yield (await readItems(scope, step)).map(({ item }) => JSON.parse(item))
}

/** Reads the items of events: the bytes that webhooks get, with the id in front. */
export async function readItems({ sql, organization_id }: Scope, found: Found[]) {
  if (found.length === 0) return []
  const rows = await sql<{ id: string; type: EventType; body: string }[]>`
    select id, type, body from events
    where organization_id = ${organization_id} and id = any(${found.map(({ event_id }) => event_id)}::uuid[])`
  const read = new Map(rows.map((row) => [row.id, row]))
  return found.flatMap((one) => {
    const row = read.get(one.event_id)
    if (!row) return []
    return { ...one, type: row.type, item: `{"id":"${row.id}",${freshBody(organization_id, row.body).slice(1)}` }
  })
}
