/** The client itself: `createDeskwire`, `walk` and `isFromDeskwire`. `/client.ts` contains it. */
import createClient from 'openapi-fetch'
import { DeskwireError, type DeskwireEvent, type EventsQuery, type FieldFault, followEvents } from './deskwire-events'
import type { paths } from './schema'

export { DeskwireError, type DeskwireEvent, type EventsQuery, type FieldFault }

export type DeskwireOptions = {
  /** Where the service is, such as `https://desk.example.com`. */
  url: string
  /** The API key. */
  key: string
  /** Attempts of one request in all, 5 when it is left out. */
  attempts?: number
}

/** Statuses after which the same request may be sent again: too many requests, and not available at the moment. */
const PASSING = [429, 503]
const LONGEST_WAIT_S = 60

/**
 * Makes a client: `api.GET('/api/v1/tickets')`, `api.POST`, … Requests are sent again after 429, 503 and a broken
 * connection, when `Retry-After` says so or after growing pauses. Each POST gets an `Idempotency-Key`, so that it does
 * its work once. `api.events({ cursor })` yields the events of the organization (see `followEvents`).
 */
export function createDeskwire({ url, key, attempts = 5 }: DeskwireOptions) {
  const client = createClient<paths>({
    baseUrl: url,
    headers: { authorization: `ApiKey ${key}` },
    fetch: (request) => send(request, attempts),
  })
  return Object.assign(client, { events: (query: EventsQuery = {}) => followEvents({ url, key }, query) })
}

async function send(request: Request, attempts: number): Promise<Response> {
  if (request.method === 'POST' && !request.headers.has('idempotency-key')) {
    request.headers.set('idempotency-key', crypto.randomUUID())
  }
  for (let attempt = 1; ; attempt++) {
    // A body can be read once: each attempt gets a copy.
    const answer = await fetch(request.clone()).catch((error: unknown) => {
      if (attempt >= attempts || request.signal.aborted) throw error
      return undefined
    })
    if (answer && (attempt >= attempts || !PASSING.includes(answer.status))) return answer
    await answer?.body?.cancel()
    const asked_s = Number(answer?.headers.get('retry-after') ?? Number.NaN)
    const wait_s = Number.isFinite(asked_s) ? asked_s : 2 ** attempt / 4
    await new Promise((resolve) => setTimeout(resolve, Math.min(wait_s, LONGEST_WAIT_S) * 1000))
  }
}

/** One page of a list, as the client answers it. */
type Answer<Item> = { data?: { data: Item[]; meta?: { next_cursor?: string | null } }; error?: unknown }

/**
 * Yields every object of a list, page after page. An object that is there during the whole walk comes exactly once,
 * whatever else changes.
 * @param readPage reads the page behind a cursor; the first one without a cursor
 * @throws DeskwireError when a page is answered with an error
 */
export async function* walk<Item>(readPage: (cursor?: string) => Promise<Answer<Item>>): AsyncGenerator<Item> {
  let cursor: string | undefined
  do {
    const { data: page, error } = await readPage(cursor)
    if (!page) throw new DeskwireError(error)
    yield* page.data
    // With sort=updated_at there is always a cursor: an empty page is the end for now.
    cursor = page.data.length > 0 ? (page.meta?.next_cursor ?? undefined) : undefined
  } while (cursor !== undefined)
}

/** Seconds by which the clocks of the service and of this program may differ. */
const CLOCK_SKEW_S = 300

/**
 * Tells whether a webhook's request came from the service, and is not an old one that somebody sends again.
 * @param body the bytes or the text as they arrived, before any parsing
 * @param secret the secret that the webhook was made with
 */
export async function isFromDeskwire(
  headers: Headers,
  body: Uint8Array<ArrayBuffer> | string,
  secret: string,
): Promise<boolean> {
  const [id, time, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headers.get(name),
  )
  if (!id || !time || !signatures || !(Math.abs(Date.now() / 1000 - Number(time)) <= CLOCK_SKEW_S)) return false
  const key = await crypto.subtle.importKey('raw', keyOf(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const signed = new Uint8Array([...new TextEncoder().encode(`${id}.${time}.`), ...bytes])
  for (const signature of signatures.split(' ')) {
    const [version, value = ''] = signature.split(',')
    if (version === 'v1' && (await crypto.subtle.verify('HMAC', key, fromBase64(value), signed))) return true
  }
  return false
}

/** The key of Standard Webhooks: what follows `whsec_` in base64, else the bytes of the secret. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const PREFIX = 'whsec_'
  return secret.startsWith(PREFIX) ? fromBase64(secret.slice(PREFIX.length)) : new TextEncoder().encode(secret)
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}
