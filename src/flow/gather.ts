/** Gathers what many ask for at the same time into one statement: a commit costs more than a row. */

type Waiter<T, R> = { item: T; resolve(result: R): void; reject(error: unknown): void }

/** Items of a run, at most. */
const MOST = 100

type GatherOptions = {
  /** Runs at the same time. With two, a run that waits for a lock does not stop the others. */
  most_runs?: number
  /** Milliseconds that must pass before another run starts beside one that is under way: meanwhile items collect for it. */
  patience_ms?: number
  /** Tells if a run that failed with this error has done nothing. */
  mayRepeat?(error: unknown): boolean
}

/**
 * Makes a function of one item out of a function of many. Items that come while enough runs are under way wait and
 * share the next run. When a run fails, each of its items is tried alone, so that no item fails because of another.
 * @param run does the work of some items, all of it or nothing; returns a result for each, in their order
 */
export function gathered<T, R>(
  run: (items: T[]) => Promise<R[]>,
  { most_runs = 2, patience_ms = 0, mayRepeat = () => true }: GatherOptions = {},
): (item: T) => Promise<R> {
  const waiting: Waiter<T, R>[] = []
  let running = 0
  /** Begins one more run, when those under way take longer than they have to themselves. */
  let another: Timer | undefined

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (running === 0 || (running < most_runs && patience_ms === 0)) void runAll()
      else if (running < most_runs && !another) another = setTimeout(runAll, patience_ms)
    })

  async function runAll(): Promise<void> {
    running++
    while (waiting.length > 0) {
      clearTimeout(another)
      another = undefined
      await runSome(waiting.splice(0, MOST))
    }
    running--
  }

  async function runSome(some: Waiter<T, R>[]): Promise<void> {
    try {
      const results = await run(some.map(({ item }) => item))
      some.forEach(({ resolve }, index) => {
        resolve(results[index]!)
      })
    } catch (error) {
      if (some.length === 1 || !mayRepeat(error)) for (const { reject } of some) reject(error)
      else await Promise.all(some.map((one) => runSome([one])))
    }
  }
}

/**
 * As `gathered`, for items of which only those with the same key may share a run, such as those of an organization. Runs
 * of different keys are under way side by side, so that none waits for the fault of another.
 */
export function gatheredBy<T, R>(
  keyOf: (item: T) => string,
  run: (items: T[]) => Promise<R[]>,
  options?: GatherOptions,
): (item: T) => Promise<R> {
  const lines = new Map<string, { ask(item: T): Promise<R>; users: number }>()

  return async (item) => {
    const key = keyOf(item)
    const line = lines.get(key) ?? { ask: gathered(run, options), users: 0 }
    lines.set(key, line)
    line.users++
    try {
      return await line.ask(item)
    } finally {
      line.users--
      if (line.users === 0) lines.delete(key)
    }
  }
}
