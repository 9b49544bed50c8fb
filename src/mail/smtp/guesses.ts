/** Slows down clients that try which addresses exist. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { widerNetworkOf } from '../../base/net/client-address'
import type { SmtpLimits } from './options'

/** Networks that are remembered. */
const MOST_NETWORKS = 10_000
/**
 * Limits `guess_ms`: relays that do not know the recipients give up a session after minutes, and it holds other mail.
 */
const MOST_DELAYS = 5

type GuessLimits = Pick<SmtpLimits, 'free_guesses' | 'guess_ms'>

export class Guesses {
  readonly #limits: GuessLimits
  /** Guesses of each network that are not forgiven yet, and when they were counted. */
  readonly #networks = new LRUCache<string, { left: number; at_ms: number }>({ max: MOST_NETWORKS })

  constructor(limits: GuessLimits) {
    this.#limits = limits
  }

  /**
   * Counts a recipient that was refused, and waits when the network of the client has named too many. One is forgiven
   * each `guess_ms`, so that a network with many sessions gets little more than one that has a single session.
   */
  async slowDown(address: string): Promise<void> {
    const { free_guesses, guess_ms } = this.#limits
    const network = widerNetworkOf(address)
    const now = performance.now()
    const before = this.#networks.get(network) ?? { left: 0, at_ms: now }
    const left = Math.max(before.left - (now - before.at_ms) / guess_ms, 0) + 1
    this.#networks.set(network, { left, at_ms: now })
    const delays = Math.min(left - free_guesses, MOST_DELAYS)
    if (delays > 0) await sleep(delays * guess_ms, undefined, { ref: false })
  }
}
