/**
 * Limits how many do something at a time in this process; the others wait. Groups take turns, so that one that waits
 * for another group's work waits for one piece of it, not for all.
 * @param max at the same time
 */
export function turns(max: number): <T>(work: () => Promise<T>, group?: string) => Promise<T> {
  const take = places(max)
  return async (work, group) => {
    const place = take(group)
    const leave = typeof place === 'function' ? place : await place
    try {
      return await work()
    } finally {
      leave()
    }
  }
}

/**
 * The same for what does not end with a function: gives what lets the next one in, at once when there is room.
 */
export function places(max: number): (group?: string) => (() => void) | Promise<() => void> {
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

  const leave = () => {
    const next = takeNext()
    if (next) next()
    else running--
  }

  return (group = '') => {
    if (running >= max) return wait(group).then(() => leave)
    running++
    return leave
  }
}
