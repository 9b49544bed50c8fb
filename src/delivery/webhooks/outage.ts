/**
 * Decides whose fault it is that receivers cannot be reached. When most of the organizations that were served lately
 * cannot reach most of their hosts, our own network is the likelier cause, and no receiver is to blame. Organizations
 * are counted, not hosts: one organization has one vote, however many dead hosts it names. Where only one organization
 * was served lately its hosts are counted, because nobody else's failures depend on them.
 */
import { log } from '../../base/log'

/** The time for which the last attempt at a host counts. */
const WINDOW_MS = 60_000
/** The same during an outage: attempts that were postponed come again only after a minute. */
const OUTAGE_WINDOW_MS = 150_000
/**
 * Votes needed for a judgement. Of four organizations three have to be cut off within a minute, which hardly ever
 * happens by chance. With fewer votes one owner's trouble would look like ours, so an installation with two or three
 * organizations, or with one that has up to three hosts, always blames the receiver.
 */
const VOTES_LEAST = 4
/** While others are reached, those that are not are excused for this long: some are dead for good. */
const PARTIAL_MOST_MS = 30 * 60_000
/** Hosts remembered, the latest ones. */
const HOSTS_MOST = 10_000

const BEGUN = 'most webhook receivers cannot be reached: our network is to blame'
const ENDED = 'webhook receivers that cannot be reached are to blame again'

/** Hosts of an organization that were tried lately, and those among them that could not be reached. */
type Tally = { hosts: number; unreached: number }

export class OutageWatch {
  /** Milliseconds of a clock that never goes back. */
  readonly #now: () => number
  /** By organization and host, in the order of their last attempts. */
  readonly #tried = new Map<string, { organization_id: string; at_ms: number; reached: boolean }>()
  readonly #organizations = new Map<string, Tally>()
  /** Organizations among them that could not reach most of their hosts. */
  #cut_off = 0
  #is_outage = false
  /** Since when others are reached during the outage. */
  #partial_ms: number | undefined

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** @param reached true when the host took a connection and answered, even with an error */
  note(organization_id: string, host: string, reached: boolean): void {
    const key = `${organization_id} ${host}`
    this.#forget(key)
    this.#tried.set(key, { organization_id, at_ms: this.#now(), reached })
    this.#count(organization_id, 1, reached ? 0 : 1)
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
    const votes = this.#votes()
    this.#is_outage = votes.all >= VOTES_LEAST && votes.unreached * 2 > votes.all
    const is_partial = this.#is_outage && votes.unreached < votes.all
    this.#partial_ms = is_partial ? (this.#partial_ms ?? this.#now()) : undefined
    if (this.#is_outage && !was_outage) log.warn(votes, BEGUN)
    if (was_outage && !this.#is_outage) log.warn(votes, ENDED)
  }

  #votes(): { of: 'organizations' | 'hosts'; all: number; unreached: number } {
    const [only, another] = this.#organizations.values()
    if (only && !another) return { of: 'hosts', all: only.hosts, unreached: only.unreached }
    return { of: 'organizations', all: this.#organizations.size, unreached: this.#cut_off }
  }

  /** Adds to the numbers of an organization. */
  #count(organization_id: string, hosts: number, unreached: number): void {
    const tally = this.#organizations.get(organization_id) ?? { hosts: 0, unreached: 0 }
    if (isCutOff(tally)) this.#cut_off--
    tally.hosts += hosts
    tally.unreached += unreached
    if (isCutOff(tally)) this.#cut_off++
    if (tally.hosts === 0) this.#organizations.delete(organization_id)
    else this.#organizations.set(organization_id, tally)
  }

  #forgetBefore(before_ms: number): void {
    for (const [key, { at_ms }] of this.#tried) {
      if (at_ms > before_ms) return
      this.#forget(key)
    }
  }

  #forgetOldest(): void {
    const [oldest] = this.#tried.keys()
    if (oldest !== undefined) this.#forget(oldest)
  }

  #forget(key: string): void {
    const tried = this.#tried.get(key)
    if (!tried) return
    this.#tried.delete(key)
    this.#count(tried.organization_id, -1, tried.reached ? 0 : -1)
  }
}

function isCutOff({ hosts, unreached }: Tally): boolean {
  return unreached * 2 > hosts
}

/** The watch of this process: all its attempts at receivers go the same way. */
export const outageWatch = new OutageWatch()
