/** Gives memory back after large work: the engine collects garbage by itself only when more is asked for. */

/** Time without large work, after which nothing refers to the bytes of the last one any more. */
const QUIET_MS = 2000
/** A second collection finds what the first one still saw on the stack. */
const ROUNDS = 2

/**
 * Bytes made until garbage is collected. Large texts make garbage faster than Bun collects it: eight readers of 320 MB
 * each grew the process by 1.1 GiB, and by 0.3 GiB with a collection after this many bytes.
 */
const COLLECT_BYTES = 32_000_000

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

let made_bytes = 0

/** Counts the bytes that this process makes for its answers and mail, and collects garbage after enough of them. */
export function noteMade(bytes: number): void {
  made_bytes += bytes
  if (made_bytes < COLLECT_BYTES) return
  made_bytes = 0
  Bun.gc(true)
}
