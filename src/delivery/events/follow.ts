/** Follows the events of organizations with open streams: one reader for all streams of an organization. */
import { Gauge } from 'prom-client'
import { config } from '../../base/config'
import { readOfAll } from '../../base/db/all-organizations'
import { isAway } from '../../base/db/cluster/away'
import { sharedTime } from '../../base/db/shared-time'
import { type Connection, transact } from '../../base/db/transact'
import { ApiError, type ErrorCode, fieldError } from '../../base/errors'
import { byteSteps } from '../../base/flow/byte-steps'
import { log, safeError } from '../../base/log'
import { type Scope, SYSTEM } from '../../base/scope'
import { admitAgain } from '../../http/admission/authenticate'
import { countedBy } from '../../http/admission/credentials'
import { takePlaces } from '../../http/admission/open-streams'
import { headOf } from '../../http/request/answer'
import { isPerson } from '../../http/request/permissions'
import { stateOf } from '../../http/request/request'
import { onPublished } from '../webhooks/publish'
import { EventStream } from './event-stream'
import { FED, requireOneStart, type StreamFilter } from './model'
import { hear } from './notices'
import { compare, type Place } from './place'
import { placeToBegin, readableTypes, readItems, readPart } from './queries'
import { readOrder } from './settled-place'

const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
const STREAMS_OF_CALLER = 10
const TICK_MS = 1000
/** How often rights are judged again while nothing happens: the API promises 10 seconds. */
const JUDGE_MS = 4000
const PART = 100

/** An open stream, with what says if it may go on. */
type Open = { stream: EventStream; request: Request; scope: Scope; filter: StreamFilter }

/** The events of an organization up to a place, and the streams that stand there. */
type Feed = { scope: Scope; place: Place; streams: Set<Open>; reading?: Promise<void>; is_woken: boolean }

const all = new Set<Open>()
const feeds = new Map<string, Feed>()
let ticking: Timer | undefined
/** When all were judged last. */
let judged_ms = 0

const gauge = new Gauge({ name: 'deskwire_event_streams', help: 'Streams of events that are open in this process' })
onPublished((organization_id) => wake(feeds.get(organization_id)))

/**
 * Opens a stream. Notices are for people: an API key has nothing open and no marks.
 * @throws VALIDATION_ERROR, FORBIDDEN, CURSOR_EXPIRED; RATE_LIMITED when too many are open
 */
export async function openStream(request: Request, scope: Scope, query: StreamFilter): Promise<Response> {
  requireOneStart(query)
  if (query.notices && !isPerson(scope)) throw fieldError('VALIDATION_ERROR', '/query/notices', 'is for people only')
  const filter = withLastId(request, query)
  const types = readableTypes(scope, filter)
  const order = await readOrder(scope)
  const place = await placeToBegin(scope, filter, order, 'now')
  if (request.method === 'HEAD') return headOf(HEADERS)
  const leavePlaces = await takePlaces([
    { name: countedBy(stateOf(request)).key, most: STREAMS_OF_CALLER },
    { name: `organization ${scope.organization_id}`, most: config.STREAMS_PER_ORGANIZATION },
  ])
  const ended = Promise.withResolvers<void>()
  stateOf(request).answered = ended.promise
  const leave = () => {
    all.delete(open)
    leaveFeed(open)
    unhear?.()
    leavePlaces()
    gauge.set(all.size)
    ended.resolve()
  }
  const stream = new EventStream(scope, filter, order.epoch, types, place, joinFeed, () => judge(open), leave)
  const open: Open = { stream, request, scope, filter }
  all.add(open)
  gauge.set(all.size)
  const unhear = filter.notices
    ? hear({ scope: () => open.scope, tell: (text) => void judge(open).then(() => stream.tell(text)) })
    : undefined
  ticking ??= setInterval(tick, TICK_MS)
  return new Response(stream.body, { headers: HEADERS })

  function joinFeed(at: Place): boolean {
    const feed = feeds.get(scope.organization_id) ?? newFeed(scope, at)
    // Events that the feed has yet to read up to there were sent already.
    const is_there = compare(at, feed.place) >= 0
    if (is_there) feed.streams.add(open)
    return is_there
  }
}

/** Ends all streams: the service stops. */
export function endStreams(): void {
  for (const { stream } of all) stream.end('SERVICE_UNAVAILABLE')
}

/** A client that connects again sends the last id, which goes before a cursor in the address. */
function withLastId(request: Request, query: StreamFilter): StreamFilter {
  const cursor = request.headers.get('last-event-id') ?? ''
  return cursor === '' ? query : { ...query, cursor }
}

/** @param scope of the stream that is the first, whose connection is used */
function newFeed({ db, sql, organization_id }: Scope, place: Place): Feed {
  const scope: Scope = { db, sql, organization_id, actor: SYSTEM }
  const feed: Feed = { scope, place, streams: new Set(), is_woken: false }
  feeds.set(organization_id, feed)
  return feed
}

function leaveFeed(open: Open): void {
  const { organization_id } = open.scope
  const feed = feeds.get(organization_id)
  feed?.streams.delete(open)
  if (feed?.streams.size === 0) feeds.delete(organization_id)
  if (all.size > 0) return
  clearInterval(ticking)
  ticking = undefined
}

/** Reads what is new, once more when something happens meanwhile. */
function wake(feed: Feed | undefined): void {
  if (!feed) return
  feed.is_woken = true
  feed.reading ??= readNew(feed).finally(() => {
    feed.reading = undefined
  })
}

async function readNew(feed: Feed): Promise<void> {
  try {
    while (feed.is_woken) {
      feed.is_woken = false
      const order = await readOrder(feed.scope)
      for (let has_more = true; has_more; ) has_more = await readNext(feed, order)
    }
  } catch (error) {
    log.warn({ error: safeError(error) }, 'streams of events were ended')
    endAll(feed)
  }
}

async function readNext(feed: Feed, order: { settled: string }): Promise<boolean> {
  const part = await readPart(feed.scope, { after: feed.place, order, types: FED, filter: {}, most: PART })
  for (const step of byteSteps(part.found)) {
    const events = await readItems(feed.scope, step)
    await Promise.all([...feed.streams].map(judge))
    for (const event of events) {
      const texts = new Map()
      for (const { stream } of feed.streams) stream.offer(event, texts)
      feed.place = { place: event.place, nth: event.nth }
    }
  }
  feed.place = part.end
  return part.has_more
}

/** Keeps places, and ends streams whose readers lost their rights: all are judged together, by a statement or two. */
function tick(): void {
  const judges = performance.now() - judged_ms >= JUDGE_MS
  if (judges) judged_ms = performance.now()
  for (const open of all) {
    const { caller } = stateOf(open.request)
    const is_expired = caller?.type === 'user' && caller.expires_at_s * 1000 <= sharedTime()
    if (is_expired) open.stream.end('TOKEN_EXPIRED')
    else if (judges) void judge(open)
    const feed = feeds.get(open.scope.organization_id)
    if (feed?.streams.has(open)) open.stream.keep(feed.place)
  }
}

/**
 * Finds by one statement which organizations with streams have events of other processes: a job of each second. NOTIFY
 * in each commit would take a lock of the whole database (`outbox/wake.ts`).
 */
export async function findPublished(connection: Connection): Promise<void> {
  const looked = [...feeds].filter(([, { reading }]) => !reading)
  if (looked.length === 0) return
  try {
    const found = await readOfAll(connection.sql, (among) =>
      transact(connection, async ({ sql }) => {
        // It has no use for plans that read all events of the table.
        for (const name of ['hashjoin', 'mergejoin', 'seqscan']) await sql.unsafe(`set local enable_${name} = off`)
        const ids = looked.map(([organization_id]) => organization_id)
        return sql<{ organization_id: string }[]>`
          select distinct p.organization_id from event_places p
          join unnest(${ids}::uuid[], ${looked.map(([, { place }]) => place.place)}::bigint[]) as f (id, place)
            on p.organization_id = f.id and p.place > f.place
          where true ${among(sql`p.organization_id`)}`
      }),
    )
    for (const { organization_id } of found) wake(feeds.get(organization_id))
    for (const [organization_id, feed] of looked) if (isAway(organization_id)) endAll(feed)
  } catch (error) {
    for (const [, feed] of looked) endAll(feed)
    throw error
  }
}

function endAll({ streams }: Feed): void {
  for (const { stream } of streams) stream.end('SERVICE_UNAVAILABLE')
}

/** Judges the reader of a stream as another request would be: before events are handed over, and now and then. */
async function judge(open: Open): Promise<void> {
  try {
    open.scope = await admitAgain(open.request, open.scope)
    const types = readableTypes(open.scope, open.filter)
    if (types.length === 0) throw new ApiError('FORBIDDEN')
    open.stream.types = new Set(types)
  } catch (error) {
    open.stream.end(codeOf(error))
  }
}

function codeOf(error: unknown): ErrorCode {
  if (!(error instanceof ApiError) || error.status >= 500) return 'SERVICE_UNAVAILABLE'
  return error.status === 403 ? 'FORBIDDEN' : error.code
}
