/** Queues deliveries of a webhook once more: those that failed, or all events of a time. */
import { audit } from '../../base/audit/audit'
import { config } from '../../base/config'
import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { sharedTime } from '../../base/db/shared-time'
import { ApiError, fieldError } from '../../base/errors'
import { byteSteps } from '../../base/flow/byte-steps'
import { afterCommit, inTransaction, type Scope } from '../../base/scope'
import { timeOf } from '../../base/shapes/time'
import { currentTraceparent } from '../../base/tracing/trace'
import { wake } from '../outbox/wake'
import { judgeOf } from './event-filter'
import type { Replay, Replayed, Webhook } from './model'
import type { EventType } from './publish'
import { lockWebhook } from './queries'
import { requireRead, requireReadOf } from './rights'

/** Deliveries of one call. */
const MOST = 10_000
/** Events that are looked at by one statement, without what they say. */
const STEP = 500
const DAY_MS = 86_400_000

/** A time of events in milliseconds since 1970, without its end. */
type Span = { since: number; until: number }

/** A delivery that is queued; `event_id` for a new one. */
type Chosen = { id: string; event: EventType; event_id?: string }

/**
 * Queues events of a time. What waits already is left, so that of two calls at once the second queues nothing.
 * @throws WEBHOOK_NOT_FOUND, FORBIDDEN (`rights.ts`), WEBHOOK_DISABLED; VALIDATION_ERROR at /since when it is before
 *   the oldest event that is kept, or when there are too many
 */
export function replayWebhook(scope: Scope, webhook_id: string, input: Replay): Promise<Replayed> {
  return inTransaction(scope, async (scope) => {
    const webhook = await lockWebhook(scope, webhook_id)
    await requireReadOf(scope, webhook)
    if (!webhook.active || webhook.status === 'failed') throw new ApiError('WEBHOOK_DISABLED')
    const { only = 'failed' } = input
    const span = { since: timeOf(input.since)!, until: input.until ? timeOf(input.until)! : sharedTime() }
    await requireKept(scope, span.since)
    const chosen = await (only === 'failed' ? findFailed(scope, webhook_id, span) : findEvents(scope, webhook, span))
    if (chosen.length > MOST) throw fieldError('VALIDATION_ERROR', '/since', `leads to more than ${MOST} deliveries`)
    requireRead(scope, [...new Set(chosen.map(({ event }) => event))])
    await queue(scope, webhook_id, chosen)
    const told = { since: input.since, until: input.until ?? null, only, queued: chosen.length }
    const changes = Object.fromEntries(Object.entries(told).map(([field, to]) => [field, { from: null, to }]))
    await audit(scope, { action: 'webhook.replayed', resource: { type: 'webhook', id: webhook_id }, changes })
    return { queued: chosen.length }
  })
}

async function requireKept({ sql, organization_id }: Scope, since: number): Promise<void> {
  const [feed] = await sql<{ removed_until_ms: number | null }[]>`
    select (extract(epoch from removed_until) * 1000)::float8 as removed_until_ms from event_feeds
    where organization_id = ${organization_id}`
  const kept_from = sharedTime() - config.EVENT_RETENTION_DAYS * DAY_MS
  if (since >= Math.max(kept_from, feed?.removed_until_ms ?? 0)) return
  throw fieldError('VALIDATION_ERROR', '/since', 'must not be before the oldest event that is kept')
}

/** Finds deliveries that failed or were cancelled, in the order of their events. */
function findFailed({ sql, organization_id }: Scope, webhook_id: string, { since, until }: Span) {
  return sql<Chosen[]>`
    select d.id, d.event from deliveries d
    join event_places p on p.organization_id = ${organization_id} and p.event_id = d.event_id
    where d.organization_id = ${organization_id} and d.webhook_id = ${webhook_id} and d.status in ('failed', 'cancelled')
      and p.happened_at >= to_timestamp(${since / 1000}::float8) and p.happened_at < to_timestamp(${until / 1000}::float8)
    order by p.place, p.nth limit ${MOST + 1}`
}

type Row = { event_id: string; event: EventType; place: string; nth: number; size: number }

/** Finds the events that a webhook wants and that do not wait for it already, in their order. */
async function findEvents(scope: Scope, webhook: Webhook, span: Span): Promise<Chosen[]> {
  const chosen: Chosen[] = []
  for (let after: Pick<Row, 'place' | 'nth'> = { place: '0', nth: -1 }; chosen.length <= MOST; ) {
    const read = await readEvents(scope, webhook, span, after)
    const rows = wholeChanges(read)
    // Nobody asks what an event says where no filter does.
    const passed = webhook.filter ? await judged(scope, webhook, rows) : rows
    chosen.push(...passed.map(({ event, event_id }) => ({ id: newId(), event, event_id })))
    const last = rows.at(-1)
    if (read.length < STEP || !last) return chosen
    after = last
  }
  return chosen
}

/** Leaves the last change of a full step to the next one, which has all of it. */
function wholeChanges(read: readonly Row[]): readonly Row[] {
  const last = read.at(-1)?.place
  const whole = read.length < STEP ? read : read.filter(({ place }) => place !== last)
  return whole.length > 0 ? whole : read
}

/** The events that pass the filter. Bodies are read of whole changes, as many as fit into memory. */
async function judged(scope: Scope, webhook: Webhook, rows: readonly Row[]): Promise<Row[]> {
  const changes = [...Map.groupBy(rows, ({ place }) => place).values()]
  const sizes = changes.map((rows) => ({ rows, size: rows.reduce((sum, { size }) => sum + size, 0) }))
  const passed: Row[] = []
  for (const step of byteSteps(sizes)) {
    const read = step.flatMap(({ rows }) => rows)
    const bodies = await readBodies(scope, read)
    const told = step.map(({ rows }) => {
      const events = rows.map(({ event: type, event_id }) => ({ type, data: bodies.get(event_id) }))
      return { rows, events, audience: { webhooks: [webhook], rules: [] } }
    })
    const passes = await judgeOf(scope, told)
    for (const change of told) {
      passed.push(...change.rows.filter((_, index) => passes(change, change.events[index]!, webhook.filter)))
    }
  }
  return passed
}

async function readBodies({ sql, organization_id }: Scope, rows: Row[]): Promise<Map<string, unknown>> {
  const read = await sql<{ id: string; body: string }[]>`
    select id, body from events
    where organization_id = ${organization_id} and id = any(${rows.map(({ event_id }) => event_id)}::uuid[])`
  return new Map(read.map(({ id, body }) => [id, (JSON.parse(body) as { data: unknown }).data]))
}

function readEvents(
  { sql, organization_id }: Scope,
  { id, events }: Webhook,
  { since, until }: Span,
  { place, nth }: Pick<Row, 'place' | 'nth'>,
) {
  return sql<Row[]>`
    select p.event_id, p.type as event, p.place::text as place, p.nth, octet_length(e.body) as size from event_places p
    join events e on e.organization_id = ${organization_id} and e.id = p.event_id
    where p.organization_id = ${organization_id} and (p.place, p.nth) > (${place}::bigint, ${nth}::integer)
      and p.type = any(${events}::text[])
      and p.happened_at >= to_timestamp(${since / 1000}::float8) and p.happened_at < to_timestamp(${until / 1000}::float8)
      and not exists (
        select 1 from deliveries d
        join outbox o on o.organization_id = ${organization_id} and o.id = d.id
        where d.organization_id = ${organization_id} and d.event_id = p.event_id and d.webhook_id = ${id}
      )
    order by p.place, p.nth limit ${STEP}`
}

/** Queues deliveries, so that the first is the first to come due. */
async function queue(scope: Scope, webhook_id: string, chosen: Chosen[]): Promise<void> {
  const { sql, organization_id } = scope
  const fresh = chosen.flatMap(({ id, event, event_id }) => {
    return event_id ? [{ organization_id, id, webhook_id, event_id, event, next_attempt_at: sql`now()` }] : []
  })
  const again = chosen.filter(({ event_id }) => event_id === undefined).map(({ id }) => id)
  await insertRows(sql, 'deliveries', fresh)
  await sql`
    update deliveries set status = case when attempts = 0 then 'pending' else 'retrying' end, next_attempt_at = now()
    where organization_id = ${organization_id} and id = any(${again}::uuid[])`
  const traceparent = currentTraceparent()
  const work = chosen.map(({ id }, nth) => {
    const run_at = sql`now() + ${nth} * interval '1 microsecond'`
    return { organization_id, id, kind: 'webhook', lane_id: webhook_id, run_at, traceparent }
  })
  await insertRows(sql, 'outbox', work, sql`on conflict do nothing`)
  afterCommit(scope, () => wake('webhook'))
}
