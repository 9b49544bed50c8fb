/**
 * Asks rspamd (https://docs.rspamd.com/developers/protocol). One request with the mail as its body: there is no client
 * of it in the registry that is kept up and does more.
 */
import { LRUCache } from 'lru-cache'
import { log, safeError } from '../../base/log'

const TIMEOUT_MS = 5000
/** The most of an answer, which lists some 100 symbols. */
const MOST_BYTES = 1_000_000
/** Actions that say that mail is spam. `soft reject` and `greylist` ask for another try, which comes too late. */
const SPAM = ['add header', 'rewrite subject', 'reject']

type Question = {
  raw: Uint8Array
  recipient: string
  /** Null when it is not known. */
  envelope_sender: string | null
  /** The server that handed the mail over; null when it is not known. */
  client: { address: string; helo: string } | null
}

/** The log says once in a minute that it gives none. */
const told = new LRUCache<string, true>({ max: 10, ttl: 60_000 })

/** Asks for an action and a score. Never rejects. @returns null without a proper answer in 5 seconds */
export async function askRspamd(url: string, question: Question): Promise<{ is_spam: boolean; score: number } | null> {
  try {
    return await ask(url, question)
  } catch (error) {
    if (!told.has('rspamd')) log.warn({ error: safeError(error) }, 'rspamd gives no verdict, mail is not judged')
    told.set('rspamd', true)
    return null
  }
}

/** Asks if it is there. @throws when it does not answer in time, or something else answers */
export async function pingRspamd(url: string, timeout_ms: number): Promise<void> {
  const response = await fetch(new URL('/ping', url), { redirect: 'error', signal: AbortSignal.timeout(timeout_ms) })
  const text = await readText(response)
  if (!response.ok || text.trim() !== 'pong') throw new Error(`it answers ${response.status}, and no pong`)
}

async function ask(url: string, { raw, recipient, envelope_sender, client }: Question) {
  const response = await fetch(new URL('/checkv2', url), {
    method: 'POST',
    headers: fieldsOf({ Rcpt: recipient, From: envelope_sender, IP: client?.address, Helo: client?.helo }),
    body: raw as Uint8Array<ArrayBuffer>,
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  if (!response.ok) throw new Error(`rspamd answered ${response.status}`)
  const answer: unknown = JSON.parse(await readText(response))
  const { action, score, is_skipped } = (answer ?? {}) as Record<string, unknown>
  // Mail on which a filter before all others decides is called skipped, too.
  if (is_skipped === true && action === 'no action') return null
  if (typeof action !== 'string' || typeof score !== 'number' || !Number.isFinite(score)) {
    throw new Error('rspamd answered something else than a result')
  }
  return { is_spam: SPAM.includes(action), score }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MOST_BYTES) throw new Error('the answer of rspamd is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Leaves out what is not known, and what cannot stand in a header. */
function fieldsOf(given: Record<string, string | null | undefined>): Record<string, string> {
  const good = Object.entries(given).filter(([, value]) => value && /^[\x20-\x7e]{1,1000}$/.test(value))
  return Object.fromEntries(good) as Record<string, string>
}
