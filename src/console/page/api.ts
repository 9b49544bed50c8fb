/**
 * Calls the API as any client does. It waits when the service asks for it (429, 503), tries again when the service
 * cannot be reached, and gets a new access token when the old one has expired. Every POST has an Idempotency-Key, so
 * that trying again does nothing twice.
 */
import { Cell } from './cell'
import { authorization, personHere, readMe, renew, signIn } from './sign-in'
import { faultText, refusalText, t } from './words/catalogue'

/** Why the service does not answer now, in words; empty when it does. */
export const trouble = new Cell('')

const BASE = 'api/v1'
/** Pauses before a request is sent again. A replica that starts anew needs some seconds. */
const AGAIN_MS = [300, 1000, 2000, 4000, 8000, 8000]
const MOST_WAIT_S = 60
/** A request with a body up to this size goes on when the page is left: browsers allow 64 kB. */
export const KEPT_ALIVE_CHARACTERS = 15_000

type Fault = { path: string; message: string }

/** An error that the API answered. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: { errors?: Fault[] } & Record<string, unknown>,
  ) {
    super(message)
  }

  /** In words for the person who looks at the page. */
  get text(): string {
    const faults = this.details.errors ?? []
    if (faults.length === 0) return this.message
    return `${faults.map(({ path, message }) => `${path.slice(1).replace(/[_/]/g, ' ')} ${message}`.trim()).join('; ')}.`
  }
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Options = {
  body?: unknown
  /** Sent as it is. */
  raw?: { type?: string; content: BodyInit }
  headers?: Record<string, string>
  signal?: AbortSignal
  /** The service may answer 503 while it works on: that is no trouble. */
  is_long?: boolean
}

/** An answer. `data` is undefined when it has no body, and with 304. `included` is what a GET has named. */
export type Answer<T, Meta = unknown> = { status: number; data: T; meta: Meta; included?: object; etag: string | null }

/** Calls of one organization. */
export class Api {
  /** Hears of each change that was made by this page, with what the service answered. */
  onWritten: (method: Method, path: string, data: unknown) => void = () => {}

  constructor(readonly organization_id: string) {}

  get<T, Meta = unknown>(path: string, options: Pick<Options, 'headers' | 'signal'> = {}): Promise<Answer<T, Meta>> {
    return this.#call('GET', path, options)
  }

  post<T, Meta = unknown>(path: string, body?: unknown, options: Options = {}): Promise<Answer<T, Meta>> {
    // The answer of a new key is shown once: the service keeps none to repeat.
    const once: Record<string, string> = path === '/api-keys' ? {} : { 'idempotency-key': randomId() }
    return this.#call('POST', path, { ...options, body, headers: { ...once, ...options.headers } })
  }

  put<T>(path: string, body: unknown, options: Options = {}): Promise<Answer<T>> {
    return this.#call('PUT', path, { ...options, body })
  }

  patch<T>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer<T>> {
    return this.#call('PATCH', path, { body, headers })
  }

  delete(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer<unknown>> {
    return this.#call('DELETE', path, { body, headers })
  }

  /** A request about the own account: its answers have no envelope. */
  async own<T>(method: Method, path: string, body?: unknown): Promise<T> {
    const response = await this.#send(method, path, { body })
    if (!response.ok) throw await refusalOf(response)
    const text = await response.text()
    return JSON.parse(text || 'null')
  }

  /** The bytes of a path that needs the token. */
  async download(path: string): Promise<Blob> {
    const response = await this.#send('GET', path, {})
    if (!response.ok) throw await refusalOf(response)
    return response.blob()
  }

  async #call<T, Meta>(method: Method, path: string, options: Options): Promise<Answer<T, Meta>> {
    const response = await this.#send(method, path, options)
    const { status } = response
    if (!response.ok && status !== 304) throw await refusalOf(response)
    const text = await response.text()
    const { data, meta, included } = text ? JSON.parse(text) : {}
    if (method !== 'GET') this.onWritten(method, path, data)
    return { status, data, meta, included, etag: response.headers.get('etag') }
  }

  /** Sends a request until it is answered with something that trying again would not change. */
  async #send(method: Method, path: string, options: Options): Promise<Response> {
    const person = personHere()
    for (let attempt = 0, is_fresh = false; ; attempt++) {
      if (personHere() !== person) throw new Refusal(401, 'SIGNED_OUT', t('refusal.signed_out'), {})
      let response = await this.#try(method, path, options)
      if (response?.status === 401 && !is_fresh && signIn.value.state !== 'none') {
        is_fresh = await renew()
        if (is_fresh) continue
        response = undefined
      }
      if (response?.status === 403) void readMe()
      const pause = pauseAfter(response, attempt, options.is_long === true)
      if (pause === undefined) {
        if (!response) throw new Refusal(0, 'UNREACHABLE', t('refusal.unreachable'), {})
        trouble.value = ''
        return response
      }
      await sleep(pause, options.signal)
    }
  }

  /** @returns undefined when there is no answer */
  async #try(method: Method, path: string, { body, raw, headers, signal }: Options): Promise<Response | undefined> {
    const json = body === undefined ? undefined : JSON.stringify(body)
    try {
      return await fetch(BASE + path, {
        method,
        keepalive: method !== 'GET' && !raw && (json ?? '').length <= 2 * KEPT_ALIVE_CHARACTERS,
        headers: {
          ...authorization(),
          'x-organization-id': this.organization_id,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(raw?.type && { 'content-type': raw.type }),
          ...headers,
        },
        body: raw ? raw.content : json,
        signal,
      })
    } catch (error) {
      if (signal?.aborted) throw error
      return undefined
    }
  }
}

/** @returns milliseconds until the request is to be sent again; undefined when it is not */
function pauseAfter(response: Response | undefined, attempt: number, is_long: boolean): number | undefined {
  if (!response || response.status === 502 || response.status === 504) {
    trouble.value = t('trouble.unreachable')
    return AGAIN_MS[attempt]
  }
  if (response.status !== 429 && response.status !== 503) return undefined
  if (attempt >= AGAIN_MS.length) return undefined
  const seconds = Math.min(Number(response.headers.get('retry-after')) || 1, MOST_WAIT_S)
  if (is_long && response.status === 503) return seconds * 1000
  trouble.value = response.status === 429 ? t('trouble.too_many', { seconds }) : t('trouble.unavailable', { seconds })
  return seconds * 1000
}

async function refusalOf(response: Response): Promise<Refusal> {
  const answer = await response.json().catch(() => undefined)
  const {
    code = 'UNKNOWN',
    message = t('refusal.unknown', { status: response.status }),
    details = {},
  } = answer?.error ?? {}
  const errors = details.errors?.map((fault: Fault) => ({ ...fault, message: faultText(code, fault.message) }))
  return new Refusal(response.status, code, refusalText(code, message), { ...details, errors })
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

/**
 * The address of a file on this page's own origin, whatever BASE_URL says; undefined when it is not one of the service.
 */
export function fileAddress(url: string): string | undefined {
  const [path] = /(?<=^https?:\/\/.+\/)api\/v1\/attachments\/[0-9a-f-]{36}\/content(\?.*)?$/.exec(url) ?? []
  return path && new URL(path, location.href).href
}

/** A key that no other request has. `crypto.randomUUID` is missing where the page is not served over HTTPS. */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** A query string with its `?`, without what is empty. */
export function query(values: Record<string, string | number | boolean | undefined>): string {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return given.length > 0 ? `?${new URLSearchParams(given)}` : ''
}
