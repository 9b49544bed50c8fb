/**
 * Posts to a receiver that nobody vouches for. A request reaches only addresses that `base/net/destination.ts` allows,
 * verifies certificates, follows no redirects, and has limits for time and for what is read of the answer.
 */
import { isIP } from 'node:net'
import { getCACertificates } from 'node:tls'
import { LRUCache } from 'lru-cache'
import type { Network } from '../../base/address/networks'
import { bareHost, checkUrl, DestinationError, type Lookup, resolveDestination } from '../../base/net/destination'

export type WebhookRequest = {
  url: string
  headers: Record<string, string>
  body: string | Uint8Array<ArrayBuffer>
  /** Limit from the first connection to the last header, 30 s by default. The lookup before it may take 5 s. */
  timeout_ms?: number
  /** Networks that may be reached although they are not public. */
  allowed: Network[]
  /** PEM of authorities trusted besides those of the system. */
  ca?: string
  /** Replaces the system's resolver. */
  lookup?: Lookup
}

/** All that the delivery log says of a failure: with more it could be used to scan ports. */
export type WebhookFault = 'blocked_address' | 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'protocol' | 'status'

export type WebhookAnswer = {
  /** A 2xx came within the time. */
  ok: boolean
  response_code: number | null
  /** Time until the headers came or the attempt failed. */
  response_time_ms: number
  error: WebhookFault | null
  /** The beginning of the body as text, at most 4 KiB. */
  response_head: string
  /** The side at fault: the receiver, or this service and its network. */
  blame: 'receiver' | 'own' | null
}

type Failure = { error: WebhookFault; blame: 'receiver' | 'own' }

const TIMEOUT_MS = 30_000
const LOOKUP_TIMEOUT_MS = 5000
const BODY_MAX_BYTES = 65_536
const BODY_MAX_MS = 2000
const HEAD_MAX_BYTES = 4096

/** Errors of a connection that was not made: another address of the host may work. */
const NOT_CONNECTED = ['ECONNREFUSED', 'EHOSTUNREACH', 'EHOSTDOWN']
/** The same, because this service lacks something: descriptors, memory, an interface, a route, a permission. */
const NOTHING_TO_CONNECT_WITH = [
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'ENETDOWN',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
  'FailedToOpenSocket',
]
const TLS_FAULT = /^(EPROTO$|ERR_TLS|ERR_SSL|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_|PATH_LENGTH_)/
const RESET = ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ConnectionClosed']

/** `false` is the only value that turns proxies of the environment off; Bun's types do not know it. */
const NO_PROXY: object = { proxy: false }

/** Posts once and never throws. The headers decide about success; the body may end as it likes. */
export async function postWebhook(request: WebhookRequest): Promise<WebhookAnswer> {
  const started_at = performance.now()
  const controller = new AbortController()
  const elapsed_ms = () => Math.round(performance.now() - started_at)
  try {
    const response = await exchange(request, controller)
    const response_time_ms = elapsed_ms()
    const response_head = await readHead(response, controller)
    const { ok, status: response_code } = response
    return { ok, response_code, response_time_ms, response_head, ...(ok ? NO_FAILURE : STATUS_FAILURE) }
  } catch (error) {
    const failure = controller.signal.aborted ? TIMED_OUT : failureOf(error)
    return { ok: false, response_code: null, response_time_ms: elapsed_ms(), response_head: '', ...failure }
  }
}

const NO_FAILURE = { error: null, blame: null } as const
const STATUS_FAILURE: Failure = { error: 'status', blame: 'receiver' }
const TIMED_OUT: Failure = { error: 'timeout', blame: 'receiver' }

/** Sends the request and waits for the headers. */
async function exchange(request: WebhookRequest, controller: AbortController): Promise<Response> {
  const { url, headers, body, timeout_ms = TIMEOUT_MS, ca } = request
  const target = await resolveTarget(url, { ...request, timeout_ms })
  const timer = setTimeout(() => controller.abort(), timeout_ms)
  try {
    return await reach(target, { method: 'POST', headers, body, signal: controller.signal }, ca)
  } finally {
    clearTimeout(timer)
  }
}

type Target = { url: URL; addresses: string[] }

/** Finds the addresses of a URL that may be reached. @throws DestinationError */
export async function resolveTarget(
  url: string,
  { allowed, lookup, timeout_ms = TIMEOUT_MS }: Pick<WebhookRequest, 'allowed' | 'lookup' | 'timeout_ms'>,
): Promise<Target> {
  if (checkUrl(url)) throw new DestinationError('blocked_address')
  const target = new URL(url)
  const options = { allowed, lookup, timeout_ms: Math.min(timeout_ms, LOOKUP_TIMEOUT_MS) }
  return { url: target, addresses: await resolveDestination(bareHost(target.hostname), options) }
}

type Sent = { method: string; headers: Record<string, string>; body?: BodyInit; signal: AbortSignal }

/** Sends a request to the addresses that were found and to no others, without following redirects. */
export function reach({ url, addresses }: Target, { headers, ...sent }: Sent, ca?: string): Promise<Response> {
  const host = bareHost(url.hostname)
  return dial(addresses, url, {
    ...NO_PROXY,
    ...sent,
    headers: { 'user-agent': 'Deskwire', ...headers, host: url.host, 'accept-encoding': 'identity' },
    redirect: 'manual',
    decompress: false,
    tls: {
      // Stated, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
      rejectUnauthorized: true,
      ...(isIP(host) ? {} : { serverName: host }),
      ...(ca ? { ca: withSystemAuthorities(ca) } : {}),
    },
  })
}

/** Tries the addresses in order until one can be connected to. */
async function dial(addresses: string[], target: URL, init: BunFetchRequestInit): Promise<Response> {
  const failures: unknown[] = []
  for (const address of addresses) {
    const url = new URL(target)
    url.hostname = isIP(address) === 6 ? `[${address}]` : address
    try {
      return await post(url, target.host, init)
    } catch (error) {
      if (init.signal?.aborted || !isNotConnected(codeOf(error))) throw error
      failures.push(error)
    }
  }
  throw failures.find((error) => failureOf(error).blame === 'receiver') ?? failures[0]
}

/** Receivers that answered last time. Bun may have kept a connection to them, for up to five minutes. */
const answering = new LRUCache<string, true>({ max: 10_000, ttl: 300_000 })

/**
 * Posts to one address. A receiver may close a kept connection just when it is used again, which is nobody's fault. So
 * a request that was reset there is sent once more on a new connection. Receivers know repeated deliveries by their id.
 */
async function post(url: URL, host: string, init: BunFetchRequestInit): Promise<Response> {
  const receiver = `${url.host} ${host}`
  const send = async (init: BunFetchRequestInit) => {
    const response = await fetch(url, init)
    answering.set(receiver, true)
    return response
  }
  try {
    return await send(init)
  } catch (error) {
    if (init.signal?.aborted || !RESET.includes(codeOf(error)) || !answering.has(receiver)) throw error
  }
  try {
    return await send({ ...init, keepalive: false })
  } catch (error) {
    answering.delete(receiver)
    throw error
  }
}

/**
 * Reads the body within the limits. After a body that was read to its end the connection is kept for the next delivery.
 */
async function readHead(response: Response, controller: AbortController): Promise<string> {
  const timer = setTimeout(() => controller.abort(), BODY_MAX_MS)
  const head = new Uint8Array(HEAD_MAX_BYTES)
  let length = 0
  try {
    for await (const chunk of response.body ?? []) {
      if (length < HEAD_MAX_BYTES) head.set(chunk.subarray(0, HEAD_MAX_BYTES - length), length)
      length += chunk.length
      // Leaving the loop cancels the rest, which closes the connection.
      if (length >= BODY_MAX_BYTES) break
    }
  } catch {
    // The body is too slow or broken off: its beginning is kept.
  } finally {
    clearTimeout(timer)
  }
  return new TextDecoder().decode(head.subarray(0, Math.min(length, HEAD_MAX_BYTES)), { stream: true })
}

/** Which side a failure is to blame on, and its kind; `protocol` is also what nobody has classified. */
export function failureOf(error: unknown): Failure {
  if (error instanceof DestinationError) {
    return error.reason === 'dns_local' ? { error: 'dns', blame: 'own' } : { error: error.reason, blame: 'receiver' }
  }
  const code = codeOf(error)
  if (NOTHING_TO_CONNECT_WITH.includes(code)) return { error: 'connect', blame: 'own' }
  if (NOT_CONNECTED.includes(code)) return { error: 'connect', blame: 'receiver' }
  if (code === 'ETIMEDOUT') return { error: 'timeout', blame: 'receiver' }
  if (TLS_FAULT.test(code)) return { error: 'tls', blame: 'receiver' }
  if (RESET.includes(code)) return { error: 'reset', blame: 'receiver' }
  return { error: 'protocol', blame: 'receiver' }
}

function isNotConnected(code: string): boolean {
  return NOT_CONNECTED.includes(code) || NOTHING_TO_CONNECT_WITH.includes(code)
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** By the extra authorities. */
const authorities = new Map<string, string>()

/** Adds the system's authorities, which `tls.ca` would replace. As one text: a list takes Bun twice the time. */
function withSystemAuthorities(ca: string): string {
  const all = authorities.get(ca) ?? [...getCACertificates('default'), ca].join('\n')
  authorities.set(ca, all)
  return all
}
