/**
 * One POST to a receiver nobody vouches for. It reaches only addresses that were judged (`destination.ts`), verifies
 * certificates, follows nothing, and is bounded in time and in what it reads, whatever the receiver does.
 */
import { isIP } from 'node:net'
import { getCACertificates } from 'node:tls'
import { LRUCache } from 'lru-cache'
import type { Network } from '../config'
import { bareHost, checkUrl, DestinationError, type Lookup, resolveDestination } from '../net/destination'

export type WebhookRequest = {
  url: string
  headers: Record<string, string>
  body: string | Uint8Array<ArrayBuffer>
  /** From the first connection to the last header, 30 s unless told. The lookup before it may take 5 s. */
  timeout_ms?: number
  /** Networks that may be reached although not public. */
  allowed: Network[]
  /** PEM of authorities trusted besides those of the system. */
  ca?: string
  /** Replaces the system's resolver. */
  lookup?: Lookup
}

/** All that is told of a failure: more would make the delivery log a port scanner. */
export type WebhookFault = 'blocked_address' | 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'protocol' | 'status'

export type WebhookAnswer = {
  /** A 2xx came within the time. */
  ok: boolean
  response_code: number | null
  /** Until the headers came or the attempt failed. */
  response_time_ms: number
  error: WebhookFault | null
  /** The beginning of the response's body as text, at most 4 KiB. */
  response_head: string
  /** Whether a failure says something about the receiver, or only about this service or its network. */
  blame: 'receiver' | 'own' | null
}

type Failure = { error: WebhookFault; blame: 'receiver' | 'own' }

const TIMEOUT_MS = 30_000
const LOOKUP_TIMEOUT_MS = 5000
const BODY_MAX_BYTES = 65_536
const BODY_MAX_MS = 2000
const HEAD_MAX_BYTES = 4096

/** The connection did not come about, so that another address of the host may do. */
const NOT_CONNECTED = ['ECONNREFUSED', 'EHOSTUNREACH', 'EHOSTDOWN']
/** Nor here, for want of something of our own: descriptors, memory, an interface, a route, a permission. */
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

/** Posts once and never throws (decisions, section 8). A success is decided by the headers, whatever the body does. */
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

/** Until the headers are there. */
async function exchange(request: WebhookRequest, controller: AbortController): Promise<Response> {
  const { url, headers, body, timeout_ms = TIMEOUT_MS, allowed, ca, lookup } = request
  if (checkUrl(url)) throw new DestinationError('blocked_address')
  const target = new URL(url)
  const host = bareHost(target.hostname)
  const lookup_timeout_ms = Math.min(timeout_ms, LOOKUP_TIMEOUT_MS)
  const addresses = await resolveDestination(host, { allowed, lookup, timeout_ms: lookup_timeout_ms })

  const timer = setTimeout(() => controller.abort(), timeout_ms)
  try {
    return await dial(addresses, target, {
      ...NO_PROXY,
      method: 'POST',
      headers: { 'user-agent': 'Deskwire', ...headers, host: target.host, 'accept-encoding': 'identity' },
      body,
      redirect: 'manual',
      decompress: false,
      signal: controller.signal,
      tls: {
        // Said explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED does not count.
        rejectUnauthorized: true,
        ...(isIP(host) ? {} : { serverName: host }),
        ...(ca ? { ca: withSystemAuthorities(ca) } : {}),
      },
    })
  } finally {
    clearTimeout(timer)
  }
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

/** Receivers that answered last time: connections to them may be kept, by Bun for up to five minutes. */
const answering = new LRUCache<string, true>({ max: 10_000, ttl: 300_000 })

/**
 * A receiver may close a kept connection just when it is used again, which is nobody's fault, so what was reset there
 * goes once more on a connection of its own. Receivers know repeated deliveries by their id.
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

/** Reads within the limits and lets go of the connection: a body that ended leaves it open for the next delivery. */
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
    // Too slow or broken off: what came is kept.
  } finally {
    clearTimeout(timer)
  }
  return new TextDecoder().decode(head.subarray(0, Math.min(length, HEAD_MAX_BYTES)), { stream: true })
}

function failureOf(error: unknown): Failure {
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

const authorities = new Map<string, string>()

/** `tls.ca` replaces the system's authorities, so they are named too. One text: a list costs Bun twice the time. */
function withSystemAuthorities(ca: string): string {
  const all = authorities.get(ca) ?? [...getCACertificates('default'), ca].join('\n')
  authorities.set(ca, all)
  return all
}
