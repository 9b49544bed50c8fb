/**
 * Bounds request bodies while they arrive: how many bytes of them the process holds, and how long a client may take.
 * Nothing of a body is read before its bytes are held here.
 */
import { config } from '../../base/config'
import { ApiError } from '../../base/errors'

/**
 * The memory of an upload, however large it is, because it is stored while it arrives: 100 of 24 MB at once took
 * 2.5 MB each.
 */
const STREAMED_BYTES = 2 * 1024 * 1024
/** The original of an email is held as it came and joined, while it is parsed. */
const ORIGINAL_COPIES = 2

/** Longest silence of a client, as of nginx (`client_body_timeout`). */
const SILENCE_MS = 60_000
/** Time that a client may take besides that for its bytes. */
const GRACE_MS = 60_000
/** Least rate: a body of 25 MB at 1 Mbit/s, which is 125 bytes/ms, takes 200 s and may take 28 minutes. */
const LEAST_BYTES_PER_MS = 16
const LOOK_MS = 1000

/**
 * The bytes that a request says its body has; undefined without a length, or with a header that came twice ("5, 9999").
 */
export function contentLengthOf({ headers }: Request): number | undefined {
  const length = headers.get('content-length') ?? ''
  return /^\d+$/.test(length) ? Number(length) : undefined
}

type Held = { holder: string; bytes: number }

const held = new Map<Request, Held>()
const by_holder = new Map<string, number>()
let all_bytes = 0

/** How a body is read: as a whole, piece by piece without being kept, or as the original of an email. */
type Kind = 'whole' | 'streamed' | 'original'

/**
 * Counts the bytes that the body of a request will take. Without a length, `holdMore` counts them as they come.
 * @param organization_id of the caller; null for a stranger
 * @throws SERVICE_UNAVAILABLE when the process, or the organization, holds too many
 */
export function holdBody(request: Request, organization_id: string | null, kind: Kind): void {
  const length = contentLengthOf(request) ?? 0
  held.set(request, { holder: organization_id ?? '', bytes: 0 })
  if (kind === 'streamed') holdMore(request, STREAMED_BYTES)
  else holdMore(request, length * (kind === 'original' ? ORIGINAL_COPIES : 1))
}

/**
 * Counts more bytes of a body that has no length. An organization with several bodies may hold as much as is left for
 * all others: one alone half of the bytes, a second one a quarter. A single body needs only to fit.
 * @throws as `holdBody` does
 */
export function holdMore(request: Request, bytes: number): void {
  const entry = held.get(request)
  if (!entry) return
  const of_holder = by_holder.get(entry.holder) ?? 0
  const most = Math.max(
    config.MAX_BODY_BYTES_IN_FLIGHT,
    config.ATTACHMENT_MAX_BYTES,
    config.SMTP_MAX_BYTES * ORIGINAL_COPIES,
  )
  const left = most - all_bytes - bytes
  const is_single = of_holder === entry.bytes
  if (left < 0 || (!is_single && of_holder + bytes > left)) {
    throw new ApiError('SERVICE_UNAVAILABLE', { reason: 'Too many request bodies arrive at the moment' })
  }
  entry.bytes += bytes
  all_bytes += bytes
  by_holder.set(entry.holder, of_holder + bytes)
}

/** Ends what `holdBody` began. To be called when the request is answered, or given up. */
export function releaseBody(request: Request): void {
  const entry = held.get(request)
  if (!entry) return
  held.delete(request)
  all_bytes -= entry.bytes
  const left = (by_holder.get(entry.holder) ?? 0) - entry.bytes
  if (left > 0) by_holder.set(entry.holder, left)
  else by_holder.delete(entry.holder)
}

/** Limits of a client's time, in ms and bytes. */
type Times = { silence_ms: number; grace_ms: number; least_bytes_per_ms: number; look_ms: number }
const TIMES: Times = {
  silence_ms: SILENCE_MS,
  grace_ms: GRACE_MS,
  least_bytes_per_ms: LEAST_BYTES_PER_MS,
  look_ms: LOOK_MS,
}

/**
 * Yields the chunks of a body as they come. Only the time counts in which the client is waited for.
 * @throws REQUEST_TIMEOUT when the client is silent for too long, or too slow
 */
export async function* inTime(chunks: AsyncIterable<Uint8Array>, times = TIMES): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  let giveUp: ((error: ApiError) => void) | undefined
  let began_ms = 0
  let waited_ms = 0
  let received = 0
  const watch = setInterval(() => {
    const silent_ms = performance.now() - began_ms
    const most_ms = times.grace_ms + received / times.least_bytes_per_ms
    if (silent_ms > times.silence_ms || waited_ms + silent_ms > most_ms) giveUp?.(new ApiError('REQUEST_TIMEOUT'))
  }, times.look_ms)
  try {
    for (;;) {
      began_ms = performance.now()
      // No Promise.race: it would keep every chunk until the end.
      const { value, done } = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
        giveUp = reject
        iterator.next().then(resolve, reject)
      })
      giveUp = undefined
      waited_ms += performance.now() - began_ms
      if (done) return
      received += value.length
      yield value
    }
  } finally {
    clearInterval(watch)
  }
}

/** A body that is read at once, such as a small one. @throws REQUEST_TIMEOUT */
export async function allInTime(request: Request): Promise<Uint8Array> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new ApiError('REQUEST_TIMEOUT')), GRACE_MS)
  try {
    return new Uint8Array(await Promise.race([request.arrayBuffer(), late.promise]))
  } finally {
    clearTimeout(timer)
  }
}
