/** Gathers what many ask for at the same time into one statement: a commit costs more than a row. Pure. */
import { setTimeout as sleep } from 'node:timers/promises'

type Waiter<T, R> = { item: T; resolve(result: R): void; reject(error: unknown): void }

type GatherOptions<T> = {
  /**
   * Only items with the same key share a run, such as those of an organization. Runs of others are under way beside it.
   */
  key?(item: T): string
  /** Items of a run. */
  most?: number
  /** Runs of a key at the same time. With two, a run that waits for a lock does not stop the others. */
  most_runs?: number
  /**
   * Milliseconds that must pass before another run starts beside one that is under way: meanwhile items collect for it.
   */
  patience_ms?: number
  /** Milliseconds after a run in which items collect for the next one, where nobody waits for a single item. */
  rest_ms?: number
  /** Tells if a run that failed with this error has done nothing. */
  mayRepeat?(error: unknown): boolean
}

/**
 * Makes a function of one item out of a function of many. Items of one turn of the event loop share a run, and so do
 * items that come while enough runs are under way. When a run fails, each of its items is tried alone, so that no item
 * fails because of another.
 * @param run does the work of some items, all of it or nothing; returns a result for each, in their order
 */
export function gathered<T, R>(
  run: (items: T[]) => Promise<R[]>,
  { key = () => '', ...options }: GatherOptions<T> = {},
): (item: T) => Promise<R> {
  const lines = new Map<string, Line<T, R>>()
  return (item) => {
    const name = key(item)
    const line = lines.get(name) ?? new Line(run, options, () => lines.delete(name))
    lines.set(name, line)
    return line.ask(item)
  }
}

/** Items of one key. */
class Line<T, R> {
  readonly #waiting: Waiter<T, R>[] = []
  readonly #run: (items: T[]) => Promise<R[]>
  readonly #options: Required<Omit<GatherOptions<T>, 'key'>>
  readonly #onEmpty: () => void
  #running = 0
  /** Begins one more run, when those under way take longer than they have to themselves. */
  #another: Timer | undefined

  constructor(run: (items: T[]) => Promise<R[]>, options: Omit<GatherOptions<T>, 'key'>, onEmpty: () => void) {
    this.#run = run
    this.#options = { most: 100, most_runs: 2, patience_ms: 0, rest_ms: 0, mayRepeat: () => true, ...options }
    this.#onEmpty = onEmpty
  }

  ask(item: T): Promise<R> {
    const { most_runs, patience_ms } = this.#options
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (this.#running === 0 || (this.#running < most_runs && patience_ms === 0)) void this.#begin()
      else if (this.#running < most_runs) this.#another ??= setTimeout(() => void this.#begin(), patience_ms)
    })
  }

  async #begin(): Promise<void> {
    const { most, rest_ms } = this.#options
    this.#running++
    // Keys that are asked for in the same turn come with it.
    await undefined
    while (this.#waiting.length > 0) {
      clearTimeout(this.#another)
      this.#another = undefined
      await this.#runSome(this.#waiting.splice(0, most))
      if (rest_ms > 0) await sleep(rest_ms)
    }
    this.#running--
    if (this.#running > 0) return
    clearTimeout(this.#another)
    this.#onEmpty()
  }

  async #runSome(some: Waiter<T, R>[]): Promise<void> {
    try {
      const results = await this.#run(some.map(({ item }) => item))
      some.forEach(({ resolve }, index) => {
        resolve(results[index]!)
      })
    } catch (error) {
      if (some.length === 1 || !this.#options.mayRepeat(error)) for (const { reject } of some) reject(error)
      else await Promise.all(some.map((one) => this.#runSome([one])))
    }
  }
}
