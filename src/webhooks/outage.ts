/**
 * Decides whose fault it is that receivers cannot be reached. When most of the hosts that were tried lately cannot be,
 * our own network is the likelier cause, and no receiver is to blame.
 */
import { log } from '../log'

/** The time for which the last attempt at a host counts. */
const WINDOW_MS = 60_000
/** The same during an outage: attempts that were postponed come again only after a minute. */
const OUTAGE_WINDOW_MS = 150_000
/**
 * Hosts needed for a judgement. Of four hosts three have to be unreachable within a minute, which hosts of strangers
 * hardly ever are by chance. With fewer hosts one owner's trouble would look like ours, so an installation with up to
 * three receivers always blames the receiver.
 */
const HOSTS_LEAST = 4
/** While other hosts answer, those that do not are excused for this long: some are dead for good. */
const PARTIAL_MOST_MS = 30 * 60_000
/** Hosts remembered, the latest ones. */
const HOSTS_MOST = 10_000

const BEGUN = 'most webhook receivers cannot be reached: our network is to blame'
const ENDED = 'webhook receivers that cannot be reached are to blame again'

export class OutageWatch {
  /** Milliseconds of a clock that never goes back. */
  readonly #now: () => number
  /** By host, in the order of their last attempts. */
  readonly #tried = new Map<string, { at_ms: number; reached: boolean }>()
  /** Hosts among them that could not be reached. */
  #unreached = 0
  #is_outage = false
  /** Since when other hosts answer during the outage. */
  #partial_ms: number | undefined

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** @param reached true when the host took a connection and answered, even with an error */
  note(host: string, reached: boolean): void {
    this.#forget(host)
    this.#tried.set(host, { at_ms: this.#now(), reached })
    if (!reached) this.#unreached++
    if (this.#tried.size > HOSTS_MOST) this.#forgetOldest()
    this.#judge()
  }

  /** True while hosts that cannot be reached are a fault of our own. */
  isOurs(): boolean {
    this.#judge()
    if (!this.#is_outage) return false
    return this.#partial_ms === undefined || this.#now() - this.#partial_ms <= PARTIAL_MOST_MS
  }

  #judge(): void {
    this.#forgetBefore(this.#now() - (this.#is_outage ? OUTAGE_WINDOW_MS : WINDOW_MS))
    const was_outage = this.#is_outage
    const counts = { hosts: this.#tried.size, unreached: this.#unreached }
    this.#is_outage = counts.hosts >= HOSTS_LEAST && counts.unreached * 2 > counts.hosts
    const is_partial = this.#is_outage && counts.unreached < counts.hosts
    this.#partial_ms = is_partial ? (this.#partial_ms ?? this.#now()) : undefined
    if (this.#is_outage && !was_outage) log.warn(counts, BEGUN)
    if (was_outage && !this.#is_outage) log.warn(counts, ENDED)
  }

  #forgetBefore(before_ms: number): void {
    for (const [host, { at_ms }] of this.#tried) {
      if (at_ms > before_ms) return
      this.#forget(host)
    }
  }

  #forgetOldest(): void {
    const [oldest] = this.#tried.keys()
    if (oldest !== undefined) this.#forget(oldest)
  }

  #forget(host: string): void {
    if (this.#tried.get(host)?.reached === false) this.#unreached--
    this.#tried.delete(host)
  }
}

/** The watch of this process: all its attempts at receivers go the same way. */
export const outageWatch = new OutageWatch()
