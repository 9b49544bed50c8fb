/** Gives memory back after large work: the engine collects garbage by itself only when more is asked for. */
import { collectGarbage, dropCaches } from '../runtime/engine'

/** Time without large work, after which nothing refers to the bytes of the last one any more. */
const QUIET_MS = 2000
/** A second collection finds what the first one still saw on the stack, and what work has left that ended later. */
const ROUNDS = 2

/**
 * Bytes made until garbage is collected. Large texts make garbage faster than it is collected: eight readers of 320 MB
 * each grew the process by 1.1 GiB, and by 0.3 GiB with a collection after this many bytes.
 */
const COLLECT_BYTES = 32_000_000

let timer: Timer | undefined

/** Collects garbage once no large work ended for two seconds. To be called at the end of each piece of large work. */
export function collectSoon(rounds = ROUNDS): void {
  clearTimeout(timer)
  timer = setTimeout(() => {
    collectGarbage()
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
  collectGarbage()
}

/** Between two looks at what the processor does. */
const LOOK_MS = 20_000
/** Share of a processor: background jobs take less, a few requests a second more. */
const REST_SHARE = 0.05
/** Seconds of the processor, some 20,000 requests, before a rest gives back: what is kept makes the next ones quick. */
const WORK_S = 10

/**
 * Gives memory back when the process rests after much work: what is only cached, such as code compiled for speed.
 * @param giveBack what else to free then
 * @returns ends it
 */
export function giveBackAtRest(giveBack: () => unknown, look_ms = LOOK_MS, work_s = WORK_S): () => void {
  let given_s = processorSeconds()
  let seen_s = given_s
  let rounds = 0
  const look = () => {
    const now_s = processorSeconds()
    const is_resting = now_s - seen_s < (REST_SHARE * look_ms) / 1000
    seen_s = now_s
    if (!is_resting) return
    if (now_s - given_s >= work_s) {
      rounds = ROUNDS
      giveBack()
    }
    if (rounds-- <= 0) return
    collectGarbage()
    dropCaches()
    given_s = seen_s = processorSeconds()
  }
  const timer = setInterval(look, look_ms)
  timer.unref()
  return () => clearInterval(timer)
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
