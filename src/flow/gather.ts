/** Gathers what many ask for at the same time into one statement: a commit costs more than a row. */

type Waiter<T, R> = { item: T; resolve(result: R): void; reject(error: unknown): void }

/** Items of a run, at most. */
const MOST = 100

/**
 * Makes a function of one item out of a function of many. Items that come while enough runs are under way wait and
 * share the next run. When a run fails, each of its items is tried alone, so that no item fails because of another.
 * @param run does the work of some items, all of it or nothing; returns a result for each, in their order
 * @param most_runs runs at the same time: with two, a run that waits for a lock does not stop the others
 * @param mayRepeat tells whether a run that failed with this error has done nothing
 */
export function gathered<T, R>(
  run: (items: T[]) => Promise<R[]>,
  most_runs = 2,
  mayRepeat: (error: unknown) => boolean = () => true,
): (item: T) => Promise<R> {
  const waiting: Waiter<T, R>[] = []
  let running = 0

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (running < most_runs) void runAll()
    })

  async function runAll(): Promise<void> {
    running++
    while (waiting.length > 0) await runSome(waiting.splice(0, MOST))
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
