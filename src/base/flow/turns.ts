/**
 * Limits how many do something at a time in this process; the others wait. Groups take turns, so that one that waits
 * for another group's work waits for one piece of it, not for all.
 * @param max at the same time
 */
export function turns(max: number): <T>(work: () => Promise<T>, group?: string) => Promise<T> {
  let running = 0
  /** Those that wait, by group; the group whose turn it is first. */
  const waiting = new Map<string, (() => void)[]>()

  const wait = (group: string) =>
    new Promise<void>((resolve) => {
      const line = waiting.get(group)
      if (line) line.push(resolve)
      else waiting.set(group, [resolve])
    })

  const takeNext = () => {
    const [turn] = waiting
    if (!turn) return undefined
    const [group, line] = turn
    waiting.delete(group)
    const next = line.shift()
    if (line.length > 0) waiting.set(group, line)
    return next
  }

  return async (work, group = '') => {
    if (running >= max) await wait(group)
    else running++
    try {
      return await work()
    } finally {
      const next = takeNext()
      if (next) next()
      else running--
    }
  }
}
