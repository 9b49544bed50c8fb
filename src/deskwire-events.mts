/**
 * Follows the events of an organization, for `deskwire.mts`: reads what is there, then gets what happens, through broken
 * connections and restarts of the service, each event once and in order.
 */
import type { paths } from './schema'

type Page = paths['/api/v1/events']['get']['responses'][200]['content']['application/json']
type Webhook = paths['/api/v1/webhooks']['post']['requestBody']['content']['application/json']
type EventType = Exclude<Webhook['events'][number], 'test.ping'>

/** An event. `cursor` stands behind it: keep it in the transaction in which the event is worked on. */
export type DeskwireEvent = Omit<Page['data'][number], 'event' | 'data'> & {
  event: EventType
  /** The resource as the API returns it, and what the type adds. */
  // biome-ignore lint/suspicious/noExplicitAny: each type of event has another
  data: { id: string } & Record<string, any>
  cursor: string
}

export type EventsQuery = {
  /** The `cursor` of the last event, or a `next_cursor` of `GET /api/v1/events`. Filters as before. */
  cursor?: string
  /** Where to begin without a cursor: `now` when it is left out, `oldest`, or a time such as 2026-01-31T09:00:00Z. */
  start?: string
  types?: EventType[]
  /** Only events about these: `data.id` or `data.ticket.id`. */
  resource_ids?: string[]
  /** Ends the loop. */
  signal?: AbortSignal
  /** Is told why the service is asked again, and after how many seconds: for a log. */
  onRetry?(why: Error, wait_s: number): void
}

/** A fault of one field: a JSON pointer to it, such as `/email`, and a sentence for people. */
export type FieldFault = { path: string; message: string }

/** An answer that is an error. `code` is for programs, such as `TICKET_NOT_FOUND`. Its message tells the faults too. */
export class DeskwireError extends Error {
  readonly code: string
  readonly details: unknown
  /** The faults of fields that a 422 names; else empty. */
  readonly faults: FieldFault[]

  constructor(answer: unknown) {
    const { error } = (answer ?? {}) as { error?: { code?: string; message?: string; details?: { errors?: unknown } } }
    const errors = error?.details?.errors
    const faults: FieldFault[] = Array.isArray(errors) ? errors.filter((one) => typeof one?.path === 'string') : []
    const message = error?.message ?? 'The service gave no answer that can be read'
    const told = faults.map((fault) => `${fault.path} ${fault.message}`).join('; ')
    super(told ? `${message}: ${told}` : message)
    this.name = 'DeskwireError'
    this.code = error?.code ?? 'UNKNOWN'
    this.details = error?.details
    this.faults = faults
  }
}

/** The service gives no answer at the moment. */
class Passing extends Error {
  constructor(
    message: string,
    readonly status = 0,
    readonly retry_after_s = 0,
  ) {
    super(message)
  }
}

/** A page has its answer after this time, or not at all. */
const PAGE_MS = 60_000
/** A stream begins at once. A proxy that collects what it passes on may hold it back. */
const FIRST_MS = 10_000
/** A stream is never silent for longer than 15 seconds while its connection lives. */
const SILENCE_MS = 45_000
/** While streams do not come through, pages are read. Then a stream is tried again. */
const POLL_MS = 5000
const NO_STREAM_MS = 300_000
const LONGEST_RETRY_S = 30
/** Stands between the cursor of a page and the last event of it that was worked on. */
const WITHIN = '~'

type Place = { cursor: string }
type Ask = (path: '' | '/stream', query: Record<string, string>, until: AbortSignal) => Promise<Response>

/**
 * Yields the events that the key may see, without end: those behind `cursor`, then each as it happens. While the service
 * is away it is asked again, after growing pauses. `break` or the signal ends the loop.
 * @throws DeskwireError when the key may not read (401, 403), when the query is wrong (422), and when the cursor is older
 *   than what the service keeps (410 `CURSOR_EXPIRED`): begin anew then
 */
export async function* followEvents(
  service: { url: string; key: string },
  { cursor, start = 'now', signal, onRetry, ...filter }: EventsQuery,
): AsyncGenerator<DeskwireEvent, void> {
  const stopped = new AbortController()
  const until = signal ? AbortSignal.any([signal, stopped.signal]) : stopped.signal
  const ask = askerOf(service, filter)
  const streams = { off_until_ms: 0 }
  let place: Record<string, string> = cursor === undefined ? { start } : { cursor }
  let failed = 0
  try {
    while (!until.aborted) {
      const begun_ms = performance.now()
      try {
        for await (const told of readOn(ask, place, streams, until)) {
          place = { cursor: told.cursor }
          if (!('event' in told)) continue
          failed = 0
          yield told
          if (until.aborted) return
        }
      } catch (error) {
        if (until.aborted) return
        if (error instanceof DeskwireError) throw error
        if (performance.now() - begun_ms > PAGE_MS) failed = 0
        const asked_s = error instanceof Passing ? error.retry_after_s : 0
        const wait_s = Math.min(asked_s || 2 ** failed++ * (0.25 + Math.random() / 4), LONGEST_RETRY_S)
        onRetry?.(error as Error, wait_s)
        await pause(wait_s * 1000, until)
      }
    }
  } finally {
    stopped.abort()
  }
}

function askerOf(
  { url, key }: { url: string; key: string },
  { types, resource_ids }: Pick<EventsQuery, 'types' | 'resource_ids'>,
): Ask {
  const address = new URL(`${url.replace(/\/+$/, '')}/api/v1/events`).href
  const filter = { ...(types && { types: types.join() }), ...(resource_ids && { resource_ids: resource_ids.join() }) }
  return async (path, query, signal) => {
    const headers = { authorization: `ApiKey ${key}` }
    const answer = await fetch(`${address}${path}?${new URLSearchParams({ ...filter, ...query })}`, { headers, signal })
    if (answer.ok) return answer
    const error = new DeskwireError(await answer.json().catch(() => undefined))
    if (answer.status !== 429 && answer.status < 500) throw error
    throw new Passing(error.message, answer.status, Number(answer.headers.get('retry-after')) || 0)
  }
}

/** Reads a page, and goes on behind it with a stream, or after a while by the next page. */
async function* readOn(
  ask: Ask,
  from: Record<string, string>,
  streams: { off_until_ms: number },
  until: AbortSignal,
): AsyncGenerator<DeskwireEvent | Place> {
  const { events, cursor, has_more } = await readPage(ask, from, until)
  yield* events
  yield { cursor }
  if (performance.now() < streams.off_until_ms) {
    if (!has_more) await pause(POLL_MS, until)
    return
  }
  const stream = readStream(ask, cursor, until)
  const first = await stream.next().catch((error: Error) => error)
  if (first instanceof Error) {
    if (!(first instanceof Passing) || first.status >= 500) throw first
    // Too many are open, or a proxy holds it back.
    streams.off_until_ms = performance.now() + NO_STREAM_MS
    return
  }
  if (!first.done) yield first.value
  yield* stream
  throw new Passing('The stream has ended')
}

/** In a page where only the end has a cursor, an event is found again by its id. */
async function readPage(ask: Ask, from: Record<string, string>, until: AbortSignal) {
  const [page_cursor, done_id] = from.cursor?.split(WITHIN) ?? []
  const query: Record<string, string> =
    page_cursor === undefined ? { ...from, per_page: '1' } : { cursor: page_cursor, per_page: '100' }
  const answer = await ask('', query, AbortSignal.any([until, AbortSignal.timeout(PAGE_MS)]))
  const { data, meta } = (await answer.json()) as Page
  const done = data.findIndex(({ id }) => id === done_id) + 1
  const events = data.slice(done).map((event, index, { length }): DeskwireEvent => {
    const cursor = index === length - 1 ? meta.next_cursor : `${page_cursor}${WITHIN}${event.id}`
    return { ...(event as Omit<DeskwireEvent, 'cursor'>), cursor }
  })
  return { events, cursor: meta.next_cursor, has_more: meta.has_more }
}

/** @throws Passing with status 429 when too many are open, with 0 when nothing comes at first */
async function* readStream(ask: Ask, cursor: string, until: AbortSignal): AsyncGenerator<DeskwireEvent | Place> {
  const silent = new AbortController()
  function within<T>(ms: number, work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => silent.abort(), ms)
    return work.finally(() => clearTimeout(timer))
  }
  try {
    const answer = await within(FIRST_MS, ask('/stream', { cursor }, AbortSignal.any([until, silent.signal])))
    const reader = answer.body!.getReader()
    const decoder = new TextDecoder()
    for (let text = '', most_ms = FIRST_MS; ; most_ms = SILENCE_MS) {
      const { value, done } = await within(most_ms, reader.read())
      if (done) return
      const parts = (text + decoder.decode(value, { stream: true })).split('\n\n')
      text = parts.pop()!
      for (const part of parts) yield* toldBy(part)
    }
  } catch (error) {
    throw silent.signal.aborted ? new Passing('The stream is silent') : error
  } finally {
    silent.abort()
  }
}

/** Stands between two empty lines of a stream: an event with its cursor, a cursor, or why the stream ends. */
function toldBy(part: string): (DeskwireEvent | Place)[] {
  const lines = Object.fromEntries(part.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)))
  if (lines.event === 'end') throw new Passing(`The stream has ended: ${lines.data}`, 503)
  if (lines.id === undefined) return []
  return [lines.data ? { ...JSON.parse(lines.data), cursor: lines.id } : { cursor: lines.id }]
}

/** Waits, unless the loop is to end. */
async function pause(ms: number, until: AbortSignal): Promise<void> {
  if (until.aborted) return
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer)
      until.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    until.addEventListener('abort', end)
  })
}
