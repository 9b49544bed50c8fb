/**
 * Bounds how often something is told: a few times for each source and in all, then as sums at the end of the window.
 */

type FloodLimits = {
  window_ms: number
  /** In a window, of one source. */
  most_of_source: number
  /** In a window, of all sources. */
  most_in_all: number
  /** Sources that get a sum for themselves; those of all others are added up. */
  most_sums: number
}

/** Refusals that were not told one by one. `source` is null for many sources that were added up. */
export type FloodSum = { source: string | null; count: number; counts: Record<string, number> }

/** Different texts that a sum counts apart; others count as `other`. */
const MOST_TEXTS = 20

export class Flood {
  readonly #limits: FloodLimits
  readonly #tell: (sum: FloodSum) => void
  /** In this window, by source. */
  #told = new Map<string, number>()
  #told_in_all = 0
  #sums = new Map<string | null, FloodSum>()
  #timer: Timer | undefined

  /** @param tell gets the sums at the end of a window that had any */
  constructor(limits: FloodLimits, tell: (sum: FloodSum) => void) {
    this.#limits = limits
    this.#tell = tell
  }

  /**
   * True when it is to be told now. Otherwise it was added to a sum.
   * @param texts words that the sum counts, such as a code; few different ones
   */
  admits(source: string, texts: string[], limit: 'of the source' | 'in all' = 'of the source'): boolean {
    const { window_ms, most_of_source, most_in_all } = this.#limits
    this.#timer ??= setTimeout(() => this.end(), window_ms).unref()
    const told = this.#told.get(source) ?? 0
    if (this.#told_in_all < most_in_all && (limit === 'in all' || told < most_of_source)) {
      this.#told_in_all += 1
      this.#told.set(source, told + 1)
      return true
    }
    const sum = this.#sumOf(source)
    sum.count += 1
    for (const text of texts) {
      const known = text in sum.counts || Object.keys(sum.counts).length < MOST_TEXTS ? text : 'other'
      sum.counts[known] = (sum.counts[known] ?? 0) + 1
    }
    return false
  }

  /** Ends the window: tells the sums and begins anew. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const sums = [...this.#sums.values()]
    this.#told = new Map()
    this.#told_in_all = 0
    this.#sums = new Map()
    for (const sum of sums) this.#tell(sum)
  }

  #sumOf(source: string): FloodSum {
    const known = this.#sums.get(source)
    if (known) return known
    const key = this.#sums.size < this.#limits.most_sums ? source : null
    const sum = this.#sums.get(key) ?? { source: key, count: 0, counts: {} }
    this.#sums.set(key, sum)
    return sum
  }
}
