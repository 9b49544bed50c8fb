/**
 * Whose fault it is that receivers cannot be reached (delivery.md, section 5). When most of the hosts that were tried
 * lately cannot be, our own network is the likelier cause, and no receiver is to blame.
 */
import { log } from '../log'

/** How long the last attempt at a host tells something. */
const WINDOW_MS = 60_000
/** During an outage it does for longer, since what is put off comes again only after a minute. */
const OUTAGE_WINDOW_MS = 150_000
/**
 * Of four hosts three have to be unreachable within a minute, which strangers' hosts hardly ever are by chance. With
 * fewer hosts one owner's trouble would look like ours, so an installation with up to three always blames the receiver.
 */
const HOSTS_LEAST = 4
/** While other hosts answer, those that do not are excused for so long: some are dead for good. */
const PARTIAL_MOST_MS = 30 * 60_000
/** Hosts remembered, the latest ones. */
const HOSTS_MOST = 10_000

/** @param now milliseconds of a clock that never goes back */
export function createOutageWatch(now: () => number = () => performance.now()) {
  /** By host, in the order of their last attempts. */
  const tried = new Map<string, { at_ms: number; reached: boolean }>()
  let unreached = 0
  let is_outage = false
  /** Since when other hosts answer during the outage. */
  let partial_ms: number | undefined

  return {
    /** @param reached whether the host took a connection and said something, however wrong */
    note(host: string, reached: boolean): void {
      forget(host)
      tried.set(host, { at_ms: now(), reached })
      if (!reached) unreached++
      if (tried.size > HOSTS_MOST) forgetOldest()
      judge()
    },

    /** Whether hosts that cannot be reached just now are our own fault. */
    isOurs(): boolean {
      judge()
      return is_outage && (partial_ms === undefined || now() - partial_ms <= PARTIAL_MOST_MS)
    },
  }

  function judge(): void {
    const before_ms = now() - (is_outage ? OUTAGE_WINDOW_MS : WINDOW_MS)
    for (const [host, { at_ms }] of tried) {
      if (at_ms > before_ms) break
      forget(host)
    }
    const was_outage = is_outage
    is_outage = tried.size >= HOSTS_LEAST && unreached * 2 > tried.size
    partial_ms = is_outage && unreached < tried.size ? (partial_ms ?? now()) : undefined
    const counts = { hosts: tried.size, unreached }
    if (is_outage && !was_outage) log.warn(counts, 'most webhook receivers cannot be reached: our network is to blame')
    if (was_outage && !is_outage) log.warn(counts, 'webhook receivers that cannot be reached are to blame again')
  }

  function forgetOldest(): void {
    const [oldest] = tried.keys()
    if (oldest !== undefined) forget(oldest)
  }

  function forget(host: string): void {
    if (tried.get(host)?.reached === false) unreached--
    tried.delete(host)
  }
}

/** Of this process. */
export const outageWatch = createOutageWatch()
