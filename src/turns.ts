/** Takes a turn, waiting for one if need be; answers with what gives it back. */
export type TakeTurn = () => Promise<() => void>

/** Lets only so many do something at a time in this process; the others wait in line. */
export function turns(max: number): TakeTurn {
  let running = 0
  const waiting: (() => void)[] = []
  return async () => {
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    return () => {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
