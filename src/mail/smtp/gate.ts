/** Questions of the listener before it takes a message: is there room for one, and which mailbox is it for? */
import { within } from '../../base/flow/within'
import { safeError } from '../../base/log'
import type { RcptMailbox } from './envelope'
import type { SmtpLimits, SmtpOptions } from './options'
import type { RefusedRecipient } from './refusals'
import { BUSY, FAULT, refuse, reply, type SmtpRefusal, type SmtpReply, tooLarge } from './reply'

type GateOptions = Pick<SmtpOptions, 'refusal' | 'recipients' | 'log' | 'max_bytes'> &
  Pick<SmtpLimits, 'max_storing' | 'max_clients' | 'lookup_timeout_ms'>

/** A chunk that is announced: the size of the message with it, and if it is its first one. */
export type ArrivingChunk = { size: number; is_first: boolean }

export class Gate {
  readonly #options: GateOptions
  /** Lookups of recipients under way, those that were given up included. */
  #looking_up = 0
  /** The refusal that the last MAIL got. */
  #refused: SmtpRefusal | undefined

  constructor(options: GateOptions) {
    this.#options = options
  }

  /**
   * The reason why no message can be taken now. It is logged when refusing begins and ends, not for each message. Never
   * rejects.
   * @param storing complete messages that wait to be stored
   */
  async findRefusal(storing: number): Promise<SmtpRefusal | undefined> {
    const { max_storing, log } = this.#options
    const found = storing >= max_storing ? BUSY : await this.#refusalOfCaller()
    if (found?.text !== this.#refused?.text) {
      log.warn({ reply: found }, found ? 'mail is refused' : 'mail is taken again')
    }
    this.#refused = found
    return found
  }

  /** The reason why a chunk cannot be taken. Never rejects. @param storing as above */
  async findChunkRefusal({ size, is_first }: ArrivingChunk, storing: number): Promise<SmtpRefusal | undefined> {
    const { max_bytes } = this.#options
    if (size > max_bytes) return tooLarge(max_bytes)
    const refusal = await this.findRefusal(storing)
    // Too many complete messages are no reason to give up one that has begun.
    return refusal === BUSY && !is_first ? undefined : refusal
  }

  async #refusalOfCaller(): Promise<SmtpRefusal | undefined> {
    const { refusal, log } = this.#options
    try {
      return await refusal?.()
    } catch (error) {
      log.error({ error: safeError(error) }, 'the check for room for mail failed, mail is refused')
      return FAULT
    }
  }

  /**
   * The mailbox of an address, or the reply that refuses it. Never rejects. One lookup for each client that may be
   * connected runs at a time: one that was given up counts until it ends.
   */
  async findMailbox(address: string): Promise<RcptMailbox | SmtpReply> {
    const { recipients, max_clients, lookup_timeout_ms, log } = this.#options
    if (this.#looking_up >= max_clients) return refuse(BUSY)
    this.#looking_up += 1
    const lookup = recipients(address).finally(() => {
      this.#looking_up -= 1
    })
    try {
      const found = await within(lookup_timeout_ms, lookup, 'the lookup of the mailbox takes too long')
      return isRefused(found) ? reply(550, 'No such mailbox here', found ?? undefined) : found
    } catch (error) {
      log.error({ error: safeError(error) }, 'recipient lookup failed')
      return refuse(FAULT)
    }
  }
}

function isRefused(found: RcptMailbox | RefusedRecipient | null): found is RefusedRecipient | null {
  return found === null || 'reason' in found
}
