/** One statement for what many ask for at the same time: its commit costs more than a row. */

type Waiter<T, R> = { item: T; resolve(result: R): void; reject(error: unknown): void }

/** Runs at the same time: one that waits for a lock must not stop the others. */
const RUNS = 2

/**
 * A function that does the work of one item. Items that come while enough runs are under way wait and share the next.
 * When a run fails, its items are tried one by one, so that none suffers from another.
 * @param run does the work of some items, all of it or nothing; a result for each, in their order
 * @param most items of a run
 */
export function gathered<T, R>(run: (items: T[]) => Promise<R[]>, most = 100): (item: T) => Promise<R> {
  const waiting: Waiter<T, R>[] = []
  let running = 0

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (running < RUNS) void runAll()
    })

  async function runAll(): Promise<void> {
    running++
    while (waiting.length > 0) await runSome(waiting.splice(0, most))
    running--
  }

  async function runSome(some: Waiter<T, R>[]): Promise<void> {
    try {
      const results = await run(some.map(({ item }) => item))
      some.forEach(({ resolve }, index) => {
        resolve(results[index]!)
      })
    } catch (error) {
      if (some.length === 1) some[0]!.reject(error)
      else for (const one of some) await runSome([one])
    }
  }
}
