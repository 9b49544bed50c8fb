/** A webhook receiver: a real HTTPS server on loopback that records requests and answers as the test says. */
import { createHmac } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import { Webhook } from 'standardwebhooks'
import type { Network } from '../../src/base/address/networks'
import { issueCertificate } from './certificates'

export type ReceivedRequest = {
  method: string
  /** With the query. */
  path: string
  headers: Headers
  /** The exact bytes that came. */
  body: Uint8Array
  at: Date
  /** The body as the interface's delivery (section Events). */
  json: () => ReceivedEvent
}

export type ReceivedEvent = { event: string; timestamp: string; organization_id: string; data: Record<string, unknown> }

/** An answer: a status, `hang` (never), a response, or a function that decides for each request. */
export type Answer =
  | number
  | 'hang'
  | { status?: number; headers?: Record<string, string>; body?: string; delay_ms?: number }
  | ((request: ReceivedRequest) => Response | number | Promise<Response | number>)

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** Receivers listen on loopback, which is refused unless these networks are allowed. */
export const LOOPBACK: Network[] = [ipaddr.parseCIDR('127.0.0.0/8'), ipaddr.parseCIDR('::1/128')]
/** The same as the value of a setting such as `WEBHOOK_ALLOWED_NETWORKS`. */
export const LOOPBACK_SETTING = '127.0.0.0/8,::1/128'

/**
 * Starts a receiver; `using` stops it, hanging requests included.
 * @param options.answer what it answers, 200 by default; a list is used in order and its last entry from then on.
 *   It can be changed at any time through `receiver.answer`
 * @param options.names host names and addresses of its certificate, loopback's by default
 */
export async function startReceiver(options: { answer?: Answer | Answer[]; names?: string[] } = {}) {
  const certificate = await issueCertificate(options.names)
  const requests: ReceivedRequest[] = []
  const waiting = new Set<() => void>()

  const server: Bun.Server<undefined> = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    tls: { cert: certificate.cert, key: certificate.key },
    async fetch(request): Promise<Response> {
      const received = await record(request)
      requests.push(received)
      for (const check of waiting) check()
      return respond(nextAnswer(receiver), received)
    },
  })

  const receiver = {
    /** The answer from now on. */
    answer: options.answer ?? 200,
    /** Everything received, in order. */
    requests,
    port: Number(server.port),
    url: `https://localhost:${server.port}/hook`,
    ca: certificate.ca,
    ca_file: certificate.ca_file,
    /** The networks to allow so that it can be reached. */
    allowed: LOOPBACK,
    verify: verifySignatures,

    /** Resolves to all requests as soon as there are `count`; rejects after `timeout_ms`. */
    async waitFor(count: number, timeout_ms = 180_000): Promise<ReceivedRequest[]> {
      await until(() => (requests.length >= count ? requests : undefined), `${count} requests`, timeout_ms)
      return requests
    },

    /** Resolves to the first request, past or future, that `matches`; rejects after `timeout_ms`. */
    waitForMatch(matches: (request: ReceivedRequest) => boolean, timeout_ms = 180_000): Promise<ReceivedRequest> {
      return until(() => requests.find(matches), 'a matching request', timeout_ms)
    },

    [Symbol.dispose]() {
      void server.stop(true)
    },
  }
  return receiver

  function until<Found>(find: () => Found | undefined, wanted: string, timeout_ms: number): Promise<Found> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const found = find()
        if (found === undefined) return
        end()
        resolve(found)
      }
      const timer = setTimeout(() => {
        end()
        reject(new Error(`the receiver got ${requests.length} requests in ${timeout_ms} ms, waiting for ${wanted}`))
      }, timeout_ms)
      const end = () => {
        clearTimeout(timer)
        waiting.delete(check)
      }
      waiting.add(check)
      check()
    })
  }
}

/**
 * Tells if a request carries valid signatures of `secret`, in `x-service-signature` and in the Standard Webhooks
 * header. The first is computed here from the interface's text, the second is checked by that project's own library.
 */
export function verifySignatures(request: ReceivedRequest, secret: string): boolean {
  const expected = `sha256=${createHmac('sha256', secret).update(request.body).digest('hex')}`
  if (request.headers.get('x-service-signature') !== expected) return false
  const verifier = secret.startsWith('whsec_')
    ? new Webhook(secret)
    : new Webhook(Buffer.from(secret), { format: 'raw' })
  try {
    verifier.verify(Buffer.from(request.body), Object.fromEntries(request.headers))
    return true
  } catch {
    return false
  }
}

async function record(request: Request): Promise<ReceivedRequest> {
  const at = new Date()
  const { pathname, search } = new URL(request.url)
  const body = new Uint8Array(await request.arrayBuffer())
  const json = () => JSON.parse(new TextDecoder().decode(body)) as ReceivedEvent
  return { method: request.method, path: pathname + search, headers: request.headers, body, at, json }
}

function nextAnswer(receiver: { answer: Answer | Answer[] }): Answer {
  if (!Array.isArray(receiver.answer)) return receiver.answer
  const [first = 200, ...rest] = receiver.answer
  if (rest.length > 0) receiver.answer = rest
  return first
}

async function respond(answer: Answer, request: ReceivedRequest): Promise<Response> {
  if (answer === 'hang') return new Promise<Response>(() => {})
  if (typeof answer === 'number') return new Response(null, { status: answer })
  if (typeof answer === 'function') {
    const result = await answer(request)
    return typeof result === 'number' ? new Response(null, { status: result }) : result
  }
  if (answer.delay_ms) await Bun.sleep(answer.delay_ms)
  return new Response(answer.body, { status: answer.status, headers: answer.headers })
}
