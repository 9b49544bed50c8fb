/** Gives memory back after large work: the engine collects garbage by itself only when more is asked for. */

/** Time without large work, after which nothing refers to the bytes of the last one any more. */
const QUIET_MS = 2000
/** A second collection finds what the first one still saw on the stack. */
const ROUNDS = 2

let timer: Timer | undefined

/** Collects garbage once no large work ended for two seconds. To be called at the end of each piece of large work. */
export function collectSoon(rounds = ROUNDS): void {
  clearTimeout(timer)
  timer = setTimeout(() => {
    Bun.gc(true)
    if (rounds > 1) collectSoon(rounds - 1)
  }, QUIET_MS)
  timer.unref()
}
