/** What the listener asks before it takes a message: whether there is room for one, and who a recipient is. */
import type { Logger } from 'pino'
import { safeError } from '../../log'
import type { Recipient } from './data'

/** Why nothing can be taken now: 451 or 452 with an enhanced code and a text; the sender tries again. */
export type Refusal = { code: 451 | 452; text: string }

/** What smtp-server answers: it takes every reply as an error with a code; see `protocol.ts` for the enhanced code. */
export type Reply = Error & { responseCode: number }

export type GateOptions = {
  /** Why no message can be taken now. A rejection is answered 451. */
  refusal?: () => Promise<Refusal | undefined>
  /** The mailbox of an address: null is answered 550, a rejection 451. */
  recipients: (address: string) => Promise<Recipient | null>
  /** Complete messages that are not stored yet; at so many, new ones are answered 451. */
  max_storing: number
  /** Lookups at a time, given up or not; one more is answered 451. */
  max_lookups: number
  /** How long a lookup may take until it is answered 451. */
  lookup_timeout_ms: number
  log: Pick<Logger, 'warn' | 'error'>
}

const BUSY: Refusal = { code: 451, text: '4.3.2 Too busy, try again later' }
export const TRY_AGAIN = 'Local error in processing, try again later'

/** Neither of its functions ever rejects. */
export function createGate({ refusal, recipients, max_storing, max_lookups, lookup_timeout_ms, log }: GateOptions) {
  let looking_up = 0
  let refused: Refusal | undefined

  return { findRefusal, findRecipient }

  /** Logged when it begins and ends, not for each message. @param storing messages that wait to be stored */
  async function findRefusal(storing: number): Promise<Refusal | undefined> {
    const found = storing >= max_storing ? BUSY : await refusalOfCaller()
    if (found?.text !== refused?.text) log.warn({ reply: found }, found ? 'mail is refused' : 'mail is taken again')
    refused = found
    return found
  }

  async function refusalOfCaller(): Promise<Refusal | undefined> {
    try {
      return await refusal?.()
    } catch (error) {
      log.error({ error: safeError(error) }, 'whether mail can be taken cannot be told')
      return { code: 451, text: TRY_AGAIN }
    }
  }

  /** The mailbox, or the refusal to answer with. A lookup that was given up still counts until it ends. */
  async function findRecipient(address: string): Promise<Recipient | Reply> {
    if (looking_up >= max_lookups) return reply(BUSY.code, BUSY.text)
    looking_up += 1
    const lookup = recipients(address).finally(() => {
      looking_up -= 1
    })
    try {
      return (await inTime(lookup, lookup_timeout_ms)) ?? reply(550, 'No such mailbox here')
    } catch (error) {
      log.error({ error: safeError(error) }, 'recipient lookup failed')
      return reply(451, TRY_AGAIN)
    }
  }
}

export function reply(code: number, text: string): Reply {
  return Object.assign(new Error(text), { responseCode: code })
}

/** @throws Error when `work` takes longer; its own later end is then nobody's */
async function inTime<T>(work: Promise<T>, timeout_ms: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`not within ${timeout_ms} ms`)), timeout_ms)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
