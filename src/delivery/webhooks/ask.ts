/** Asks a server that nobody vouches for, and reads a short answer to its end: with the dial of webhooks. */
import type { Network } from '../../base/address/networks'
import { within } from '../../base/flow/within'
import { failureOf, reach, resolveTarget, type WebhookFault } from './post'

type Asked = { method: 'GET' | 'POST'; headers?: Record<string, string>; body?: string }
type Limits = {
  /** Networks that may be reached although they are not public. */
  allowed: Network[]
  /** PEM of authorities trusted besides those of the system. */
  ca?: string
  /** For all of it, from the lookup of the name to the last byte. */
  timeout_ms: number
  most_bytes: number
}

/** Says that an answer came too late, or is too long. */
class AnswerError extends Error {}

/** Words for what `ask` throws; those of the error itself when it is of no known kind. */
export function faultOf(error: unknown): string {
  if (error instanceof AnswerError) return error.message
  const words = FAULT_WORDS[failureOf(error).error]
  return words ? `the server ${words}` : `other: ${error instanceof Error ? error.message : 'unknown'}`
}

const FAULT_WORDS: Partial<Record<WebhookFault, string>> = {
  blocked_address: 'has an address that may not be reached',
  dns: 'has a name that was not found',
  connect: 'cannot be connected to',
  timeout: 'gives no answer in time',
  tls: 'has no valid certificate, or TLS with it failed',
  reset: 'closed the connection',
}

/** @throws DestinationError, AnswerError, what `fetch` throws */
export async function ask(url: string, asked: Asked, limits: Limits): Promise<{ status: number; body: Buffer }> {
  const controller = new AbortController()
  try {
    const answer = read(url, asked, limits, controller.signal)
    return await within(limits.timeout_ms, answer, new AnswerError('no answer in time'))
  } catch (error) {
    controller.abort()
    throw error
  }
}

async function read(url: string, asked: Asked, { allowed, ca, timeout_ms, most_bytes }: Limits, signal: AbortSignal) {
  const target = await resolveTarget(url, { allowed, timeout_ms })
  const headers = { accept: 'application/json', ...asked.headers }
  const response = await reach(target, { ...asked, headers, signal }, ca)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > most_bytes) throw new AnswerError('the answer is too long')
    chunks.push(chunk)
  }
  return { status: response.status, body: Buffer.concat(chunks) }
}
